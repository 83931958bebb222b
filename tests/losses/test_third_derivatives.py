"""Derivatives of the curvature enclose the exact values."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx

from ipub.losses import LOSSES

SMOOTH = [name for name, loss in LOSSES.items() if loss.has_bounded_third_derivative]
each_loss = pytest.mark.parametrize("name", SMOOTH)


def sigmoid(t: arb) -> arb:
    return 1 / (1 + (-t).exp())


def curvature(name: str, t: arb) -> arb:
    return sigmoid(t) * sigmoid(-t) if name == "log_loss" else arb(2)


def slope(name: str, t: arb) -> arb:
    return curvature(name, t) * (sigmoid(-t) - sigmoid(t)) if name == "log_loss" else arb(0)


def intervals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw intervals of scores, short and long, near 0 and distant."""
    lower = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1.5, size=n)
    return lower, lower + 10.0 ** rng.uniform(-9, 1, size=n) * (rng.random(n) < 0.9)


def test_the_losses_that_have_them_are_the_logistic_and_the_squared():
    assert sorted(SMOOTH) == ["log_loss", "squared_error"]


@each_loss
def test_slopes_of_the_curvature_are_enclosed(name):
    rng = np.random.default_rng(0)
    lower, upper = intervals(rng, 400)
    y = rng.choice([-1.0, 1.0], size=400)
    low, high = LOSSES[name].curvature_slope_range(y, lower, upper)
    with ctx.workprec(120):
        for k in range(400):
            inside = [*np.linspace(lower[k], upper[k], 9), -1.3169578969248167, 1.3169578969248167, 0.0, 2.29243167]
            for t in (arb(float(t)) for t in inside if lower[k] <= t <= upper[k]):
                assert slope(name, t) >= float(low[k])
                assert slope(name, t) <= float(high[k])


@each_loss
def test_ranges_are_tight(name):
    t = np.linspace(-6.0, 6.0, 101)
    y = np.ones_like(t)
    low, high = LOSSES[name].curvature_slope_range(y, t, t)
    assert (high - low <= 1e-13).all()


@each_loss
def test_a_score_that_is_not_known_gives_the_whole_range(name):
    nan = np.full(2, np.nan)
    low, high = LOSSES[name].curvature_slope_range(np.ones(2), nan, nan)
    assert (low <= 0.0).all()
    assert (high >= 0.0).all()
    if name == "log_loss":
        assert (low <= -0.0962).all()
        assert (high >= 0.0962).all()
