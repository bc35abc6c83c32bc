"""Whether two runs differ, record by record, from their samples and their noise floor.

The ratio of a record is that of Hodges and Lehmann (1963): the middle of all quotients of a sample of B and
one of A, those of --aa's second series among them, with the interval that the Mann-Whitney test does not
reject at 99%. It asks of the samples only that the two distributions are alike in shape, so outliers count
little. Samples of a run are not independent, which makes the interval too narrow: what keeps it honest is the
noise floor, DRIFT times as far as the series of --aa are apart.

Between two runs the machine changes, by 10 or 20% on a shared one. The candidates of a contest (a layer, a
pass, ...) are measured interleaved, so they drift together. Those whose code is the same on both sides are
witnesses: a record's ratio is judged relative to their middle one, and no finer than they agree.

What differs between two processes besides (where the memory of a record lies, a neighbour during the run) no
sample of one run shows. Against that help several pairs of runs in turn: a record then has one ratio a pair,
and its interval comes from how far they are apart. That finds differences that no single pair can.
"""

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import pandas as pd

from convscope_report import ReportError
from convscope_report.contexts import is_suspect, paths_of
from convscope_report.figures import is_library
from convscope_report.results import CANDIDATE, Results, as_text, dictionaries
from convscope_report.steadied import steadied

CONFIDENCE = 0.99
Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)  # standard deviations that an interval reaches
FLOOR_QUANTILE = 0.95  # of the distances of the two series of --aa, over all records of both runs
DEFAULT_FLOOR = 0.05  # where nothing is measured
ASSUMED = "assumed: neither run has --aa nor a calibrated machine"
MIN_FLOOR = 0.01
DRIFT = 3  # two runs differ by more than two interleaved series of one run do; seen: mostly 2 to 4 times
NEVER = 2.3  # times what nine of ten lie within: seen of 99.5% between runs of one program
MAX_MATTERS = 0.25  # however noisy: a larger difference is never the same
MIN_SAMPLES = 6
MIN_WITNESSES = 3
PRIOR = 4  # pairs that the variance typical of all candidates weighs
WITNESS_QUANTILE = 0.9  # of the distances of the witnesses from their middle

VERDICTS = ("FASTER", "SLOWER", "SAME", "UNDECIDED", "REFUSED")

# What makes two records of a candidate comparable; where it differs, the record is refused.
MUST_AGREE = ("math", "layout", "threads", "cache", "workspace_cap_bytes", "device_index", "device_name")
# Likewise these, where both sides know them.
WHERE_KNOWN = ("machine_class", "protocol")
# Where it differs the record is compared, since that may be the question, and says so.
FLAGGED = ("version", "program", "sampling", "knobs", "seed", "implementation")
# A candidate without its circumstances; `shape` is the problem without pass, math mode and layout.
LOOSE = ["network", "layer", "pass", "batch", "device", "algorithm", "shape"]
# What candidates that are measured interleaved have in common.
CONTEST = [column for column in CANDIDATE if column != "algorithm"]


@dataclass
class Comparison:
    """The verdict of one candidate; `ratio` is B over A, so above 1 is slower."""

    place: dict
    verdict: str
    a_ms: float | None = None
    b_ms: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    drift: float | None = None  # the middle ratio of the witnesses, None where there are too few
    is_steadied: bool = False  # `ratio` is of steadied samples; a_ms and b_ms are as measured
    remarks: list = field(default_factory=list)


@dataclass
class Floor:
    """How far apart two measurements of one candidate are: `share` 0.03 is 3%; `origin` says whence."""

    share: float
    origin: str

    @property
    def measured(self) -> bool:
        """Say whether it was measured, and not assumed."""
        return self.origin != ASSUMED


def noise_floor(*runs: Results) -> Floor:
    """Return the noise floor: from --aa, else from the resolution of the runs' machines, else a default."""
    ratios = [ratio for run in runs for ratio in run.records["aa_ratio"].dropna()]
    if ratios:
        distance = float(np.quantile(np.abs(np.log(np.array(ratios, dtype=float))), FLOOR_QUANTILE))
        return Floor(max(math.expm1(DRIFT * distance), MIN_FLOOR), "from --aa")
    shares = [
        entry["between_runs"]
        for run in runs
        for one in run.runs
        for entry in one.environment.get("resolution", [])
    ]
    if shares:
        return Floor(max(NEVER * max(shares), MIN_FLOOR), "from the machine's calibration")
    return Floor(DEFAULT_FLOOR, ASSUMED)


