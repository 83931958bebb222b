"""Whatever a certificate takes from a loss, a penalty or the rounding encloses the exact value, proven by flint."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import expit

from ipub.losses import LOSSES, Huber, SmoothedHinge
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import dot_bounds, norm_upper
from support.enclosures import (
    PRECISION,
    is_above,
    is_below,
    scores,
    wrong_conjugates,
    wrong_curvatures,
    wrong_lines,
    wrong_midpoints,
    wrong_near,
    wrong_penalties,
    wrong_products,
    wrong_residuals,
    wrong_residuals_between,
    wrong_secants,
    wrong_slopes,
    wrong_values,
)
from support.oracles.losses import sigmoid_ends
from support.oracles.rationals import exact_dot, rational, rationals


@pytest.mark.parametrize(
    "check",
    [
        wrong_values,
        wrong_conjugates,
        wrong_residuals,
        wrong_residuals_between,
        wrong_slopes,
        wrong_near,
        wrong_curvatures,
        wrong_secants,
    ],
)
@pytest.mark.parametrize(
    "loss", [*LOSSES.values(), *map(SmoothedHinge, (1.0, 0.1, 3e-14)), Huber(0.1), Huber(1e6)], ids=repr
)
def test_losses_are_rounded_outward(loss, check):
    assert list(check(loss)) == []


def test_lines_through_a_jump_hold_its_derivatives():
    assert list(wrong_lines(LOSSES["hinge"])) == []


def test_a_smooth_loss_has_no_jump():
    with pytest.raises(NotImplementedError):
        LOSSES["huber"].derivative_line(*np.ones((4, 1)))


@pytest.mark.parametrize("move", [0.002, 0.5, 5.0])
def test_secants_of_the_logistic_are_no_wider_than_need_be(move):
    t = np.linspace(-6.0, 6.0, 25)
    low, high = LOSSES["log_loss"].secant_range(np.ones(25), t, t, np.full(25, move))
    ends = t[:, None] + np.linspace(-move, move, 401)
    secants = (expit(ends) - expit(t)[:, None]) / np.where(ends == t[:, None], np.nan, ends - t[:, None])
    assert (low <= np.nanmin(secants, axis=1) + 1e-9).all()
    assert (low >= np.nanmin(secants, axis=1) - 1e-3).all()
    far = np.abs(t) > move
    np.testing.assert_allclose(high[far], np.nanmax(secants, axis=1)[far], atol=1e-3)


@pytest.mark.parametrize("kappa", [0.0, 1e-8, 0.1, 3.0])
@pytest.mark.parametrize("lam", [1e-6, 0.1, 1.0, 1e4])
def test_penalties_are_rounded_outward(lam, kappa):
    assert list(wrong_penalties(ElasticNet(lam, kappa))) == []


def test_probabilities_are_rounded_outward():
    t = scores(np.random.default_rng(0))
    low, high = LOSSES["log_loss"].link_range(t, t)
    with ctx.workprec(PRECISION):
        for k in range(len(t)):
            lowest, highest = sigmoid_ends(arb(t[k]))
            assert is_below(low[k], lowest)
            assert is_above(high[k], highest)


def test_labels_are_certain_only_beyond_zero():
    hinge = LOSSES["hinge"]
    lower, upper = np.array([1e-300, 0.0, -1e-300, -2.0, -2.0]), np.array([1.0, 1.0, 1.0, -1e-300, 0.0])
    low, high = hinge.link_range(lower, upper)
    assert low.tolist() == [1.0, -1.0, -1.0, -1.0, -1.0]
    assert high.tolist() == [1.0, 1.0, 1.0, -1.0, 1.0]


def test_products_sums_and_norms_are_rounded_outward():
    assert wrong_products() == []


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-160, 1e-100, 1e100, 1e149])
def test_products_and_norms_survive_underflow_and_large_values(scale):
    rng = np.random.default_rng(8)
    rows, vector = rng.normal(size=(20, 7)) * scale, rng.normal(size=7)
    low, high = dot_bounds(rows, vector)
    norms = norm_upper(rows)
    for k, row in enumerate(rows):
        exact = exact_dot(rationals(row), rationals(vector))
        assert is_below(low[k], exact)
        assert is_above(high[k], exact)
        assert rational(norms[k]) ** 2 >= exact_dot(rationals(row), rationals(row))


def test_midpoint_and_radius_enclose_the_interval():
    assert wrong_midpoints() == []
