"""`convscope-report table slides`: the speed-ups of the slides' two times, and what their text says."""

from types import SimpleNamespace

import pytest

from convscope_report.tables.slides import claim, slides


def test_speed_ups_follow_from_the_two_times_and_the_closed_forms(convscope):
    (table,) = slides(None, SimpleNamespace(convscope=str(convscope)))
    lines = {(row[0], row[1]): row[2:6] for row in table.rows}
    assert len(lines) == 6
    for (batch, gpus), (compute, tree, ring, one_bit) in lines.items():
        alone = 200 * batch / 256
        assert compute == pytest.approx(alone / gpus)
        levels = {2: 1, 4: 2}[gpus]
        assert tree == pytest.approx(alone / (compute + 2 * levels * 45), rel=1e-4)
        share = 2 * (gpus - 1) / gpus
        assert ring == pytest.approx(alone / (compute + share * 45), rel=1e-4)
        assert one_bit == pytest.approx(alone / (compute + share * 45 / 31.49), rel=1e-3)


def test_what_the_text_says_is_compared_and_nothing_else_is_claimed(convscope):
    (table,) = slides(None, SimpleNamespace(convscope=str(convscope)))
    said = {(row[0], row[1]): row[6:] for row in table.rows}
    assert said[256, 2] == said[256, 4] == said[512, 2] == [None, None]
    assert said[128, 2] == ["worse than one GPU (s. 26)", "tree yes, ring no"]
    assert said[512, 4][1].startswith("tree yes; 1-bit 1.49")


@pytest.mark.parametrize(
    ("case", "gain", "agrees"),
    [
        ((128, 2), {"tree": 1.2, "ring": 0.9}, "tree no, ring yes"),
        ((512, 4), {"tree": 2.0, "striped": 2.62}, "tree no; 1-bit 1.00 times that"),
    ],
)
def test_a_model_that_disagrees_is_said_to(case, gain, agrees):
    assert claim(*case, gain)[1] == agrees
