"""The samples of a contest without what the machine did to them.

The candidates of a contest are sampled interleaved, each until it has converged, some for seconds longer than
others. Meanwhile a machine changes its clock, or a neighbour takes its share of a core. So two medians of one
run are of different seconds, and arithmetic gets slower with a core more than copies do.

Of each sample is known when it ended and how fast the threads computed beside it. Its logarithm is taken as

    level of a candidate's side + slope of the candidate * speed + trend of the side at that time

The speed is the running median over all candidates, so that one that lowers the clock by itself is not
excused. Its logarithm counts from the usual speed of both sides where one program measured them; two programs
may count it differently, or change it, and each side counts from its own. The slope is near 0 where memory
bounds a candidate and below 0 where cores do; both sides have the same (the model of an analysis of
covariance). The trend is the running median of what is left of all candidates of a side, and its middle is 0.
Where fewer than MIN_CANDIDATES are sampled, or mostly one, speed and trend cannot be told from a candidate's
own: between other samples they are interpolated, and before the first and after the last of these they have
their median. Slopes and trends are fitted in turn (backfitting; Buja, Hastie and Tibshirani 1989). The result
are samples less slope and trend terms, and how unsure slopes make the ratios of two sides at unlike speeds.
"""

import numpy as np

from convscope_report.results import SAMPLES

MIN_CANDIDATES = 3
REACH = 12  # samples before and after one that a running median is of
PASSES = 10
# Standard deviations of slopes before any sample is seen: of their mean from 0, and of each from their mean.
SLOPE_OF_ALL, SLOPE_OF_ONE = 0.5, 0.2
OUTLIER = 3  # standard deviations; slopes ignore what is farther out
TO_DEVIATION = 1.4826  # from the median of absolute values, of a normal distribution


class Side:
    """The samples of all candidates of a contest in one run, in the order they were taken."""

    def __init__(self, records: list):
        """Take the samples of records, one a candidate; each has when they ended and their speeds."""
        times, at, speeds = (np.concatenate([record[name] for record in records]) for name in SAMPLES)
        candidate = np.repeat(np.arange(len(records)), [len(record["samples_ms"]) for record in records])
        order = np.argsort(at, kind="stable")
        self.candidate, self.time = candidate[order], np.log(times[order])
        self.members = [np.flatnonzero(self.candidate == one) for one in range(len(records))]
        self.places = np.full((len(records), max(map(len, self.members))), len(order))
        for row, members in zip(self.places, self.members, strict=True):
            row[: len(members)] = members
        self.is_shared = is_shared(running(self.candidate), len(records))
        self.trend = np.zeros(len(order))
        self.speed = self.smoothed(np.log(speeds[order]))

    def smoothed(self, values: np.ndarray) -> np.ndarray:
        """Return the running median where it is shared; else interpolated or, beyond these, its median."""
        shared = np.flatnonzero(self.is_shared)
        if len(shared) == 0:
            return np.zeros(len(values))
        medians = medians_of(running(values)[shared])
        middle = np.median(medians)
        return np.interp(np.arange(len(values)), shared, medians, left=middle, right=middle)

    def by_candidate(self, values: np.ndarray) -> np.ndarray:
        """Return a value for each sample as a row for each candidate, NaN behind its last."""
        return np.append(values, np.nan)[self.places]

    def follow(self, slopes: np.ndarray) -> None:
        """Fit the trend to what these slopes leave."""
        left = self.time - slopes[self.candidate] * self.speed
        left -= medians_of(self.by_candidate(left - self.trend))[self.candidate]
        self.trend = self.smoothed(left)
        self.trend -= np.median(self.trend[self.is_shared])

    def moments(self, slopes: np.ndarray) -> np.ndarray:
        """Return speed times time, speed times speed and samples, summed by candidate, and squared residuals.

        Of the samples that are near what these slopes say, speed and time relative to their means.
        """
        time, speed = self.by_candidate(self.time - self.trend), self.by_candidate(self.speed)
        residual = time - slopes[:, None] * speed
        residual -= medians_of(residual)[:, None]
        deviations = TO_DEVIATION * medians_of(np.abs(residual))
        near = np.abs(residual) <= OUTLIER * deviations[:, None]
        counts = near.sum(axis=1)
        time, speed, residual = (
            np.where(near, values - (values.sum(axis=1, where=near) / counts)[:, None], 0)
            for values in (time, speed, residual)
        )
        products = (speed * time, speed * speed, near, residual * residual)
        return np.stack([values.sum(axis=1) for values in products], axis=1)

    def samples_ms(self, slopes: np.ndarray) -> list:
        """Return the samples in ms without slope and trend, by candidate."""
        steady = np.exp(self.time - slopes[self.candidate] * self.speed - self.trend)
        return [steady[members] for members in self.members]