def shift(a, b) -> tuple:
    """Return Hodges and Lehmann's ratio of the samples b over a, with its interval at CONFIDENCE."""
    quotients = np.sort(np.subtract.outer(np.log(np.asarray(b)), np.log(np.asarray(a))).ravel())
    spread = math.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12)
    left_out = max(int(len(quotients) / 2 - Z * spread), 0)
    ends = np.median(quotients), quotients[left_out], quotients[-1 - left_out]
    return tuple(float(math.exp(end)) for end in ends)


def widened(ratio: float, low: float, high: float, doubt: float) -> tuple:
    """Return a ratio and its interval, with `doubt`, one more standard deviation of its logarithm, in it."""
    reaches = (math.hypot(math.log(end / ratio), Z * doubt) for end in (low, high))
    below, above = map(math.exp, reaches)
    return ratio, ratio / below, ratio * above


def verdict_of(ratio: float, low: float, high: float, floor: float, matters: float) -> str:
    """Return the verdict on a ratio and its interval.

    FASTER, SLOWER: the interval is wholly beyond the noise floor. SAME: it reaches into it, and the ratio is
    within what matters, and the interval within twice that. UNDECIDED: it could be either.
    """
    if high < 1 / (1 + floor):
        return "FASTER"
    if low > 1 + floor:
        return "SLOWER"
    near = abs(math.log(ratio)) <= math.log1p(matters)
    narrow = max(-math.log(low), math.log(high)) <= 2 * math.log1p(matters)
    return "SAME" if near and narrow else "UNDECIDED"


def compare(a: Results, b: Results, matters: float) -> tuple:
    """Return the Comparisons, the Floor, the share that matters, records only in A, only in B.

    They are in A's order, those of a contest together.
    A difference smaller than `matters` (0.05 is 5%) is none to the user; a noisy run makes it larger.
    """
    floor = noise_floor(a, b)
    matters = max(matters, min(floor.share, MAX_MATTERS))
    left, right = prepared(a), prepared(b)
    # The most alike first: older records do not know their machine's class.
    alike = [
        (columns, {key(record, columns): record for record in right})
        for columns in (CANDIDATE, [name for name in CANDIDATE if name != "machine_class"], LOOSE)
    ]
    used, only_a, contests = set(), [], defaultdict(list)
    for record in left:
        others = (found_by.get(key(record, columns)) for columns, found_by in alike)
        other = next((candidate for candidate in others if candidate is not None), None)
        if other is None:
            only_a.append(record)
            continue
        used.add(key(other, CANDIDATE))
        if record["full_median_ms"] is not None or other["full_median_ms"] is not None:
            contests[key(record, CONTEST)].append((record, other))
    found = [made for pairs in contests.values() for made in compared(pairs, floor.share, matters)]
    if not found:
        raise ReportError(
            f"{paths_of(a)} and {paths_of(b)} have no candidate with a time in common: "
            f"{why_nothing(left, right, bool(used))}"
        )
    return found, floor, matters, only_a, [record for record in right if key(record, CANDIDATE) not in used]


def why_nothing(left: list, right: list, is_alike: bool) -> str:
    """Return why no two records can be compared; `is_alike` says whether some are of the same candidate."""
    if is_alike:
        return "no record that both have has a time; `convscope run` measures, `verify` does not"
    unlike = []
    for column in LOOSE:
        values = [list(dict.fromkeys(shown(record[column]) for record in side)) for side in (left, right)]
        if set(values[0]).isdisjoint(values[1]):
            first = (", ".join(side[:3]) + ", ..." * (len(side) > 3) for side in values)
            unlike.append(f"{column} {' against '.join(first)}")
    # A shape is of its layer and batch.
    unlike = unlike[:-1] if len(unlike) > 1 and unlike[-1].startswith("shape ") else unlike
    return "; ".join(unlike) or "other layers, passes or batches of each algorithm"


