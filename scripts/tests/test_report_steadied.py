"""`compare`: samples without what the machine did to them, on machines whose every change is known."""

import numpy as np
import pytest

CANDIDATES = 10
SLOPES = -np.linspace(0, 0.6, CANDIDATES)  # from bound by memory to bound by cores
NOISE = 0.02


def run_on(machine, ratios=(1.0,) * CANDIDATES, seed=0):
    """The records of a contest on a machine: (speed, slowness) by the number of the sample from 0 to 1.

    In each round every candidate has a sample, in random order; the first ones end after a third of them.
    """
    random = np.random.default_rng(seed)
    records = [{"samples_ms": [], "samples_at": [], "samples_speed": []} for _ in range(CANDIDATES)]
    rounds, at = 45, 0
    for number in range(rounds):
        for one in random.permutation(CANDIDATES):
            at += 1
            if number > rounds * (one + 5) / (CANDIDATES + 4):
                continue
            speed, slowness = machine(at / rounds / CANDIDATES)
            record = records[one]
            time = (one + 1) * ratios[one] * slowness * speed ** SLOPES[one] * np.exp(random.normal(0, NOISE))
            record["samples_ms"].append(time)
            record["samples_at"].append(1.7e9 + at)
            record["samples_speed"].append(400 * speed * np.exp(random.normal(0, 0.002)))
    return records


def steady(share):
    """Changes nothing."""
    return 1.0, 1.0


def slowing(share):
    """Ends 10% slower than it begins, whatever runs."""
    return 1.0, 1 + 0.1 * share


def boosting(share):
    """Has a clock that is 15% higher in every other tenth of the time."""
    return (1.15 if int(10 * share) % 2 else 1.0), 1.0


def boosted(share):
    """Has the higher clock most of the time."""
    return (1.0 if int(10 * share) % 5 == 0 else 1.15), 1.0


def always(speed):
    """Of one clock throughout."""
    return lambda share: (speed, 1.0)


def distances(a, b):
    """How far the ratio of each candidate is from the middle one."""
    ratios = np.array([np.log(np.median(two) / np.median(one)) for one, two in zip(a, b, strict=True)])
    return np.abs(ratios - np.median(ratios))


def raw_and_steadied(a, b, is_one_program=True):
    from convscope_report.steadied import steadied

    raw = [(one["samples_ms"], two["samples_ms"]) for one, two in zip(a, b, strict=True)]
    return raw, [samples for *samples, _ in steadied(list(zip(a, b, strict=True)), is_one_program)]


# And how far above that of a steady machine the distance may be: where the clock changes seldom, slopes that
# few samples speak of are kept near each other.
@pytest.mark.parametrize(
    ("before", "after", "above"),
    [
        (steady, slowing, 1.2),
        (slowing, boosting, 1.4),
        (boosting, slowing, 1.4),
        (boosting, boosting, 1.2),
        (boosting, boosted, 1.4),
        (slowing, boosted, 2),
        (steady, boosted, 2),
    ],
)
def test_two_runs_of_one_code_are_nearly_as_near_as_on_a_steady_machine(before, after, above):
    found = {"raw": [], "steadied": [], "no machine": []}
    for seed in range(12):
        a, b = run_on(before, seed=seed), run_on(after, seed=100 + seed)
        raw, level = raw_and_steadied(a, b)
        found["raw"].extend(distances(*zip(*raw, strict=True)))
        found["steadied"].extend(distances(*zip(*level, strict=True)))
        quiet = run_on(steady, seed=seed), run_on(steady, seed=100 + seed)
        found["no machine"].extend(distances(*zip(*raw_and_steadied(*quiet)[0], strict=True)))
    raw, level, least = (np.quantile(found[name], 0.9) for name in ("raw", "steadied", "no machine"))
    assert level < above * least
    assert raw > 1.6 * max(least, level), "the machine must be one that shows, or this test cannot fail"


