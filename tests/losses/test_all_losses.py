"""All losses: every formula against brute force and numerical derivatives."""

import numpy as np
import pytest

from ipub.losses import LOSSES, Huber, SmoothedHinge
from support.enclosures import kinks
from support.oracles.losses import oracle_of
from support.oracles.rationals import as_float, rational

GRID = np.linspace(-60.0, 60.0, 480_001)
"""Scores for suprema by brute force; the step is 2.5e-4."""
FAR = np.array([-1e7, 1e7])

LABELS = {"classification": (-1.0, 1.0), "regression": (-2.5, 0.0, 0.75, 3.0)}
DUALS = (-7.0, -1.0, 0.0, 1e-6, 0.25, 0.5, 0.9, 1.0, 2.5, 10.0)
ALL = [*LOSSES.values(), SmoothedHinge(3.0), Huber(0.25)]
CASES = [(loss, y) for loss in ALL for y in LABELS[loss.task]]
each_case = pytest.mark.parametrize(("loss", "y"), CASES, ids=str)


def duals(loss, y):
    """Return dual coordinates in the domain of the conjugate, its ends among them."""
    low, high = oracle_of(loss).domain
    ends = [end for end in (low, high) if np.isfinite(end)]
    inside = {*ends, *(share * end for end in ends for share in (0.3, 0.9)), *(a for a in DUALS if low <= a <= high)}
    return np.array(sorted(inside)) * (y if loss.task == "classification" else 1.0)


def brute_conjugate(loss, y, a, scores=GRID):
    """Return sup over the grid of -a t - l(y, t): never above the true conjugate."""
    return float(np.max(-a * scores - loss.value(y, scores)))


def scores_off_kinks(loss, y, count=400):
    """Return scores none of which is within 1e-4 of a kink."""
    t = np.random.default_rng(0).normal(scale=4.0, size=count)
    for kink in kinks(loss, y):
        t = t[np.abs(t - kink) > 1e-4]
    return t


@each_case
def test_value_is_its_definition(loss, y):
    t = np.linspace(-30.0, 30.0, 601)
    exact = [as_float(oracle_of(loss).value(y, score)) for score in t]
    np.testing.assert_allclose(loss.value(y, t), exact, rtol=1e-13, atol=1e-15)


@each_case
def test_labels_enter_as_the_theory_takes_for_granted(loss, y):
    t = np.linspace(-20.0, 20.0, 401)
    slopes = loss.derivative(y, t)
    if loss.task == "regression":
        np.testing.assert_allclose(slopes, loss.derivative(0.0, t - y), rtol=1e-13, atol=1e-13)
    else:
        assert (y * slopes <= 0.0).all()


@each_case
def test_conjugate_equals_the_supremum_by_brute_force(loss, y):
    for a in duals(loss, y):
        # The grid misses a supremum inside it by at most (curvature / 2) step^2 < 1e-7; one at infinity is near at 1e7.
        brute = max(brute_conjugate(loss, y, a), brute_conjugate(loss, y, a, FAR))
        assert loss.conjugate(y, a) == pytest.approx(brute, abs=2e-7)


@each_case
@pytest.mark.parametrize("beyond", [1e-3, 1.0])
def test_conjugate_and_residual_are_infinite_outside_the_domain(loss, y, beyond):
    low, high = oracle_of(loss).domain
    for b in (end for end in (low - beyond, high + beyond) if np.isfinite(end)):
        a = np.array(b * y if loss.task == "classification" else b)
        assert loss.conjugate(y, a) == np.inf
        assert loss.conjugate_upper(np.array(y), a) == np.inf
        assert loss.residual_upper(np.array(y), np.array(0.3), a) == np.inf
        assert brute_conjugate(loss, y, a, FAR) > 1e3


