"""scripts/bundle: its size, what it asks of a machine, that it runs with the C library and Python alone."""

import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tarfile
import time
from pathlib import Path

import pytest

# Of Python's own folder: large, and not the standard library that gpu-check may use.
MODULES_LEFT_OUT = ("test", "idlelib", "lib2to3", "tkinter", "ensurepip", "site-packages", "dist-packages")


@pytest.fixture(scope="module")
def script(root):
    """scripts/bundle as a module; it is run for its functions, not for its end."""
    source = (root / "scripts" / "bundle").read_text().rpartition("sys.exit(main())")[0]
    loader = importlib.machinery.SourceFileLoader("bundle", str(root / "scripts" / "bundle"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bundle", loader))
    module.__file__ = str(root / "scripts" / "bundle")
    exec(compile(source, "bundle", "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def bundle(root, convscope, tmp_path_factory):
    """A bundle of the build that is under test."""
    build = convscope.parent
    commands = build / "compile_commands.json"
    if not commands.is_file() or "CONVSCOPE_HAS_CUDA" not in commands.read_text():
        pytest.skip(f"{build} was built without nvcc")
    if not list(build.rglob("emulator_test")):
        pytest.skip(f"{build} has the program only, not its tests")
    folder = tmp_path_factory.mktemp("made") / "convscope-bundle"
    run = subprocess.run(
        [root / "scripts" / "bundle", "--preset", "0", "--build", build, folder],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="module")
def small_root(bundle, tmp_path_factory):
    """A root folder with the C library, Python and the unpacked bundle, and how to run a command in it."""
    folder = tmp_path_factory.mktemp("root")
    python = Path("/usr/bin/python3").resolve()
    standard = Path(f"/usr/lib/{python.name}")
    if not python.is_file() or not standard.is_dir():
        pytest.skip("there is no Python of the system's")
    left_out = shutil.ignore_patterns("__pycache__", *MODULES_LEFT_OUT)
    shutil.copytree(standard, folder / standard.relative_to("/"), symlinks=True, ignore=left_out)
    machine = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
    objects = [python, Path("/bin/sh").resolve(), *sorted((standard / "lib-dynload").glob("*.so"))]
    wanted = {Path(name) for name in ("/usr/bin/env",)} | {python, Path("/bin/sh").resolve()}
    for program in [*objects, Path("/usr/bin/env")]:
        listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        wanted |= {Path(path) for path in re.findall(r"(/\S+\.so\S*) \(", listed)}
    for name in ("libm", "libdl", "librt", "libpthread", "libresolv"):  # of the C library, too
        wanted |= set(Path(f"/lib/{machine}").glob(f"{name}.so.?"))
    for path in wanted:
        if "libstdc++" in path.name or "libgomp" in path.name or "libgcc_s" in path.name:
            continue  # what a bundle must bring
        target = folder / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.resolve(), target)
    for link, target in (("usr/bin/python3", python.name), ("bin/sh", Path("/bin/sh").resolve().name)):
        (folder / link).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / link).exists():
            (folder / link).symlink_to(f"/usr/bin/{target}")
    for empty in ("proc", "dev", "tmp"):
        (folder / empty).mkdir()
    (folder / "dev" / "null").touch()
    with tarfile.open(bundle.with_name(bundle.name + ".tar.xz")) as tar:
        tar.extractall(folder, filter="tar")

    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]

    def run(command):
        mounts = 'mount --rbind /proc "$0/proc" && mount --bind /dev/null "$0/dev/null"'
        inside = f'{mounts} && exec chroot "$0" {command}'
        return subprocess.run(
            ["unshare", "--mount", *as_root, "sh", "-c", inside, folder],
            capture_output=True, text=True, timeout=300, env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
        )  # fmt: skip

    tried = run("/usr/bin/python3 -c 'import json, lzma, tarfile, ctypes'")
    if tried.returncode != 0:
        pytest.skip(f"a root folder of one's own is denied here: {tried.stderr.strip()}")
    return run


def test_it_is_small(bundle, script):
    size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
    assert size <= script.LIMIT_BYTES
    # At the least effort; docs/gpu.md promises it of the one that is carried.
    assert bundle.with_name(bundle.name + ".tar.xz").stat().st_size < script.LIMIT_BYTES / 2
    assert (bundle / "gpu_check" / "__init__.py").is_file()
    assert {path.name for path in (bundle / "bin" / "tests").iterdir()} == set(script.TESTS)


def test_it_needs_no_library_of_the_cpu_rows(bundle):
    listing = subprocess.run(
        ["objdump", "-p", bundle / "bin" / "convscope"], capture_output=True, text=True
    ).stdout
    needed = re.findall(r"NEEDED +(\S+)", listing)
    assert not [name for name in needed if "dnnl" in name or "blas" in name]
    rows = subprocess.run(
        [bundle / "bin" / "convscope", "list", "algorithms", "--json"], capture_output=True, text=True
    )
    refusals = {row["id"]: row["refusal"] for row in json.loads(rows.stdout)}
    assert "oneDNN" in refusals["onednn.auto.cpu"]
    assert "OpenBLAS" in refusals["im2col_gemm.cpu"]
    assert refusals["direct.cpu"] is None


def test_no_file_needs_a_newer_c_library_than_2_35(bundle, script):
    for path in [*(bundle / "bin").rglob("*"), *(bundle / "lib").iterdir()]:
        if path.is_file():
            needs = [name for _, name in script.version_needs(path.read_bytes())]
            assert any(name.startswith("GLIBC_") for name in needs)
            assert not list(filter(script.is_newer, needs)), path.name


def test_a_newer_need_is_found_and_waived(script, tmp_path, monkeypatch):
    source, library, program = tmp_path / "x.c", tmp_path / "libx.so", tmp_path / "x"
    # sem_open's version is 2.34, puts's 2.2.5: the second is all that is left.
    source.write_text(
        "#include <semaphore.h>\n#include <stdio.h>\n"
        'void *f(void) { return sem_open("x", 0); }\nint main(void) { return puts("here") < 0; }\n'
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-z,lazy", source, "-o", library], check=True)
    subprocess.run(["gcc", "-fPIC", "-Wl,-z,lazy", "-rdynamic", source, "-o", program], check=True)
    for file in (library, program):
        before = [name for _, name in script.version_needs(file.read_bytes())]
        newest = max(filter(script.is_glibc, before), key=script.version_of)
        monkeypatch.setattr(script, "GLIBC", (2, 2, 5))
        assert script.is_newer(newest)
        script.waive_newer(file)
        after = [name for _, name in script.version_needs(file.read_bytes())]
        assert len(after) == len(before)
        assert not list(filter(script.is_newer, after))
        monkeypatch.undo()
    listed = subprocess.run(["objdump", "-p", library], capture_output=True, text=True).stdout
    assert newest not in listed  # another reader of the format sees the same


def test_versions_are_compared_as_numbers(script):
    assert not script.is_newer("GLIBC_2.35")
    assert not script.is_newer("GLIBC_2.4")
    assert script.is_newer("GLIBC_2.36")
    assert not script.is_newer("GLIBC_PRIVATE")
    assert not script.is_newer("GLIBCXX_3.4.30")


def test_its_tests_pass_where_there_is_only_the_c_library_and_python(small_root, script):
    for name in script.TESTS:
        run = small_root(f"/convscope-bundle/bin/tests/{name} --gtest_brief=1")
        assert run.returncode == 0, f"{name}: {run.stdout[-2000:]}{run.stderr}"


def test_its_program_and_gpu_check_run_there(small_root):
    flags = (
        "--device emulator --pass forward --layout nchw --algorithm 'implicit_gemm.simt*' --out /tmp/verified"
    )
    run = small_root(f"/convscope-bundle/bin/convscope verify /convscope-bundle/configs/smoke.json {flags}")
    assert run.returncode == 0, run.stdout + run.stderr
    run = small_root("/convscope-bundle/gpu-check --dry-run")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "alexnet-forward" in run.stdout
    run = small_root("/convscope-bundle/gpu-check /tmp/check")
    assert run.returncode == 2, run.stdout + run.stderr
    assert "there is nothing to check without a GPU" in run.stderr


@pytest.mark.parametrize("fault", ["check", "pack"])
def test_one_that_fails_leaves_the_one_before_and_nothing_half_made(script, tmp_path, monkeypatch, fault):
    folder = tmp_path / "some bundle"

    def fill(_, made):
        made.mkdir()
        (made / "gpu-check").write_text("new")

    def fail(*_):
        raise script.Refusal("the disk is full")

    monkeypatch.setattr(script, "fill", fill)
    monkeypatch.setattr(script, "check", lambda _: 3)
    size, packed = script.make(tmp_path, folder, 0)
    assert (size, packed) == (3, tmp_path / "some bundle.tar.xz")
    whole = packed.read_bytes()
    (folder / "gpu-check").write_text("old")
    monkeypatch.setattr(script, fault, fail)
    with pytest.raises(script.Refusal):
        script.make(tmp_path, folder, 0)
    assert (folder / "gpu-check").read_text() == "old"
    assert packed.read_bytes() == whole
    assert sorted(tmp_path.iterdir()) == [folder, packed]


@pytest.fixture
def building(root, tmp_path):
    """A function that starts a bundle in a checkout whose build does as its text says."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(root / "scripts" / "bundle", tmp_path / "scripts")
    shutil.copytree(root / "scripts" / "gpu_check", tmp_path / "scripts" / "gpu_check")

    def start(text):
        build = tmp_path / "scripts" / "build"
        build.write_text(f"#!/bin/bash\necho building $1 $2\n{text}\n")
        build.chmod(0o755)
        command = [tmp_path / "scripts" / "bundle"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_ends_it_ends_its_build_which_is_seen(building, tmp_path, number, code):
    # A shell that outlives what it ran would say "Terminated".
    process = building(f"exec 2>/dev/null; touch {tmp_path}/begun; sleep 600 | cat")
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    said = process.communicate(timeout=60)  # until nobody has its output
    assert said == ("building release convscope\n", "")
    assert process.returncode == code


def test_a_build_that_fails_says_so_itself(building):
    process = building("echo 'a.cpp:1: no' >&2; exit 2")
    assert (
        process.communicate(timeout=60)[1] == "a.cpp:1: no\nbundle: building failed; the message is above\n"
    )
    assert process.returncode == 1


def test_a_folder_that_is_no_build_is_said_to_be(root, tmp_path):
    command = [root / "scripts" / "bundle", "--build", tmp_path, tmp_path / "made"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert run.stderr.startswith(f"bundle: {tmp_path} is no build: leave --build out, or")


def test_a_folder_that_is_no_bundle_is_left_alone(root, tmp_path):
    (tmp_path / "precious").write_text("text")
    run = subprocess.run(
        [root / "scripts" / "bundle", "--build", tmp_path, tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert "is no bundle" in run.stderr
    assert (tmp_path / "precious").read_text() == "text"