def compare_pairs(pairs: list, matters: float) -> tuple:
    """Return what compare() returns, of several pairs (A, B) measured in turn: see together().

    The Floor of several pairs is MIN_FLOOR: what changes from run to run is in the intervals. The share that
    matters is `matters`, the records of one side the first pair's.
    """
    done = [compare(a, b, matters) for a, b in pairs]
    if len(done) == 1:
        return done[0]
    candidates = defaultdict(list)
    for found, *_ in done:
        for made in found:
            candidates[tuple(made.place.values())].append(made)
    typical = typical_variance(candidates.values())
    floor = Floor(MIN_FLOOR, "between pairs")
    found = [together(of_pairs, typical, floor.share, matters) for of_pairs in candidates.values()]
    return found, floor, matters, *done[0][3:]


def relative(made: Comparison) -> float:
    """Return the logarithm of a ratio over the drift of its contest."""
    return math.log(made.ratio / (made.drift or 1.0))


def typical_variance(candidates) -> float:
    """Return the middle variance, over the candidates, of the relative ratios of the pairs; 0 without any."""
    logs = ([relative(made) for made in of_pairs if made.ratio is not None] for of_pairs in candidates)
    variances = [np.var(values, ddof=1) for values in logs if len(values) > 1]
    return float(np.median(variances)) if variances else 0.0


def variance_within(made: Comparison) -> float:
    """Return the variance of a pair's ratio that its interval stands for."""
    return (math.log(made.high / made.low) / 2 / Z) ** 2