@each_case
def test_derivative_equals_a_central_difference(loss, y):
    t, h = scores_off_kinks(loss, y), 1e-5
    difference = (loss.value(y, t + h) - loss.value(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.derivative(y, t), difference, rtol=1e-8, atol=1e-8)


@each_case
def test_curvature_equals_a_central_difference_of_the_derivative(loss, y):
    t, h = scores_off_kinks(loss, y), 1e-5
    difference = (loss.derivative(y, t + h) - loss.derivative(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.curvature(y, t), difference, rtol=1e-7, atol=1e-9)


@each_case
def test_curvature_has_the_shape_of_labels_and_scores_together(loss, y):
    assert loss.curvature(np.full((3, 1), y), np.zeros(4)).shape == (3, 4)


@each_case
def test_fenchel_young_residual_is_never_negative(loss, y):
    t = np.linspace(-20.0, 20.0, 401)
    for a in duals(loss, y):
        residual = loss.value(y, t) + loss.conjugate(y, a) + a * t
        assert residual.min() >= -1e-12 * (1.0 + abs(a)) ** 2 * 20.0


@each_case
def test_fenchel_young_residual_vanishes_at_the_negated_derivative(loss, y):
    t = np.linspace(-20.0, 20.0, 401)
    a = -loss.derivative(y, t)
    residual = loss.value(y, t) + loss.conjugate(y, a) + a * t
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)
    assert (loss.residual_upper(y, t, a) >= 0.0).all()
    np.testing.assert_allclose(loss.residual_upper(y, t, a), 0.0, atol=1e-12)


@each_case
def test_residual_upper_bounds_the_residual_by_brute_force_and_closely(loss, y):
    t = np.linspace(-20.0, 20.0, 401)
    for a in duals(loss, y):
        brute = loss.value(y, t) + brute_conjugate(loss, y, a) + a * t
        bound = loss.residual_upper(y, t, np.full_like(t, a))
        # brute is below the true residual, but for the rounding of terms up to (|y| + |a| + |t|)^2 < 1100
        assert (bound >= brute - 1e-12).all()
        assert (bound <= loss.value(y, t) + loss.conjugate(y, a) + a * t + 1e-11).all()


@each_case
def test_value_upper_and_conjugate_upper_are_above_and_close(loss, y):
    t = np.linspace(-20.0, 20.0, 401)
    value, bound = loss.value(y, t), loss.value_upper(y, t)
    assert (bound >= value).all()
    np.testing.assert_allclose(bound, value, rtol=1e-14, atol=1e-14)
    a = duals(loss, y)
    conjugate, bound = loss.conjugate(y, a), loss.conjugate_upper(y, a)
    assert (bound >= conjugate).all()
    np.testing.assert_allclose(bound, conjugate, rtol=1e-14, atol=1e-14)


@each_case
@pytest.mark.parametrize("width", [0.0, 1e-9, 0.5, 30.0])
def test_derivative_range_encloses_the_derivative_all_over_the_interval(loss, y, width):
    at_kinks = [kink - part * width for kink in [y, *kinks(loss, y)] for part in (1.0, 0.0, 0.5)]
    starts = np.concatenate([np.linspace(-12.0, 12.0, 49), at_kinks])
    lower, upper = starts, starts + width
    low, high = loss.derivative_range(np.full_like(starts, y), lower, upper)
    inside = lower + np.linspace(0.0, 1.0, 201)[:, None] * (upper - lower)
    derivatives = loss.derivative(y, np.clip(inside, lower, upper))
    assert (low <= derivatives.min(axis=0)).all()
    assert (high >= derivatives.max(axis=0)).all()


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.task == "classification"], ids=str)
def test_wrong_label_upper_bounds_what_a_flip_does_to_the_derivative_exactly(loss):
    oracle = oracle_of(loss)
    for lower, upper in ((-7.0, 0.5), (-0.5, 7.0), (-3.0, -2.0), (2.0, 3.0), (-1.0, 1.0), (0.25, 0.25)):
        bound = rational(loss.wrong_label_upper(np.array([lower]), np.array([upper]))[0])
        for t in np.linspace(lower, upper, 9):
            assert min(oracle.slopes(-1.0, t)) - max(oracle.slopes(1.0, t)) <= bound, (lower, upper, t)


