#!/usr/bin/python3 -SE
"""A program in the place of convscope, for tests of gpu-check: its verbs and files, and faults on request.

Beside it lies behaviour.json: {"cudnn": false} takes cuDNN away, {"nccl": false} NCCL, {"gpu": ""} the GPU;
{"gpus": 4} makes it four. Under "stages", by the name of a run's folder or by a verb: "crash", "hang", "deaf"
(hangs and ignores SIGTERM), "garbage" (prints without end), "no_results", "cut_results", "die_once" (killed
after half the rows, the first time), "disk" (ends as on a full disk).
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BEHAVIOUR = json.loads((HERE / "behaviour.json").read_text())
SHAPE = "c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2 dilation=1x1 groups=1"
CHWN = "direct.chwn.cuda"  # the only one in that layout, and in no other
OURS = {"direct.tiled.cuda": 1.5, "implicit_gemm.simt.cuda": 1.0, CHWN: 0.5}
CUDNN = {"cudnn.implicit_gemm.cuda": 2.0, "cudnn.get.cuda": 1.25}


def document(value):
    print(json.dumps(value, indent=1))


def misbehave(fault):
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault in ("hang", "deaf"):
        if fault == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("hanging", flush=True)
        while True:
            time.sleep(60)
    if fault == "garbage":
        while True:
            os.write(1, os.urandom(65536))
    if fault == "disk":
        print("convscope: journal.jsonl: No space left on device", file=sys.stderr)
        sys.exit(1)


def algorithms(patterns):
    every = {**OURS, **(CUDNN if BEHAVIOUR.get("cudnn", True) else {})}
    starts = [pattern.partition("*")[0] for pattern in patterns.split(",")] if patterns else list(OURS)
    return [name for name in every if any(name.startswith(start) for start in starts)]


def plan_of(arguments):
    flags, words = {}, iter(arguments)
    config = next(words)
    for word in words:
        flags[word] = "" if word in ("--aa", "--dry-run") else next(words)
    suite = json.loads(Path(config).read_text())
    passes = flags.get("--pass", "forward,backward_data,backward_filter").split(",")
    keys = [
        {
            "network": suite["name"],
            "layer": layer["name"],
            "problem": f"{direction} {math} {layout} n={flags.get('--batch', 2)} {SHAPE}",
            "algorithm": algorithm,
            "workspace_cap_bytes": None if flags.get("--workspace-cap") == "inf" else 256 * 2**20,
        }
        for layer in suite["layers"]
        for direction in passes
        for math in flags.get("--math", "fp32").split(",")
        for layout in flags.get("--layout", "nchw").split(",")
        for algorithm in algorithms(flags.get("--algorithm", ""))
        if (algorithm == CHWN) == (layout == "chwn")
    ]
    return flags, {"kind": "run", "argv": sys.argv, "keys": keys}


def record_of(key, measure):
    name = key["algorithm"]
    seconds = {**OURS, **CUDNN}[name] * 1e-3
    return {
        "key": key,
        "algorithm": {"id": name, "provider": "cudnn" if name in CUDNN else "convscope"},
        "outcome": BEHAVIOUR.get("outcome", "measured" if measure else "verified_only"),
        "reason": "",
        "note": BEHAVIOUR.get("note", ""),
        "time": {"full": {"median_seconds": seconds, "samples_seconds": [seconds] * 10}} if measure else None,
        "health": {"throttled": False},
    }


def contest_of(record):
    return record["outcome"], record["key"]["layer"], record["key"]["problem"]


def ranked(records):
    """Each record and its ranking: the fastest first."""
    for record in records:
        if record["outcome"] != "measured":
            yield record, {"rank": None, "standing": record["outcome"]}
            continue
        alike = [seconds_of(other) for other in records if contest_of(other) == contest_of(record)]
        rank = 1 + sum(seconds < seconds_of(record) for seconds in alike)
        yield record, {"rank": rank, "standing": "good"}


def seconds_of(record):
    return record["time"]["full"]["median_seconds"]


def print_csv(folder):
    print("algorithm,rank,standing")
    for record, ranking in ranked(json.loads((folder / "results.json").read_text())["records"]):
        print(record["key"]["algorithm"], ranking["rank"] or "", ranking["standing"], sep=",")


def write_results(folder, plan, records, complete):
    fault = BEHAVIOUR.get("stages", {}).get(folder.name, "")
    if fault == "no_results":
        return
    environment = {"complete": complete, "started": "2026-01-31T12:00:00Z", "program": {"commit": "c0ffee"}}
    said = [{**record, "ranking": ranking} for record, ranking in ranked(records)]
    text = json.dumps({"schema_version": 2, "environment": environment, "records": said})
    (folder / "results.json").write_text(text[: len(text) // 2] if fault == "cut_results" else text)


def carry_out(folder, verb):
    """Goes on from the journal in `folder`, as convscope does."""
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        (folder / "journal.jsonl").write_text("".join(lines[:-1]))
        lines = lines[:-1]
    if not lines:
        print("convscope: the journal has no plan", file=sys.stderr)
        sys.exit(2)
    plan = json.loads(lines[0])
    records = [json.loads(line)["record"] for line in lines[1:]]
    fault = BEHAVIOUR.get("stages", {}).get(folder.name, "")
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    misbehave(fault)
    with (folder / "journal.jsonl").open("a") as journal:
        for number, key in enumerate(plan["keys"][len(records) :]):
            if stopped:
                write_results(folder, plan, records, False)
                sys.exit(130)
            if fault == "die_once" and number == len(plan["keys"]) // 2:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(BEHAVIOUR.get("seconds", 0))
            records.append(record_of(key, verb == "run"))
            text = json.dumps({"kind": "record", "record": records[-1]}) + "\n"
            journal.write(text[:9])
            journal.flush()
            journal.write(text[9:])
            journal.flush()
    write_results(folder, plan, records, True)
    bad = sum(record["outcome"] in ("wrong", "failed", "crashed", "timeout") for record in records)
    print(f"{len(records)} rows")
    sys.exit(1 if bad else 0)


def run(verb, arguments):
    if arguments == ["--help"]:
        print("  --time-limit S\n  --stage-limit S")
        return
    if arguments[0] == "--resume":
        carry_out(Path(arguments[1]), verb)
    flags, plan = plan_of(arguments)
    if "--dry-run" in flags:
        print("alexnet conv1: ...\n" + "\n".join(f"    {key['algorithm']}" for key in plan["keys"]))
        print(f"{len(plan['keys'])} groups, {len(plan['keys'])} candidates, about 1 s on a quiet machine")
        return
    folder = Path(flags["--out"])
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text(json.dumps(plan) + "\n")
    if "--record" in flags:
        Path(flags["--record"]).write_text('{"answers": []}\n')
    carry_out(folder, verb)


def list_things(what, as_json):
    if what == "devices":
        name = BEHAVIOUR.get("gpu", "Scripted GPU")
        gpu = [{"kind": "cuda", "name": name}] * BEHAVIOUR.get("gpus", 1) if name else []
        if as_json:
            document([{"kind": "cpu", "name": "a CPU"}, *gpu])
        else:
            print("  device  name\n  cpu     a CPU\n" + ("" if gpu else "no CUDA device: no driver"))
    elif what == "algorithms":
        missing = None if BEHAVIOUR.get("cudnn", True) else "libcudnn.so.9 was not found in /usr/lib"
        rows = [{"id": name, "provider": "convscope", "version": None, "refusal": None} for name in OURS]
        rows += [{"id": n, "provider": "cudnn", "version": "9.19.0", "refusal": missing} for n in CUDNN]
        document(rows)


def main():
    verb, *arguments = sys.argv[1:]
    with (HERE / "calls").open("a") as calls:
        calls.write(" ".join(sys.argv[1:]) + "\n")
    if verb in BEHAVIOUR.get("stages", {}):
        misbehave(BEHAVIOUR["stages"][verb])
    if verb == "list":
        list_things(arguments[0], "--json" in arguments)
    elif verb == "info":
        document({"program": {"commit": "c0ffee"}, "ceilings": []})
    elif verb == "csv":
        print_csv(Path(arguments[0]))
    elif verb in ("operations", "step"):
        folder = Path(arguments[arguments.index("--out") + 1])
        folder.mkdir(parents=True)
        (folder / ("tasks.json" if verb == "step" else "operations.json")).write_text('{"rows": []}\n')
    elif verb == "allreduce":
        reason = None if BEHAVIOUR.get("nccl", True) else "library_missing"
        document([{"reduce": "nccl", "reason": reason}])
        sys.exit(0 if reason is None else 1)
    else:
        run(verb, arguments)


main()
