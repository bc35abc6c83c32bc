"""Results of `convscope run`: one data frame of all records, and what is known of each run.

The columns are the program's own (docs/results_format.md): they are read from results.csv, the raw samples,
the environment and the config from results.json beside it. Nothing that the program derived is derived again:
of a kept run (results/*/*.json.xz), which has no results.csv, the program prints it. Who wins depends on all
results together, so the program is asked for it once, whatever results.csv says (RANKING).
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from convscope_report import ReportError, program
from convscope_report.run_files import is_kept, is_numeric, locate, once, read_json, without_foreign
from convscope_report.where import no_column, no_value

PASSES = ("forward", "backward_data", "backward_filter")

# What the program decides from all records that are compared (bench/ranking).
RANKING = (
    "contest",
    "rank",
    "in_doubt",
    "standing",
    "is_baseline",
    "on_front",
    "over_winner",
    "speed_up",
)
# Of the columns that are read here, those that came last: a program that prints them prints all.
NEWEST = ("protocol", "suspect_ceiling")

# What all records of a table have in common, by column.
CIRCUMSTANCES = (
    "network",
    "batch",
    "math",
    "layout",
    "epilogue",
    "device",
    "device_index",
    "device_name",
    "machine_class",
    "threads",
    "cache",
    "workspace_cap_bytes",
)
# What two records share when they are measurements of the same candidate, and so repeats of each other.
CANDIDATE = [*CIRCUMSTANCES, "layer", "pass", "problem", "algorithm"]
# What is read of a record without a look at whether it is there; the last two of one with a rank.
ALWAYS = (*CANDIDATE, "count", "full_median_ms", "gate")
# Of a candidate, what results.csv of earlier programs lacks.
LATER = ("epilogue", "device_index", "machine_class")
# Columns of names, of which an empty field is one, too; and all whose text may read as a number, as layers
# called 1, 2, 3 and a version 9.10.
NAMES = ("network", "layer", "device_name")
TEXTS = (*NAMES, "machine_class", "machine_unit", "version", "implementation", "note")


@dataclass(frozen=True)
class Run:
    """What a results.json says besides its records, and the folder that it is in (a kept run: its file)."""

    folder: Path
    schema_version: int
    argv: list
    config: list
    environment: dict
    ceilings: list

    @property
    def started(self) -> str:
        """When it began, UTC, as the program wrote it; empty for a merged folder."""
        return str(self.environment.get("started", ""))


# Lists of a record with an entry a sample, the second series of --aa after the first: its time; when it
# ended, in seconds since 1970; how fast the machine was beside it (1e9 operations a second of its threads, or
# MHz). Empty where older files do not say; None of a record without a time.
SAMPLES = ("samples_ms", "samples_at", "samples_speed")


@dataclass(frozen=True)
class Results:
    """Records of one or several runs.

    `records`: a data frame, a record a candidate, with the columns of results.csv (times in ms, sizes in
    bytes, None where nothing is known), and besides SAMPLES; `run`, an index into `runs`;
    `first`, whether the layer reads the image; `sampling`, the rule of sampling as one line, or None;
    `summary`, what the algorithm says of itself; `hardware`, what results.json says of the device (cores,
    sizes of caches).
    """

    records: pd.DataFrame
    runs: list

    def where(self, /, **values) -> "Results":
        """Keep the records whose columns have one of the given values; raises ReportError if none is left."""
        records = self.records
        for column, wanted in values.items():
            if column not in records.columns:
                raise no_column(column, [name for name in records.columns if name not in SAMPLES])
            found = records[column].map(as_text)
            left = records[found.isin([str(value) for value in wanted])]
            if left.empty:
                raise no_value(column, wanted, list(in_order_of_size(found)), "leaves no records")
            records = left
        return Results(records, self.runs)

    def refuse_values_of_none(self, wanted: dict) -> None:
        """Raise ReportError where a value that is wanted of a column is that of no record."""
        for column, values in wanted.items():
            there = list(in_order_of_size(self.records[column].map(as_text)))
            unknown = [value for value in values if value not in there]
            if unknown:
                raise no_value(column, unknown, there, "is of no record")

    def with_distinct_layers(self) -> "Results":
        """Name layers by their size, too, where one name of a network stands for several, as of all --case.

        Tables and figures tell layers apart by name alone.
        """
        places = list(zip(self.records["network"], self.records["layer"], strict=True))
        shapes = list(map(shape_of, self.records["problem"]))
        known = {}
        for place, shape in zip(places, shapes, strict=True):
            known.setdefault(place, {})[shape] = None
        unlike = {place: len(own) > 1 and differing_words(own) for place, own in known.items()}
        names = [
            " ".join(filter(None, (layer, *(shape[word] for word in unlike[network, layer]))))
            if unlike[network, layer]
            else layer
            for (network, layer), shape in zip(places, shapes, strict=True)
        ]
        layers = pd.Series(names, self.records.index, dtype=object)
        return Results(self.records.assign(layer=layers), self.runs)

    def ranked(self) -> pd.DataFrame:
        """Return the records that can win: measured, right, one a candidate (docs/selection.md)."""
        return self.records[self.records["rank"].notna()]


def in_order_of_size(texts) -> pd.Series:
    """Return the distinct texts: numbers by their size, then all else."""
    distinct = pd.Series(sorted(set(texts)), dtype=object)
    return distinct.sort_values(key=lambda own: pd.to_numeric(own, errors="coerce"), kind="stable")


# The end of the name of a device whose clock is not one of this world: a stand-in for a GPU.
VIRTUAL_TIME = "(virtual time)"


def refuse_virtual_time(device_names, file) -> None:
    """Raise ReportError where one of the names, None of a device without one, is such a stand-in's."""
    if any(str(name).endswith(VIRTUAL_TIME) for name in device_names):
        raise ReportError(
            f"{file}: the device's time is virtual: its times mean nothing and may not be published; "
            "a rehearsal reads them with `convscope-report --virtual-time ...`"
        )


