"""Derivatives of the curvature enclose the exact values."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, arb_series, ctx

from ipub.losses import LOSSES
from support.oracles.losses import oracle_of

each_loss = pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES.values() if loss.has_bounded_third_derivative], ids=str
)


def exact_slope(loss, y, t):
    """Return the derivative of the curvature, by power series."""
    return 2 * oracle_of(loss).slope_ball(y, arb_series([arb(t), 1], prec=3))[2]


def intervals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw intervals of scores, short and long, near 0 and distant."""
    lower = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1.5, size=n)
    return lower, lower + 10.0 ** rng.uniform(-9, 1, size=n) * (rng.random(n) < 0.9)


@each_loss
def test_slopes_of_the_curvature_are_enclosed(loss):
    rng = np.random.default_rng(0)
    lower, upper = intervals(rng, 400)
    y = rng.choice([-1.0, 1.0], size=400)
    low, high = loss.curvature_slope_range(y, lower, upper)
    with ctx.workprec(120):
        for k in range(400):
            inside = [*np.linspace(lower[k], upper[k], 9), -1.3169578969248167, 1.3169578969248167, 0.0, 2.29243167]
            for slope in (exact_slope(loss, y[k], float(t)) for t in inside if lower[k] <= t <= upper[k]):
                assert slope >= float(low[k])
                assert slope <= float(high[k])


@each_loss
def test_ranges_are_tight(loss):
    t = np.linspace(-6.0, 6.0, 101)
    y = np.ones_like(t)
    low, high = loss.curvature_slope_range(y, t, t)
    assert (high - low <= 1e-13).all()


@each_loss
def test_a_score_that_is_not_known_gives_the_whole_range(loss):
    nan = np.full(1, np.nan)
    low, high = loss.curvature_slope_range(np.ones(1), nan, nan)
    with ctx.workprec(120):
        slopes = [float(exact_slope(loss, 1.0, t)) for t in np.linspace(-5.0, 5.0, 201)]
    assert low[0] <= min(slopes)
    assert high[0] >= max(slopes)
