"""The samples of a contest without what the machine did to them.

The candidates of a contest are sampled interleaved, each until it has converged, some for seconds longer than
others. Meanwhile a machine changes its clock, or a neighbour the share of a core that is left, by up to 10%.
So two medians of one run are of different seconds, and a product feels a slower core more than a copy does.

Of each sample is known when it ended and how fast the threads computed beside it. Its logarithm is taken as

    level of a candidate's side + slope of the candidate * speed + course of the side at that time

where speed is the logarithm of the one beside it over the usual one of both sides. The slope is 0 of what the
memory bounds and below 0 of what the cores bound; both sides of a candidate have the same (the model of an
analysis of covariance). The course is the running median of what is left of all candidates of a side, its
middle 0. Slopes and courses are fitted in turn (backfitting; Buja, Hastie and Tibshirani 1989), and what
remains are samples whose levels are those of one steady machine.
"""

import numpy as np

from convscope_report.results import SAMPLES

MIN_CANDIDATES = 3  # a course of fewer is that of their own noise
REACH = 12  # samples before and after one that its course is the median of
PASSES = 10
# Standard deviations of a slope before any sample is seen: that of a contest from 0, and of its candidates
# from that. Where speeds hardly change within a side, samples say nothing of slopes, and these keep them
# near.
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
        self.candidate, self.time, self.speed = candidate[order], np.log(times[order]), np.log(speeds[order])
        self.course = np.zeros(len(order))
        self.members = [np.flatnonzero(self.candidate == one) for one in range(len(records))]

    def follow(self, slopes: np.ndarray) -> None:
        """Fit the course to what these slopes leave."""
        left = self.time - slopes[self.candidate] * self.speed
        for members in self.members:
            left[members] -= np.median(left[members] - self.course[members])
        reached = np.pad(left, REACH, constant_values=np.nan)
        self.course = np.nanmedian(np.lib.stride_tricks.sliding_window_view(reached, 2 * REACH + 1), axis=1)
        self.course -= np.median(self.course)

    def spread(self, slopes: np.ndarray) -> list:
        """Return the sums of products of speed, with time and with itself, and the residuals, by candidate.

        Sums are over the samples that are near what these slopes say.
        """
        found = []
        for slope, members in zip(slopes, self.members, strict=True):
            time, speed = self.time[members] - self.course[members], self.speed[members]
            residual = time - slope * speed
            residual -= np.median(residual)
            near = np.abs(residual) <= OUTLIER * TO_DEVIATION * np.median(np.abs(residual))
            time, speed = (values[near] - np.mean(values[near]) for values in (time, speed))
            found.append((speed @ time, speed @ speed, residual))
        return found

    def samples_ms(self, slopes: np.ndarray) -> list:
        """Return the samples in ms without slope and course, by candidate."""
        steady = np.exp(self.time - slopes[self.candidate] * self.speed - self.course)
        return [steady[members] for members in self.members]


def steadied(pairs: list) -> list:
    """Return for each pair (A, B) of the records of one contest their samples in ms, steadied.

    They are the raw ones where a record does not say when they ended and how fast the machine was, as in
    older files, or where there are fewer than MIN_CANDIDATES.
    """
    if len(pairs) < MIN_CANDIDATES or not all(is_known(record) for pair in pairs for record in pair):
        return [(a["samples_ms"], b["samples_ms"]) for a, b in pairs]
    sides = [Side(list(records)) for records in zip(*pairs, strict=True)]
    usual = np.mean([np.median(side.speed) for side in sides])
    for side in sides:
        side.speed -= usual
    slopes = np.zeros(len(pairs))
    for _ in range(PASSES):
        slopes = slopes_of(sides, slopes)
        for side in sides:
            side.follow(slopes)
    return list(zip(*(side.samples_ms(slopes) for side in sides), strict=True))


def slopes_of(sides: list, before: np.ndarray) -> np.ndarray:
    """Return the slope of each candidate: the posterior mean, with SLOPE_OF_ALL and SLOPE_OF_ONE before."""
    of_sides = [side.spread(before) for side in sides]
    products, squares = (np.sum([[one[i] for one in side] for side in of_sides], axis=0) for i in (0, 1))
    residuals = np.concatenate([one[2] for side in of_sides for one in side])
    noise = (TO_DEVIATION * np.median(np.abs(residuals))) ** 2
    if squares.sum() == 0 or noise == 0:
        return np.zeros(len(squares))
    common = products.sum() / (squares.sum() + noise / SLOPE_OF_ALL**2)
    prior = noise / SLOPE_OF_ONE**2
    return (products + common * prior) / (squares + prior)


def is_known(record: dict) -> bool:
    """Whether the record says when each sample ended and how fast the machine was beside it."""
    are_alike = len({len(record[name]) for name in SAMPLES}) == 1
    positive = (record["samples_ms"], record["samples_speed"])
    return are_alike and all(values and None not in values and min(values) > 0 for values in positive)
