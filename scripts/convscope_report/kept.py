"""The runs that results/ keeps, and their index.

A kept run is the results.json of one run as the program wrote it, compressed: results/MACHINE/NAME.json.xz.
Of runs with the same settings on one machine with the same libraries only the newest is kept.
results/index.csv and results/README.md are generated from the runs.
"""

import csv
import hashlib
import io
import lzma
import re
from pathlib import Path

from convscope_report import ReportError, results, run_files
from convscope_report.contexts import CIRCUMSTANCES, best, is_suspect

FOLDER = run_files.KEPT_FOLDER
SUFFIX = run_files.SUFFIX
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Our best is behind where a library's takes less than this share of its time.
BEHIND = 0.9

COLUMNS = {
    "run": "Its name: the file is results/RUN.json.xz.",
    "device": "The processor or GPU in its own words.",
    "started": "When the run began, UTC.",
    "commit": "The program's.",
    "networks": "Of the config.",
    "batch": "Batch sizes.",
    "threads": "Threads on the CPU.",
    "passes": "fwd, bwd-data, bwd-filter.",
    "rows": "Records, refused ones included.",
    "libraries": "Those whose algorithms were measured.",
    "library_ms": "The best library record of each layer and pass, summed by how often the network has it.",
    "ours_ms": "The same of our own records, over the same layers and passes.",
    "ratio": "library_ms / ours_ms.",
    "throttled": "Measured records that are marked throttled. Layers and passes where one of them, or a "
    "disturbed one, is the best of its side, with too long a time, are left out of the sums and of behind.",
    "behind": "Layers and passes where our best record is slower than the library's by more than a tenth, "
    "of those that both have.",
    "protocol": "Version of the measuring protocol (docs/measuring.md).",
    "settings": "The same for two runs exactly where they differ in nothing but the time and the commit.",
}
SHORT = {"forward": "fwd", "backward_data": "bwd-data", "backward_filter": "bwd-filter"}

README = Path(__file__).with_name("results_readme.md")


def files(folder: Path = FOLDER) -> list:
    """Return the kept runs' files, sorted by name."""
    return sorted(folder.glob(f"*/*{SUFFIX}"))


def name_of(file: Path) -> str:
    """Return the run's name, MACHINE/NAME."""
    return f"{file.parent.name}/{file.name.removesuffix(SUFFIX)}"


def entry_of(file: Path) -> dict:
    """Return a run's line of the index by column; raises ReportError where the file is no run."""
    loaded = results.load([file])
    records, environment = loaded.records, loaded.runs[0].environment
    libraries = libraries_of(records)
    started, commit = facts_of(environment, file)
    entry = {
        "run": name_of(file),
        "device": ", ".join(sorted(set(records["device_name"]))),
        "started": started,
        "commit": commit[:12],
        "networks": listed(records["network"]),
        "batch": listed(records["batch"]),
        "threads": listed(records["threads"]),
        "passes": " ".join(short for name, short in SHORT.items() if (records["pass"] == name).any()),
        "rows": len(records),
        "libraries": " ".join(libraries),
        **headline(loaded),
        "protocol": listed(records.loc[records["outcome"] == "measured", "protocol"]),
    }
    # The class is that of the folder's machine; runs of older programs do not know it.
    circumstances = [listed(records[name]) for name in CIRCUMSTANCES if name != "machine_class"]
    sets = [sorted(set(records[name].map(str))) for name in ("problem", "algorithm", "sampling")]
    repeated = bool(records["aa_ratio"].notna().any())
    settings = repr((file.parent.name, circumstances, libraries, sets, repeated))
    return {**entry, "settings": hashlib.sha256(settings.encode()).hexdigest()[:12]}


def facts_of(environment: dict, file: Path) -> tuple[str, str]:
    """Return when a run began and its program's commit; raises ReportError where its file does not say."""
    program = environment.get("program")
    facts = environment.get("started"), program.get("commit") if isinstance(program, dict) else None
    for name, fact in zip(("started", "program/commit"), facts, strict=True):
        if not isinstance(fact, str):
            raise ReportError(f"{file}: /environment/{name} is missing or no text: copy the file again")
    return facts


def listed(values) -> str:
    """Return the distinct values in their order, separated by spaces."""
    return " ".join(dict.fromkeys(map(results.as_text, values)))


def libraries_of(records) -> list:
    """Return provider and version, where it says it, of each library that a record was measured with."""
    measured = records[(records["outcome"] == "measured") & (records["provider"] != "convscope")]
    pairs = zip(measured["provider"], measured["version"].fillna(""), strict=True)
    return [f"{provider}-{version}".rstrip("-").replace(" ", "-") for provider, version in sorted(set(pairs))]


def headline(loaded) -> dict:
    """Return library_ms to behind; sums are empty where a run has several sets of circumstances.

    The fastest record of either side is the one that ranks first; where that one is suspect, its time too
    long, the layer and pass is left out.
    """
    measured = loaded.records[loaded.records["outcome"] == "measured"]
    line = dict.fromkeys(("library_ms", "ours_ms", "ratio", "behind"), "")
    line["throttled"] = f"{int(measured['throttled'].astype(bool).sum())} of {len(measured)}"
    right = loaded.ranked()
    if right.empty or len(right[list(CIRCUMSTANCES)].map(results.as_text).drop_duplicates()) != 1:
        return line
    right = right[["layer", "pass", "problem", "provider", "count", "rank", "standing", "full_median_ms"]]
    library_ms = ours_ms = 0.0
    behind = both = 0
    for _, records in right.groupby(["layer", "pass", "problem"], sort=False):
        is_ours = records["provider"] == "convscope"
        sides = records[is_ours], records[~is_ours]
        if any(side.empty for side in sides) or any(is_suspect(best(side)) for side in sides):
            continue
        ours, library = (best(side)["full_median_ms"] for side in sides)
        count = records["count"].iloc[0]
        both += 1
        behind += library < BEHIND * ours
        ours_ms += count * ours
        library_ms += count * library
    if both == 0:
        return line
    line |= {"library_ms": f"{library_ms:.4g}", "ours_ms": f"{ours_ms:.4g}"}
    return line | {"ratio": f"{library_ms / ours_ms:.2f}", "behind": f"{behind} of {both}"}