def medians_of(windows: np.ndarray) -> np.ndarray:
    """Return the median of each row, whose NaN are left out."""
    ordered, rows = np.sort(windows, axis=1), np.arange(len(windows))  # NaN last
    counts = np.count_nonzero(~np.isnan(windows), axis=1)
    return (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2


def is_shared(windows: np.ndarray, candidates: int) -> np.ndarray:
    """Whether the samples of each row are of MIN_CANDIDATES, and of none of these more than half."""
    counts = np.stack([np.count_nonzero(windows == one, axis=1) for one in range(candidates)], axis=1)
    is_mixed = np.count_nonzero(counts, axis=1) >= MIN_CANDIDATES
    return is_mixed & (2 * counts.max(axis=1) <= counts.sum(axis=1))


def running(values: np.ndarray) -> np.ndarray:
    """Return for each value those within REACH; beyond the ends NaN, of whole numbers -1."""
    beyond = -1 if np.issubdtype(values.dtype, np.integer) else np.nan
    padded = np.pad(values, REACH, constant_values=beyond)
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * REACH + 1)


def steadied(pairs: list, is_one_program: bool) -> list:
    """Return (A's samples in ms, B's, doubt) for each pair (A, B) of the records of one contest, steadied.

    The doubt is the standard deviation of the logarithm of B over A that comes from the candidate's slope;
    what is wrong with all slopes moves all ratios alike, which is drift. The samples are the raw lists,
    and the doubt 0, where a record does not say when its samples ended and how fast the machine was, as in
    older files, and where on a side never MIN_CANDIDATES are sampled together.
    """
    raw = [(a["samples_ms"], b["samples_ms"], 0.0) for a, b in pairs]
    if not pairs or not all(is_known(record) for pair in pairs for record in pair):
        return raw
    sides = [Side(list(records)) for records in zip(*pairs, strict=True)]
    if not all(side.is_shared.any() for side in sides):
        return raw
    usual = [np.median(side.speed) for side in sides]
    for side, own in zip(sides, usual, strict=True):
        side.speed -= np.mean(usual) if is_one_program else own
    slopes = np.zeros(len(pairs))
    for _ in range(PASSES):
        slopes, deviations = slopes_of(sides, slopes)
        for side in sides:
            side.follow(slopes)
    speeds = [np.array([np.median(side.speed[members]) for members in side.members]) for side in sides]
    doubts = deviations * np.abs(speeds[1] - speeds[0])
    return list(zip(*(side.samples_ms(slopes) for side in sides), map(float, doubts), strict=True))


def slopes_of(sides: list, before: np.ndarray) -> tuple:
    """Return the slope of each candidate, given those before, and its standard deviation about that of all.

    They are mean and deviation of a normal model of two levels.

    The mean of all is estimated first (empirical Bayes). Candidates whose speeds hardly change say nothing of
    their slopes and get nearly that.
    """
    products, squares, counts, residuals = np.sum([side.moments(before) for side in sides], axis=0).T
    noise = np.maximum(residuals / np.maximum(counts - 2, 1), 1e-12)
    precision = squares / noise
    says = precision > 0
    weights = np.where(says, 1 / (1 / np.where(says, precision, 1) + SLOPE_OF_ONE**2), 0)
    own = np.divide(products, squares, out=np.zeros(len(squares)), where=says)
    mean = weights @ own / (weights.sum() + 1 / SLOPE_OF_ALL**2)
    total = precision + 1 / SLOPE_OF_ONE**2
    return (precision * own + mean / SLOPE_OF_ONE**2) / total, 1 / np.sqrt(total)


def is_known(record: dict) -> bool:
    """Whether the record says when each sample ended and how fast the machine was beside it."""
    lists = [record[name] for name in SAMPLES]
    are_alike = len({len(values) for values in lists}) == 1
    return are_alike and all(values and None not in values and min(values) > 0 for values in lists)
