"""scripts/bench, with stand-ins for what it calls: what it runs, and where it has the report written."""

import re
import shutil
import subprocess

import pytest


def test_alexnet_and_a_folder_of_its_own(bench):
    code, lines = bench()
    assert code == 0
    assert lines[:2] == ["setup --without-tests", "build release convscope"]
    words = lines[2].split()
    assert words[:4] == ["convscope", "run", "configs/alexnet.json", "--out"]
    assert lines[3] == f"report: convscope-report report {words[4]} -o {words[4]}/report.html"
    assert len(lines) == 4


def test_a_machine_that_is_unknown_is_calibrated_before_it_is_measured(bench):
    _, lines = bench(all_lines=True)
    assert lines[2] == "convscope calibrate --if-unknown"
    assert lines[3].startswith("convscope run")


def test_what_is_wrong_is_found_before_the_machine_is_calibrated(bench):
    assert bench("nett.json", code=2, wrong=True, all_lines=True) == (
        2,
        ["setup --without-tests", "build release convscope"],
    )


def test_what_is_calibrated_is_what_will_be_measured(bench):
    _, lines = bench("--device", "cuda:1,cpu", "--batch", "1", "--threads=1,2", all_lines=True)
    assert lines[2] == "convscope calibrate --if-unknown --device=cuda:1,cpu --threads=1,2"
    assert "--device=cuda:1,cpu --batch 1 --threads=1,2" in lines[3]


@pytest.mark.parametrize("flags", [("--dry-run",), ("--help",), ("--resume", "here")])
def test_nothing_is_calibrated_where_nothing_new_is_measured(bench, flags):
    assert not any(line.startswith("convscope calibrate") for line in bench(*flags, all_lines=True)[1])


@pytest.mark.parametrize(
    "flags", [("--out", "here"), ("--out=here",), ("--resume", "here"), ("--resume=here",)]
)
def test_the_report_is_beside_the_results(bench, flags):
    _, lines = bench("net.json", *flags)
    assert lines[2] == "convscope run net.json " + "=".join(flags)
    assert lines[3] == "report: convscope-report report here -o here/report.html"


def test_a_config_may_be_named_as_run_takes_it(bench):
    assert bench("--aa", "vgg_16", "--out", "here")[1][2] == "convscope run --aa vgg_16 --out=here"
    _, lines = bench("--out", "vgg_16")  # where the name is that of the folder, it is no config
    assert lines[2] == "convscope run configs/alexnet.json --out=vgg_16"


def test_paths_are_those_of_a_caller_in_another_folder(bench, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    (there / "net.json").touch()
    _, lines = bench("net.json", "--out", "here", "--record=answers.json", cwd=there)
    assert lines[2] == f"convscope run {there}/net.json --out={there}/here --record={there}/answers.json"
    _, lines = bench("configs/vgg_16.json", "--resume", "out/a", "--baseline=before", cwd=there)
    assert lines[2] == "convscope run configs/vgg_16.json --resume=out/a", "which that folder lacks"


def test_each_path_of_a_list_is_that_of_a_caller_in_another_folder(bench, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    for name in ("a", "b", "hosts.xml"):
        (there / name).touch()
    lists = ["--rows", "a,out/kept,/c,b", "--operations=b,a", "--platform", "hosts.xml"]
    _, lines = bench("--step", *lists, "--out=here", cwd=there)
    rows = f"--rows={there}/a,out/kept,/c,{there}/b --operations={there}/b,{there}/a"
    words = f"{rows} --platform={there}/hosts.xml --out={there}/here"
    assert lines[2] == f"convscope step configs/alexnet.json {words}"
    _, lines = bench("--step", *lists, "--out=here")
    assert "--rows=a,out/kept,/c,b --operations=b,a --platform=hosts.xml" in lines[2]


def test_a_run_ends_with_the_script_that_is_killed(bench, tmp_path):
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv")
    bench()
    (tmp_path / "build" / "convscope").write_text(
        "#!/bin/sh\ncase $* in *--dry-run | cal*) exit ;; esac\necho here\nexec sleep 600\n"
    )
    script = subprocess.Popen([tmp_path / "scripts" / "bench"], stdout=subprocess.PIPE, text=True)
    while script.stdout.readline() != "here\n":
        assert script.poll() is None
    script.kill()
    script.communicate(timeout=60)  # until nobody has its output


@pytest.mark.parametrize("flag", ["--record", "--step --trace", "--step --rows", "--step --choose"])
@pytest.mark.parametrize("behind", [" ", "="])
def test_a_file_that_a_flag_names_is_no_config(bench, flag, behind):
    _, lines = bench(*f"{flag}{behind}some.json --out here".split())
    verb = "step" if "--step" in flag else "run"
    assert lines[2] == f"convscope {verb} configs/alexnet.json {flag.split()[-1]}=some.json --out=here"


@pytest.mark.parametrize(
    ("flags", "code", "reported"),
    [((), 1, True), ((), 2, False), ((), 130, False), (("--dry-run",), 0, False), (("--help",), 0, False)],
)
def test_when_there_is_a_report(bench, flags, code, reported):
    found, lines = bench(*flags, code=code)
    assert found == code
    assert lines[-1].startswith("report: ") == reported


@pytest.mark.parametrize(
    "flags", [("--save", "after", "--baseline", "m/before"), ("--save=after", "--baseline=m/before")]
)
@pytest.mark.parametrize("where", ["--out", "--resume"])
def test_a_run_is_saved_and_compared_after_its_report(bench, flags, where):
    code, lines = bench("net.json", *flags, where, "here", code=1)
    assert code == 1, "that of the run"
    assert lines[2:] == [
        "convscope-report save here --name after --check",
        f"convscope run net.json {where}=here",
        "report: convscope-report report here -o here/report.html",
        "convscope-report save here --name after --program build/convscope",
        "convscope-report compare m/before here",
    ]


def test_thorough_leaves_everything_to_the_comparison_of_programs(bench):
    code, lines = bench("--thorough", "--baseline", "before", "vgg_16", "--layer", "conv2", all_lines=True)
    assert code == 0
    words = "convscope-report compare-programs before build/convscope --folder (out/[0-9-]+) -- "
    assert re.fullmatch(words + "vgg_16 --layer conv2", lines[2]), lines
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "--thorough compares with a saved program; add --baseline NAME"),
        (
            ("--baseline=a", "--save=b"),
            "--thorough makes many short runs, which have no name; leave --save out",
        ),
        (("--baseline=a", "--step"), "--thorough compares runs of single layers; leave --step out"),
        (("--baseline=a", "--out=b"), "--thorough names its folder itself; leave --out and --resume out"),
    ],
)
def test_thorough_goes_with_a_baseline_alone(bench, flags, said):
    code, lines = bench("--thorough", *flags, said=f"scripts/bench: {said}\n")
    assert (code, lines) == (2, [])