def classes_of(document: dict) -> set:
    """Return the classes of the machines that a results.json was measured on, those that it knows."""
    devices = (record.get("device") for record in document["records"] if isinstance(record, dict))
    known = (device.get("machine_class") for device in devices if isinstance(device, dict))
    return {name for name in known if name and isinstance(name, str)}


def refuse_another_machine(document: dict, source: Path, folder: Path) -> None:
    """Raise ReportError where a kept run in the folder of a machine is of another class than this one."""
    own = classes_of(document)
    for kept in sorted(folder.glob(f"*{SUFFIX}")) if own else []:
        theirs = classes_of(run_files.read_json(kept))
        if theirs and theirs.isdisjoint(own):
            raise ReportError(
                f"{source}: was measured on {', '.join(sorted(own))}, {name_of(kept)} on "
                f"{', '.join(sorted(theirs))}; choose another --machine"
            )


def refuse_bad_name(name: str, what: str) -> None:
    """Raise ReportError where a file cannot have this name, as where it would lie in another folder."""
    if not NAME.fullmatch(name):
        raise ReportError(
            f"{name!r} cannot be the name of a {what}; allowed are letters, digits, '.', '_' and '-', first "
            "a letter or a digit"
        )


def keep(source: Path, machine: str, name: str, folder: Path = FOLDER) -> Path:
    """Put a run's results.json, compressed, under results/; return the file.

    Raises ReportError where a name is none, where the run is unfinished, where a newer run has that name,
    where another name holds a run with the same settings, or where the machine's folder holds runs of another
    class of machine.
    """
    refuse_bad_name(machine, "machine")
    refuse_bad_name(name, "run")
    file, document = run_files.finished(source)
    refuse_another_machine(document, source, folder / machine)
    target = folder / machine / f"{name}{SUFFIX}"
    started, _ = facts_of(document["environment"], file)
    if target.is_file() and facts_of(run_files.read_json(target)["environment"], target)[0] > started:
        raise ReportError(f"{target}: holds a newer run than {source}; choose another --name")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Whatever ends it before the last step, what was kept under that name is left as it is.
    partial = target.with_name(f"{name}.partial.xz")
    try:
        partial.write_bytes(lzma.compress(run_files.content_of(file), preset=9 | lzma.PRESET_EXTREME))
        entry = entry_of(partial) | {"run": name_of(target)}
        others = {name: line for name, line in read_index(folder).items() if name != entry["run"]}
        for name, line in others.items():
            if line["settings"] == entry["settings"]:
                raise ReportError(
                    f"{name} is a run with the same settings as {source}, and only the newest is kept: "
                    f"give it that name, or remove {name}{SUFFIX} and run `convscope-report index`"
                )
        partial.replace(target)
    except ReportError as error:
        raise ReportError(str(error).replace(str(partial), str(source))) from None
    finally:
        partial.unlink(missing_ok=True)
    write_index(folder, [*others.values(), entry])
    return target


def read_index(folder: Path) -> dict:
    """Return the lines of index.csv by run; none where there is no such file."""
    file = folder / "index.csv"
    if not file.is_file():
        return {}
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            columns, entries = reader.fieldnames, list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise ReportError(f"{file}: cannot be read as CSV: {fault}; run `convscope-report index`") from fault
    foreign = [place for place, entry in enumerate(entries, 2) if None in entry or None in entry.values()]
    if columns not in (None, list(COLUMNS)):
        foreign = [1]
    if foreign:
        raise ReportError(
            f"{file}: line {foreign[0]}: its columns are not those of an index; run `convscope-report index`"
        )
    return {entry["run"]: entry for entry in entries}


def write_index(folder: Path, entries: list) -> None:
    """Write index.csv and README.md."""
    for name, text in index(entries).items():
        (folder / name).write_text(text, encoding="utf-8")


def index(entries: list) -> dict:
    """Return the texts of index.csv and README.md by file name."""
    runs = sorted(entries, key=lambda entry: entry["run"])
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(runs)
    lines = [
        "| run | device | started | commit | batch | threads | passes | libraries | library / ours "
        "| behind | throttled records | protocol |",
        "|---" * 12 + "|",
    ]
    for run in runs:
        ratio = f"{run['library_ms']} / {run['ours_ms']} ms = {run['ratio']}x" if run["ratio"] else ""
        cells = [f"[{run['run']}]({run['run']}{SUFFIX})", run["device"], run["started"], run["commit"]]
        cells += [run[name] for name in ("batch", "threads", "passes", "libraries")]
        cells += [ratio, run["behind"], run["throttled"], run["protocol"]]
        lines.append("| " + " | ".join(cells) + " |")
    page = README.read_text(encoding="utf-8") + "\n" + "\n".join(lines) + "\n"
    return {"index.csv": table.getvalue(), "README.md": page}
