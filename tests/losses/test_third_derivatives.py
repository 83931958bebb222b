"""Derivatives of the curvature, and secants over the curvature where they start, enclose the exact values."""

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


def bend(name: str, t: arb) -> arb:
    return curvature(name, t) * (1 - 6 * curvature(name, t)) if name == "log_loss" else arb(0)


def secant(name: str, p: arb, s: arb) -> arb:
    return (sigmoid(p + s) - sigmoid(p)) / s if name == "log_loss" else arb(2)


def intervals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw intervals of scores, short and long, near 0 and distant."""
    lower = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1.5, size=n)
    return lower, lower + 10.0 ** rng.uniform(-9, 1, size=n) * (rng.random(n) < 0.9)


def test_the_losses_that_have_them_are_the_logistic_and_the_squared():
    assert sorted(SMOOTH) == ["log_loss", "squared_error"]


@each_loss
def test_slopes_and_bends_of_the_curvature_are_enclosed(name):
    rng = np.random.default_rng(0)
    lower, upper = intervals(rng, 400)
    y = rng.choice([-1.0, 1.0], size=400)
    low, high = LOSSES[name].curvature_slope_range(y, lower, upper)
    most = LOSSES[name].curvature_bend_upper(y, lower, upper)
    with ctx.workprec(120):
        for k in range(400):
            inside = [*np.linspace(lower[k], upper[k], 9), -1.3169578969248167, 1.3169578969248167, 0.0, 2.29243167]
            for t in (arb(float(t)) for t in inside if lower[k] <= t <= upper[k]):
                assert slope(name, t) >= float(low[k])
                assert slope(name, t) <= float(high[k])
                assert abs(bend(name, t)) <= float(most[k])


@each_loss
def test_ranges_are_tight(name):
    t = np.linspace(-6.0, 6.0, 101)
    y = np.ones_like(t)
    low, high = LOSSES[name].curvature_slope_range(y, t, t)
    assert (high - low <= 1e-13).all()
    most = LOSSES[name].curvature_bend_upper(y, t, t)
    exact = np.array([abs(float(bend(name, arb(float(each))))) for each in t])
    near_top = np.abs(np.array([float(curvature(name, arb(float(each)))) for each in t]) - 1 / 12) < 1e-3
    assert (most[~near_top] <= exact[~near_top] + 1e-12).all()


@each_loss
def test_secant_slopes_are_at_least_the_ratio_times_the_curvature(name):
    rng = np.random.default_rng(1)
    lower, upper = intervals(rng, 300)
    y = rng.choice([-1.0, 1.0], size=300)
    move = 10.0 ** rng.uniform(-8, 1.5, size=300)
    ratio = LOSSES[name].secant_ratio_lower(y, lower, upper, move)
    assert ((ratio >= 0.0) & (ratio <= 1.0)).all()
    with ctx.workprec(300):
        for k in range(300):
            for p in (lower[k], upper[k], 0.5 * (lower[k] + upper[k])):
                if not lower[k] <= p <= upper[k]:
                    continue
                for s in (move[k], -move[k], 0.5 * move[k], -0.1 * move[k]):
                    start = arb(float(p))
                    assert secant(name, start, arb(float(s))) >= float(ratio[k]) * curvature(name, start)


def test_the_ratio_of_the_logistic_loss_is_attained():
    far, move = np.array([0.0, 2.0, 5.0]), np.array([1.0, 0.5, 2.0])
    ratio = LOSSES["log_loss"].secant_ratio_lower(np.ones(3), -far, far, move)
    with ctx.workprec(120):
        for k in range(3):
            p = arb(float(far[k]))
            exact = secant("log_loss", p, arb(float(move[k]))) / curvature("log_loss", p)
            assert float(exact) == pytest.approx(float(ratio[k]), rel=1e-12)


@each_loss
def test_a_score_that_is_not_known_gives_the_whole_range(name):
    nan = np.full(2, np.nan)
    low, high = LOSSES[name].curvature_slope_range(np.ones(2), nan, nan)
    assert (low <= 0.0).all()
    assert (high >= 0.0).all()
    if name == "log_loss":
        assert (low <= -0.0962).all()
        assert (high >= 0.0962).all()
        assert (LOSSES[name].curvature_bend_upper(np.ones(2), nan, nan) >= 0.125).all()
        assert (LOSSES[name].secant_ratio_lower(np.ones(2), nan, nan, np.ones(2)) == 0.0).all()