def shape_of(problem: str) -> tuple:
    """Return the words of a problem line that say a layer's sizes, whatever its pass and batch."""
    words = problem.split(" ")[3:]  # behind pass, math mode and layout
    return tuple(word for word in words if not word.startswith(("n=", "epilogue=")))


def differing_words(shapes) -> list:
    """Return the places of the words in which shapes differ."""
    return [place for place, words in enumerate(zip(*shapes, strict=False)) if len(set(words)) > 1]


def load(paths, virtual_time: bool = False, convscope: str | None = None) -> Results:
    """Read result folders or results.json files; raise ReportError for whatever is no such thing.

    `convscope` is the program that ranks the records; the built one when left out.
    """
    if not paths:
        raise ReportError("no results given; name one or more result folders, as in out/alexnet")
    files = once(locate(path) for path in without_foreign([Path(path) for path in paths]))
    documents = [read_json(file) for file in files]
    tables = [
        None
        if is_kept(file)
        else attach_records(read_rows(file.with_name("results.csv")), document, run, file)
        for run, (document, file) in enumerate(zip(documents, files, strict=True))
    ]
    printed = program_rows(convscope, files)
    runs, parts, start = [], [], 0
    for table, document, file in zip(tables, documents, files, strict=True):
        own = printed[start : start + len(document["records"])].reset_index(drop=True)
        start += len(own)
        if table is None:
            records = attach_records(own, document, len(runs), file)
        else:
            records = table
            refuse_damaged(table, own, file.with_name("results.csv"))
        # A results.csv of an earlier program lacks columns that this one derives from the records.
        lacking = [name for name in own.columns if name not in records.columns]
        records = records.assign(**{name: own[name] for name in (*lacking, *RANKING)})
        if not virtual_time:
            refuse_virtual_time(records["device_name"], file)
        parts.append(records)
        runs.append(run_of(document, file))
    return Results(with_suspect_baselines(pd.concat(parts, ignore_index=True)), runs)


def with_suspect_baselines(records: pd.DataFrame) -> pd.DataFrame:
    """Add whether what a record is compared with was throttled or disturbed, which no filter is to hide."""
    is_suspect = records["is_baseline"].map(bool) & records["standing"].isin(["throttled", "disturbed"])
    contests = set(records[is_suspect]["contest"])
    return records.assign(baseline_suspect=records["contest"].isin(contests))


def run_of(document: dict, file: Path) -> Run:
    """Return what is known of the run besides its records."""
    parts = ("argv", "config", "environment", "ceilings")
    folder = file if is_kept(file) else file.parent
    return Run(folder, document["schema_version"], *(document[part] for part in parts))


def program_rows(convscope: str | None, files: list) -> pd.DataFrame:
    """Return the rows of all files' records, ranked together, as the program prints them."""
    rows = frame_of(io.StringIO(program.output_of(convscope, "csv", *files)), files[0])
    if not {*RANKING, *NEWEST} <= set(rows.columns):
        raise program.too_old(convscope, "columns")
    ranks = [None if rank is None else int(rank) for rank in rows["rank"]]
    return rows.assign(rank=pd.Series(ranks, dtype=object))


def read_rows(file: Path) -> pd.DataFrame:
    """Return the rows of a results.csv, in the order of the records."""
    if not file.is_file():
        raise ReportError(
            f"{file}: missing beside results.json; copy the whole folder, "
            "or let `convscope merge FOLDER --out NEW` write both again"
        )
    return frame_of(file, file)


def frame_of(source, file: Path) -> pd.DataFrame:
    """Return the rows of CSV text, read from `source`, of the results in `file`."""
    try:
        # Text such as NA must stay text; only an empty field is unknown. The frame is of objects: None stays
        # None, whole numbers stay whole.
        # Of round_trip: the others read 1e9999999999 beyond a table of theirs, which ends the process.
        rows = pd.read_csv(
            source,
            dtype=dict.fromkeys(TEXTS, str),
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            float_precision="round_trip",
        )
    except (ValueError, OSError, csv.Error) as fault:
        raise ReportError(f"{file}: cannot be read as CSV: {fault}; copy the whole folder again") from fault
    known = rows.astype(object).where(rows.notna(), None)
    for column in known.columns.intersection(NAMES):
        known[column] = known[column].map(lambda name: "" if name is None else name)
    return known