def ratio_of(candidate, a, b):
    """The ratio of a candidate over the middle one of the others, in steadied samples."""
    logs = np.array([np.log(np.median(two) / np.median(one)) for one, two in raw_and_steadied(a, b)[1]])
    return np.exp(logs[candidate] - np.median(np.delete(logs, candidate)))


def mean_ratio(candidate, change):
    """Over 20 pairs of runs on machines that change, B's records of which `change` has changed."""
    found = []
    for seed in range(20):
        a, b = run_on(boosting, seed=seed), run_on(slowing, seed=100 + seed)
        change(b[candidate])
        found.append(ratio_of(candidate, a, b))
    return np.mean(found)


@pytest.mark.parametrize("slower", [3, CANDIDATES // 2, CANDIDATES - 1])
def test_a_candidate_that_lowers_the_clock_by_itself_is_as_much_slower(slower):
    def change(record):
        record["samples_ms"] = [1.05 * time for time in record["samples_ms"]]
        record["samples_speed"] = [speed / 1.05 for speed in record["samples_speed"]]

    assert mean_ratio(slower, change) == pytest.approx(1.05, abs=0.012)


def go_on_alone(record, time, samples, seed):
    """Takes so many further samples of a record, after all others of its run."""
    random = np.random.default_rng(seed)
    record["samples_ms"] += list(time * np.exp(random.normal(0, NOISE, samples)))
    record["samples_at"] += list(1.8e9 + np.arange(samples))
    record["samples_speed"] += [400] * samples


def test_a_slowdown_of_the_last_samples_shows_though_no_other_candidate_is_left():
    """Two thirds of the samples of the third candidate are taken alone, 8% slower in B."""
    found = []
    for seed in range(20):
        a, b = run_on(steady, seed=seed)[:3], run_on(steady, seed=100 + seed)[:3]
        go_on_alone(a[2], 3, 48, seed)
        go_on_alone(b[2], 3 * 1.08, 48, 100 + seed)
        found.append(ratio_of(2, a, b))
    assert np.mean(found) > 1.05


def test_a_candidate_with_most_of_the_samples_is_no_trend_of_the_others():
    """The last of four has eight samples for one of each other; in B its second half takes 20% longer."""
    ratios = []
    for seed in range(10):
        sides = []
        for side, slower in ((0, 1.0), (1, 1.2)):
            random = np.random.default_rng(100 * side + seed)
            times = {one: [] for one in range(4)}
            ats = {one: [] for one in range(4)}
            for at in range(440):
                one = min(at % 11, 3)
                times[one].append((slower if one == 3 and at >= 220 else 1) * np.exp(random.normal(0, NOISE)))
                ats[one].append(1.7e9 + at)
            sides.append(
                [
                    {"samples_ms": times[one], "samples_at": ats[one], "samples_speed": [400] * len(ats[one])}
                    for one in times
                ]
            )
        pairs = raw_and_steadied(*sides)[1]
        ratios.append([np.ptp(np.log([np.median(b[:20]), np.median(b[20:])])) for _, b in pairs[:3]])
    assert np.mean(ratios) < 0.02, "the others' samples of the second half are as long as those of the first"


def test_a_trend_of_the_last_shared_samples_is_not_that_of_all_that_follow():
    """Four candidates end; the machine is 10% slower while they do, and then as before."""
    ratios = []
    for seed in range(10):
        a, b = run_on(steady, seed=seed)[:5], run_on(steady, seed=100 + seed)[:5]
        for record in b:
            record["samples_ms"][-3:] = [1.1 * time for time in record["samples_ms"][-3:]]
        go_on_alone(a[4], 5, 90, seed)
        go_on_alone(b[4], 5, 90, 100 + seed)
        ratios.append([np.median(two) / np.median(one) for one, two in raw_and_steadied(a, b)[1]])
    assert np.mean(ratios, axis=0) == pytest.approx(1, abs=0.02)


def test_speeds_of_two_programs_are_not_compared():
    """B's program counts its burst as a fifth faster: nothing has changed."""
    counted = [], []
    for seed in range(10):
        a, b = run_on(boosting, seed=seed), run_on(boosting, seed=100 + seed)
        for record in b:
            record["samples_speed"] = [1.2 * speed for speed in record["samples_speed"]]
        for found, is_one in zip(counted, (True, False), strict=True):
            found.extend(distances(*zip(*raw_and_steadied(a, b, is_one)[1], strict=True)))
    misled, right = (np.quantile(found, 0.9) for found in counted)
    assert right < 0.015 < 0.03 < misled


@pytest.mark.parametrize("changed", [4, 7])
def test_of_two_programs_many_slower_candidates_that_lower_the_clock_show(changed):
    slowed = range(0, changed)
    found = []
    for seed in range(10):
        a, b = run_on(steady, seed=seed), run_on(steady, seed=100 + seed)
        for one in slowed:
            b[one]["samples_ms"] = [1.05 * time for time in b[one]["samples_ms"]]
            b[one]["samples_speed"] = [speed / 1.05 for speed in b[one]["samples_speed"]]
        pairs = raw_and_steadied(a, b, is_one_program=False)[1]
        found.append([np.median(two) / np.median(one) for one, two in pairs])
    ratios = np.mean(found, axis=0)
    assert np.mean(ratios[:changed]) / np.mean(ratios[changed:]) == pytest.approx(1.05, abs=0.012)


def test_speeds_that_differ_between_runs_and_not_within_change_nothing_by_guessing():
    """No sample says what a higher clock does to a candidate, so nothing is made of it."""
    a, b = run_on(always(1.0)), run_on(always(1.1), seed=1)
    raw, level = raw_and_steadied(a, b)
    for (_, one), (_, two) in zip(raw, level, strict=True):
        assert np.median(two) == pytest.approx(np.median(one), rel=0.012)


def largest_doubt(before, after, is_one_program=True):
    """How unsure slopes make the least sure ratio of two runs on these machines."""
    from convscope_report.steadied import steadied

    pairs = list(zip(run_on(before), run_on(after, seed=1), strict=True))
    return max(doubt for *_, doubt in steadied(pairs, is_one_program))


def test_a_slope_that_no_sample_shows_makes_the_ratio_of_unlike_speeds_unsure():
    """The fewer samples say of a slope and the farther the speeds are apart, the wider is the interval."""
    from convscope_report.compare import widened

    guessed, seen = largest_doubt(always(1.0), always(1.1)), largest_doubt(boosting, boosted)
    assert guessed == pytest.approx(0.2 * np.log(1.1), rel=0.1)
    assert 0.002 < seen < guessed / 2
    assert largest_doubt(steady, steady) < 0.001
    assert largest_doubt(always(1.0), always(1.1), is_one_program=False) < 0.001
    ratio, low, high = widened(1.0, 0.99, 1.01, guessed)
    assert (ratio, low, high) == (1.0, pytest.approx(0.951, abs=0.002), pytest.approx(1.051, abs=0.002))
    assert widened(1.2, 1.1, 1.3, 0.0) == pytest.approx((1.2, 1.1, 1.3))


def test_what_an_older_file_does_not_say_leaves_the_samples_as_they_are():
    for name in ("samples_at", "samples_speed"):
        a, b = run_on(slowing), run_on(slowing, seed=1)
        a[3][name] = []
        raw, level = raw_and_steadied(a, b)
        assert level == list(map(list, raw))


def test_speeds_that_are_no_speeds_leave_the_samples_as_they_are():
    for name, value in (("samples_speed", 0), ("samples_speed", None), ("samples_at", None)):
        a, b = run_on(slowing), run_on(slowing, seed=1)
        b[0][name][2] = value
        raw, level = raw_and_steadied(a, b)
        assert level == list(map(list, raw))


def test_two_candidates_say_nothing_of_a_machine():
    a, b = run_on(slowing)[:2], run_on(slowing, seed=1)[:2]
    raw, level = raw_and_steadied(a, b)
    assert level == list(map(list, raw))
