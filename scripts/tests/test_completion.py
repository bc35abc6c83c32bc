"""`convscope completion`: what a shell offers once it has read the script."""

import shutil
import subprocess

import pytest


def bash(text: str, **options) -> str:
    """What a plain bash prints that runs `text`."""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", text], capture_output=True, text=True, check=False, **options
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def offered(convscope, root, tmp_path_factory):
    """A function: the words that bash offers in place of the last of `words`, as a set."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "configs").symlink_to(root / "configs")
    (folder / "mine.json").touch()

    def ask(*words: str) -> set:
        line = " ".join(f"'{word}'" for word in ("convscope", *words))
        text = f"""source <("{convscope}" completion bash)
COMP_WORDS=({line}); COMP_CWORD={len(words)}; _convscope; printf '%s\\n' "${{COMPREPLY[@]}}" """
        return set(bash(text, cwd=folder).split())

    return ask


def test_bash_reads_the_script_and_knows_the_program(convscope, tmp_path):
    script = tmp_path / "completion"
    script.write_text(bash(f'"{convscope}" completion bash'), encoding="utf-8")
    bash(f'bash -n "{script}"')
    assert "_convscope convscope" in bash(f'source "{script}"; complete -p convscope')


def test_verbs_flags_and_names_are_offered(offered):
    assert {"run", "verify", "list", "completion", "--version"} <= offered("")
    assert offered("ver") == {"verify"}
    assert {"--algorithm", "--layer", "--out"} <= offered("run", "alexnet", "--")
    assert offered("show", "--la") == {"--layer"}
    assert {"alexnet", "convnext_tiny", "configs", "mine.json"} <= offered("run", "")
    assert offered("list", "c") == {"columns", "configs"}
    assert "yolov8n" in offered("list", "layers", "y")
    assert "winograd" in offered("list", "algorithms", "wino")


def test_values_of_flags_are_offered_in_lists_and_behind_an_equals_sign(offered):
    assert offered("run", "alexnet", "--pass", "") == {"forward", "backward_data", "backward_filter"}
    assert offered("run", "alexnet", "--pass", "forward,backward_d") == {"forward,backward_data"}
    assert offered("run", "alexnet", "--math", "=", "tf") == {"tf32"}
    assert offered("run", "alexnet", "--algorithm", "direct.c") == {"direct.cpu", "direct.chwn.cuda"}
    assert offered("run", "alexnet", "--algorithm", "fft,!direct.cp") == {"fft,!direct.cpu"}


def test_the_values_are_what_the_program_takes(convscope, offered):
    for flag in ("--pass", "--math", "--layout", "--cache", "--device"):
        for value in offered("run", "smoke", flag, ""):
            dry = [convscope, "run", "smoke", "--dry-run", "--algorithm", "direct", flag, value]
            done = subprocess.run(dry, capture_output=True, text=True, check=False)
            assert "found" not in done.stderr, done.stderr


def test_zsh_reads_its_script(convscope, tmp_path):
    zsh = shutil.which("zsh")
    script = tmp_path / "_convscope"
    done = subprocess.run([convscope, "completion", "zsh"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("#compdef convscope\n")
    if zsh is None:
        pytest.skip("no zsh on this machine")
    script.write_text(done.stdout, encoding="utf-8")
    subprocess.run([zsh, "-n", script], check=True)