def together(of_pairs: list, typical: float, floor: float, matters: float) -> Comparison:
    """Return one Comparison of the pairs' Comparisons of a candidate.

    Its ratio is the mean of the pairs' over their drift, and its interval Student's at CONFIDENCE, from how
    far the pairs are apart: samples of one process share what differs between processes, such as where its
    memory lies, and cannot say (Kalibera and Jones, ISMM 2013). Few pairs say little about a variance, so it
    is shrunk towards the typical one of all candidates, which weighs as PRIOR more pairs (Smyth 2004); it is
    no less than that of the samples.
    """
    # Imported here: it takes as long to load as many a verb to run.
    from scipy.special import stdtrit  # the quantiles of Student's distribution

    usable = [made for made in of_pairs if made.ratio is not None]
    if len(usable) < 2:
        first = (usable or of_pairs)[0]
        first.verdict = "UNDECIDED" if usable else first.verdict
        first.remarks.insert(0, f"{len(usable)} of {len(of_pairs)} pairs could be compared")
        return first
    logs = np.array([relative(made) for made in usable])
    n = len(logs)
    freedom = PRIOR + n - 1
    variance = (PRIOR * typical + (n - 1) * np.var(logs, ddof=1)) / freedom
    variance = max(variance, float(np.mean([variance_within(pair) for pair in usable])))
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance / n)
    middle = float(np.mean(logs))
    made = sorted(usable, key=lambda pair: pair.ratio)[n // 2]
    made.drift = math.exp(np.mean([math.log(pair.drift or 1.0) for pair in usable]))
    made.ratio, made.low, made.high = (math.exp(end) for end in (middle, middle - reach, middle + reach))
    made.is_steadied = any(pair.is_steadied for pair in usable)
    made.verdict = verdict_of(made.ratio, made.low, made.high, floor, matters)
    if n < len(of_pairs):
        made.remarks.insert(0, f"{n} of {len(of_pairs)} pairs could be compared")
    return made


def same_code(a: dict, b: dict) -> bool:
    """Say whether nothing but the machine can have changed it: the same program, or a library's own code.

    Ours that call a library, as im2col_gemm.cpu does, unfold by code of the program.
    """
    if a["provider"] != b["provider"] or differ(a["version"], b["version"]):
        return False
    return one_program(a, b) or is_library(a)


def one_program(a: dict, b: dict) -> bool:
    """Say whether one program, as it was committed, measured both."""
    return a["program"] == b["program"] and not (a["modified"] or b["modified"])


def judge(contest: list, floor: float, matters: float) -> None:
    """Give the Comparisons of one contest, each with its same_code(), their verdicts."""
    for made, _ in contest:
        witnesses = np.log([other.ratio for other, same in contest if same and other is not made])
        middle, spread = 0.0, 0.0
        if len(witnesses) >= MIN_WITNESSES:
            middle = float(np.median(witnesses))
            spread = math.expm1(np.quantile(np.abs(witnesses - middle), WITNESS_QUANTILE))
            made.drift = math.exp(middle)
        relative = (ratio / math.exp(middle) for ratio in (made.ratio, made.low, made.high))
        made.verdict = verdict_of(*relative, max(floor, spread), matters)


def prepared(results: Results) -> list:
    """Return the records as dicts, with the shape of the problem and the program's version; no repeats."""
    records = dictionaries(results.records)
    for record in records:
        record["shape"] = record["problem"].split(" ", 3)[3]
        program = results.runs[record["run"]].environment.get("program") or {}
        record["program"] = " ".join(
            str(program.get(name)) for name in ("version", "commit", "compiler", "flags")
        )
        record["modified"] = program.get("modified", True)
    if len({key(record, CANDIDATE) for record in records}) < len(records):
        raise ReportError(
            f"{results.runs[0].folder}: it holds the same candidate twice; compare takes one run on each side"
        )
    return records


def key(record: dict, columns: list) -> tuple:
    """Return the record's values in the columns."""
    return tuple(record[column] for column in columns)


def compared(pairs: list, floor: float, matters: float) -> list:
    """Return the Comparisons of the pairs (A, B) of records of one contest, with their verdicts."""
    found = [refused(a, b) for a, b in pairs]
    usable = [(made, pair) for made, pair in zip(found, pairs, strict=True) if not made.remarks]
    steady = steadied([pair for _, pair in usable], all(one_program(*pair) for _, pair in usable))
    for (made, pair), samples_and_doubt in zip(usable, steady, strict=True):
        rate(made, *pair, samples_and_doubt)
    judge([(made, same_code(*pair)) for made, pair in usable if made.ratio is not None], floor, matters)
    return found


def refused(a: dict, b: dict) -> Comparison:
    """Return the comparison of two records of one candidate, with remarks where it is refused."""
    made = Comparison(
        {name: a[name] for name in CANDIDATE}, "REFUSED", a["full_median_ms"], b["full_median_ms"]
    )
    unlike = [name for name in MUST_AGREE if differ(a[name], b[name])]
    unlike += [name for name in WHERE_KNOWN if None not in (a[name], b[name]) and a[name] != b[name]]
    made.remarks = [f"{name} {shown(a[name])} against {shown(b[name])}" for name in unlike]
    if unlike:
        return made
    for side, record in (("A", a), ("B", b)):
        if record["rank"] is None:
            what = record["standing"] if record["outcome"] == "measured" else record["outcome"]
            made.remarks.append(f"{side} is {what}{': ' + record['reason'] if record['reason'] else ''}")
    return made


def rate(made: Comparison, a: dict, b: dict, steady: tuple) -> None:
    """Give the comparison of A and B its ratio and interval, from what steadied() says, and its remarks."""
    *samples, doubt = steady
    if a["samples_ms"] == b["samples_ms"]:
        made.ratio = made.low = made.high = 1.0  # one measurement on both sides
    elif min(map(len, samples)) < MIN_SAMPLES:
        made.remarks.append(f"fewer than {MIN_SAMPLES} samples; give {what_gives_more(a, b)}")
        made.verdict = "UNDECIDED"
        return
    else:
        made.ratio, made.low, made.high = widened(*shift(*samples), doubt)
        made.is_steadied = samples[0] is not a["samples_ms"]
    made.remarks += [
        f"{name} differs" if name == "program" else f"{name} {shown(a[name])} -> {shown(b[name])}"
        for name in FLAGGED
        if differ(a[name], b[name])
    ]
    made.remarks += [
        f"{side} was {record['standing']}" for side, record in (("A", a), ("B", b)) if is_suspect(record)
    ]


def what_gives_more(a: dict, b: dict) -> str:
    """Return the flags of `run` that give two records samples enough, by their rules of sampling."""
    most = (re.search(r"\bmax_samples=(\d+)", record["sampling"] or "") for record in (a, b))
    if any(found and int(found[1]) < MIN_SAMPLES for found in most):
        return f"--min-samples and --max-samples {MIN_SAMPLES} or more"
    return "--time-limit or --min-samples more"


def differ(a, b) -> bool:
    """Say whether two values differ; two unknown ones do not."""
    return a != b and not (
        pd.api.types.is_scalar(a) and pd.isna(a) and pd.api.types.is_scalar(b) and pd.isna(b)
    )


def shown(value) -> str:
    """Return a value for a remark."""
    return "none" if value is None else as_text(value)


def geometric_mean(found: list) -> float | None:
    """Return the geometric mean of the ratios, None where there is none."""
    ratios = [comparison.ratio for comparison in found if comparison.ratio is not None]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None
