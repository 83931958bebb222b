"""Losses whose derivative is a clipped line: their pieces and their limits."""

import numpy as np
import pytest

from ipub.losses import Huber, SmoothedHinge, Squared, SquaredHinge


@pytest.mark.parametrize(
    ("loss", "y", "interval", "expected"),
    [
        (SquaredHinge(), 1.0, (-5.0, 0.9), (2.0, 2.0)),
        (SquaredHinge(), 1.0, (1.1, 9.0), (0.0, 0.0)),
        (SquaredHinge(), -1.0, (-0.9, 7.0), (2.0, 2.0)),
        (SquaredHinge(), -1.0, (-9.0, -1.1), (0.0, 0.0)),
        (SquaredHinge(), -1.0, (-1.1, -0.9), (0.0, 2.0)),
        (SmoothedHinge(0.5), 1.0, (0.6, 0.9), (2.0, 2.0)),
        (SmoothedHinge(0.5), 1.0, (-4.0, 0.4), (0.0, 0.0)),
        (SmoothedHinge(0.5), -1.0, (-0.9, -0.6), (2.0, 2.0)),
        (SmoothedHinge(0.5), -1.0, (-0.4, 0.0), (0.0, 0.0)),
        (SmoothedHinge(0.5), 1.0, (0.4, 1.1), (0.0, 2.0)),
        (Huber(2.0), 3.0, (1.1, 4.9), (1.0, 1.0)),
        (Huber(2.0), 3.0, (-7.0, 0.9), (0.0, 0.0)),
        (Huber(2.0), 3.0, (5.1, 6.0), (0.0, 0.0)),
        (Huber(2.0), 3.0, (0.9, 1.1), (0.0, 1.0)),
    ],
    ids=str,
)
def test_curvature_range_is_exact_on_one_piece_and_whole_across_a_kink(loss, y, interval, expected):
    low, high = loss.curvature_range(np.array([y]), *(np.array([end]) for end in interval))
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("loss", "wide", "factor"),
    [(Huber(1e6), Squared(), 2.0), (SmoothedHinge(1e6), SquaredHinge(), 2e6)],
    ids=str,
)
def test_long_lines_give_the_squares(loss, wide, factor):
    y, t = np.ones(7), np.linspace(-3.0, 3.0, 7)
    np.testing.assert_allclose(factor * loss.value(y, t), wide.value(y, t), rtol=1e-12, atol=1e-15)