@each_case
def test_derivative_range_is_no_wider_than_the_derivatives_at_the_ends(loss, y):
    lower, upper = np.array([-8.0, -0.5, 1.5, 4.0]), np.array([-7.0, 0.5, 1.75, 9.0])
    low, high = loss.derivative_range(np.full(4, y), lower, upper)
    np.testing.assert_allclose(low, loss.derivative(y, lower), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(high, loss.derivative(y, upper), rtol=1e-14, atol=1e-14)


@each_case
@pytest.mark.parametrize("width", [1e-9, 0.5, 30.0])
def test_curvature_range_encloses_every_secant_of_the_derivative(loss, y, width):
    at_kinks = [kink - part * width for kink in [y, *kinks(loss, y)] for part in (1.0, 0.0, 0.5)]
    lower = np.concatenate([np.linspace(-12.0, 12.0, 49), at_kinks])
    low, high = loss.curvature_range(np.full_like(lower, y), lower, lower + width)
    points = lower + np.linspace(0.0, 1.0, 21)[:, None] * width
    slopes = loss.derivative(y, points)
    i, j = np.triu_indices(21, 1)
    secants = (slopes[j] - slopes[i]) / (points[j] - points[i])
    rounding = 1e-13 * (1.0 + np.abs(slopes).max()) / (points[j] - points[i]) + 1e-12 * np.abs(secants)
    assert (low <= secants + rounding).all()
    assert (high >= secants - rounding).all()


@each_case
@pytest.mark.parametrize("unknown", [(np.nan, np.nan), (np.nan, 50.0), (-50.0, np.nan), (-np.inf, np.inf)])
def test_curvature_range_of_an_unknown_score_is_the_whole_range(loss, y, unknown):
    low, high = loss.curvature_range(np.array([y]), *(np.array([end]) for end in unknown))
    t = np.linspace(-60.0, 60.0, 2_401)
    curvatures = loss.curvature(y, t)
    assert low[0] <= curvatures.min()
    assert high[0] >= curvatures.max()


@pytest.mark.parametrize("loss", ALL, ids=str)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_range_of_an_unknown_score_claims_nothing(loss, y):
    low, high = loss.derivative_range(np.array([y]), np.array([np.nan]), np.array([np.nan]))
    possible = loss.derivative(y, np.array([-1e3, 1e3]))
    assert not low[0] > possible[0]
    assert not high[0] < possible[1]


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.task == "regression"], ids=str)
def test_link_of_regression_is_the_identity(loss):
    t = np.array([-3.0, 0.0, 2.5])
    np.testing.assert_array_equal(loss.link(t), t)
    low, high = loss.link_range(t, t + 1.0)
    np.testing.assert_array_equal(low, t)
    np.testing.assert_array_equal(high, t + 1.0)


WITHOUT_PROBABILITY = [loss for loss in ALL if loss.task == "classification" and not loss.has_probability]
each_sign = pytest.mark.parametrize("loss", WITHOUT_PROBABILITY, ids=str)


@each_sign
def test_link_without_probability_is_the_sign_and_zero_is_unknown(loss):
    np.testing.assert_array_equal(loss.link(np.array([-3.0, 0.0, 2.5])), [-1.0, 0.0, 1.0])


@each_sign
@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ((0.5, 2.0), (1.0, 1.0)),
        ((-2.0, -0.5), (-1.0, -1.0)),
        ((-0.5, 0.5), (-1.0, 1.0)),
        ((0.0, 0.5), (-1.0, 1.0)),
        ((-0.5, 0.0), (-1.0, 1.0)),
        ((0.0, 0.0), (-1.0, 1.0)),
        ((-np.inf, np.inf), (-1.0, 1.0)),
    ],
)
def test_link_range_without_probability_is_a_sign_only_when_the_sign_is_certain(loss, scores, labels):
    low, high = loss.link_range(np.array([scores[0]]), np.array([scores[1]]))
    assert (low[0], high[0]) == labels
