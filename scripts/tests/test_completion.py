"""`convscope completion`: what a shell offers once it has read the script."""

import os
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
    assert {"steps", "tasks"} <= offered("list", "columns", "")


def test_behind_a_flag_neither_configs_nor_files_stand_for_its_value(offered):
    for words in (("run", "--layer"), ("run", "--batch"), ("step", "--gpus"), ("select", "--chooser")):
        assert offered(*words, "") == set(), words
    assert {"alexnet", "mine.json"} <= offered("run", "--aa", "")
    assert "mine.json" in offered("step", "alexnet", "--rows", "")
    assert "mine.json" in offered("policies", "run", "--policy", "mine")


def test_a_config_whose_name_is_no_plain_word_does_no_harm(convscope, tmp_path):
    (tmp_path / "configs").mkdir()
    for name in ("net (1)", "$(false)", "plain"):
        (tmp_path / "configs" / f"{name}.json").touch()
    script = bash(f'"{convscope}" completion bash', cwd=tmp_path)
    assert " plain" in script and "(1)" not in script and "false" not in script
    bash('eval "$SCRIPT"', env={**os.environ, "SCRIPT": script})


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
            assert f'found "{value}"' not in done.stderr, done.stderr


# Stand-ins for what zsh has only while it completes: compadd prints what is offered, unfiltered.
ZSH = """
fpath=("{folder}" $fpath); autoload -Uz _convscope
compset() {{ true }}; compdef() {{ print defined }}; _files() {{ print files }}
compadd() {{ print -l -- $candidates }}
words=({line}); CURRENT={place}; _convscope
"""


@pytest.fixture(scope="module")
def offered_by_zsh(convscope, tmp_path_factory):
    """A function: what zsh offers for the last of `words` where it reads the script for the first time."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh on this machine")
    folder = tmp_path_factory.mktemp("zsh")
    script = subprocess.run([convscope, "completion", "zsh"], capture_output=True, text=True, check=True)
    (folder / "_convscope").write_text(script.stdout, encoding="utf-8")

    def ask(*words: str) -> set:
        line = " ".join(f"'{word}'" for word in ("convscope", *words))
        text = ZSH.format(folder=folder, line=line, place=len(words) + 1)
        done = subprocess.run([zsh, "-f", "-c", text], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return set(done.stdout.split())

    return ask


def test_the_script_for_zsh_may_be_a_file_of_fpath(convscope):
    done = subprocess.run([convscope, "completion", "zsh"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("#compdef convscope\n")
    # Read as a function's text it must complete at once, not only define what completes.
    assert '[[ ${funcstack[1]} == _convscope ]]; then _convscope "$@"' in done.stdout


def test_zsh_completes_verbs_flags_and_values(offered_by_zsh):
    assert {"run", "verify", "completion", "--version"} <= offered_by_zsh("")
    assert {"--algorithm", "--layer"} <= offered_by_zsh("run", "--")
    assert {"alexnet", "files"} <= offered_by_zsh("run", "al")
    assert offered_by_zsh("run", "--pass", "f") == {"forward", "backward_data", "backward_filter"}
    assert "tf32" in offered_by_zsh("run", "--math=t")
    assert "files" in offered_by_zsh("run", "--out=b"), "as behind --out and a space"