def test_a_step_takes_the_place_of_the_run_and_its_report(bench):
    code, lines = bench("--step", "--batch", "4", all_lines=True)
    assert code == 0
    assert re.fullmatch(r"convscope step configs/alexnet.json --batch 4 --out out/[0-9-]+", lines[2]), lines
    assert len(lines) == 3


def test_a_step_is_neither_saved_nor_compared(bench):
    said = "scripts/bench: a step is neither saved nor compared; leave --save and --baseline out\n"
    assert bench("--step", "--save", "a", said=said) == (2, [])


@pytest.mark.parametrize("failing", ["runs unknown", "save here --name taken"])
def test_a_bad_name_ends_it_before_anything_is_measured(bench, failing):
    code, lines = bench("--save", "taken", "--baseline", "unknown", "--out", "here", failing=failing)
    assert code == 2
    assert not any(line.startswith("convscope run") for line in lines)


@pytest.mark.parametrize("flag", ["--save", "--baseline", "--out", "--resume"])
@pytest.mark.parametrize("behind", [(), ("",), ("--dry-run",)])
def test_a_missing_value_ends_it_before_anything_is_built(bench, flag, behind):
    said = f"scripts/bench: {flag} needs a value, as in {flag} before\n"
    assert bench(flag, *behind, said=said) == (2, [])


def test_a_dry_run_looks_at_the_names_and_saves_and_compares_nothing(bench):
    flags = ("--dry-run", "--save", "after", "--baseline", "before", "--out", "here")
    code, lines = bench(*flags)
    assert code == 0
    assert lines[2] == "convscope-report save here --name after --check"
    assert lines[3:] == ["convscope run configs/alexnet.json --dry-run --out=here"]
    assert bench(*flags, failing="runs before")[0] == 2


@pytest.mark.parametrize("code", [3, 130])
def test_an_unfinished_run_says_how_it_is_saved_and_compared_later(bench, code):
    said = (
        "scripts/bench: the run is unfinished, so it is neither saved nor compared; go on with: "
        "./scripts/bench --resume here --save after --baseline before\n"
    )
    flags = ("--save", "after", "--baseline", "before", "--out", "here")
    found, lines = bench(*flags, code=code, said=said)
    assert found == code
    assert lines[-1].startswith("convscope run")


@pytest.mark.parametrize("failing", ["report here", "save here --name after", "compare before here"])
def test_a_good_run_that_cannot_be_reported_saved_or_compared_is_exit_code_2(bench, failing):
    # The stand-in fails with --check too where the beginning is the same: then nothing is run.
    flags = ("--save", "after", "--baseline", "before", "--out", "here")
    assert bench(*flags, failing=failing)[0] == 2


def test_help_explains_its_own_flags(bench):
    _, lines = bench("--help")
    text = "\n".join(lines)
    assert "--save NAME" in text and "--baseline RUN" in text
    assert "convscope run --help" in text


def test_help_builds_nothing(bench, tmp_path):
    command = [tmp_path / "scripts" / "bench", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("The flags of `convscope run` are shown once it is built")


@pytest.mark.parametrize(("flags", "verb"), [((), "run"), (("--step",), "step"), (("--thorough",), "run")])
def test_help_does_not_build_anew_either(bench, flags, verb):
    for words in ((*flags, "--help"), ("--help", *flags)):
        code, lines = bench(*words)
        assert (code, lines[-1]) == (0, f"convscope {verb} --help")
        assert not {"setup --without-tests", "build release convscope"} & set(lines)