def dictionaries(frame: pd.DataFrame) -> list[dict]:
    """Return each row as a dictionary; pandas takes many times as long for as many columns as there are."""
    names = list(frame.columns)
    return [dict(zip(names, row, strict=True)) for row in frame.to_numpy(dtype=object).tolist()]


def attach_records(rows: pd.DataFrame, document: dict, run: int, file: Path) -> pd.DataFrame:
    """Add to the rows what only the records have; they must be those of the same run, in the same order."""
    records = document["records"]
    table = f"`convscope csv {file}`" if is_kept(file) else file.with_name("results.csv")
    if len(rows) != len(records):
        raise ReportError(
            f"{table}: {len(rows)} rows, but results.json beside it has {len(records)} records: "
            "one of them was cut off or is of another run; copy the whole folder again"
        )
    for column in (*CANDIDATE, "outcome"):
        if column not in rows.columns and column not in LATER:
            raise ReportError(
                f"{table}: no column {column}: this is no results.csv of convscope; copy the folder again"
            )
    facts = []
    names = ["layer", "problem", "algorithm", "threads", "cache"]
    own = dictionaries(rows[[*names, "outcome"]])
    for place, (row, record) in enumerate(zip(own, records, strict=True)):
        try:
            theirs = {name: record["key"][name] for name in names}
            theirs["outcome"] = record["outcome"]
            facts.append(facts_of(record))
        except (KeyError, TypeError, AttributeError, OverflowError) as fault:
            raise ReportError(
                f"{file}: record {place}: {fault} is missing or of another kind; "
                "the file is damaged: copy it again"
            ) from fault
        for name, value in theirs.items():
            if row[name] != value:
                raise ReportError(
                    f"{table}: row {place + 1} has {name} {row[name]}, its record in results.json {value}: "
                    "they are of different runs; copy the whole folder again"
                )
    first = first_layers(document["config"])
    places = zip(rows["network"], rows["layer"], strict=True)
    extra = pd.DataFrame(facts, dtype=object).assign(run=run, first=[place in first for place in places])
    return pd.concat([rows, extra.astype(object)], axis=1)


def configs_of(config) -> list:
    """Return the configs of a run; those of merged runs are lists in a list, as deep as runs were merged."""
    found, left = [], [config]
    while left:
        part = left.pop(0)
        if isinstance(part, list):
            left[:0] = part
        elif isinstance(part, dict):
            found.append(part)
    return found


def first_layers(config) -> set:
    """Return network and name of each layer that one of the configs of a run marks as first."""
    layers = [(one.get("name"), one.get("layers")) for one in configs_of(config)]
    return {
        (str(name), str(layer.get("name")))
        for name, own in layers
        for layer in (own if isinstance(own, list) else [])
        if isinstance(layer, dict) and layer.get("first") is True
    }


def refuse_damaged(rows: pd.DataFrame, own: pd.DataFrame, file: Path) -> None:
    """Raise ReportError where a field of a results.csv cannot be what the program prints of the record."""
    for name in own.columns.intersection(rows.columns):
        for place, (value, printed) in enumerate(zip(rows[name], own[name], strict=True)):
            if expected := expected_instead(name, value, printed):
                found = "empty" if value is None else repr(value)
                raise ReportError(
                    f"{file}: row {place + 1}: {name} is {found}, where {expected} is expected; "
                    "copy the whole folder again"
                )


def expected_instead(name: str, value, printed) -> str | None:
    """Return what should stand in a field in place of its value; None where that may be right."""
    if name in ALWAYS and value is None and printed is not None:
        return "a value"
    if isinstance(value, str | float) and isinstance(printed, int | float) and not is_numeric(value):
        return "a number"
    return repr(printed) if name in CANDIDATE and as_text(value) != as_text(printed) else None


def facts_of(record: dict) -> dict:
    """Return what a record has and its row of results.csv lacks."""
    return {
        **samples_of(record),
        "sampling": sampling_text(record.get("sampling")),
        "summary": record["algorithm"]["summary"],
        "hardware": record["device"],
    }


def samples_of(record: dict) -> dict:
    """Return the SAMPLES of a record."""
    time = record.get("time") or {}
    series = [time[name] for name in ("full", "repeat") if time.get(name)]
    if not series:
        return dict.fromkeys(SAMPLES)
    times, at, speeds = [], [], []
    for one in series:
        times += [1e3 * seconds for seconds in one["samples_seconds"]]
        at += one.get("at_seconds", [])
        speeds += one.get("speeds", [])
    return dict(zip(SAMPLES, (times, at, speeds), strict=True))


def sampling_text(rule: dict | None) -> str | None:
    """Return a rule of sampling as one line, without what changes no sample of the first series."""
    without = ("repeat", "stage_limit_seconds")
    return rule and " ".join(f"{name}={value}" for name, value in rule.items() if name not in without)


def as_text(value) -> str:
    """Return a value as it stands in results.csv: whole numbers without a point, true and false small."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
