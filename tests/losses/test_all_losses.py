"""All losses: every formula against brute force and numerical derivatives."""

import numpy as np
import pytest

from ipub.losses import LOSSES, Hinge, Huber, Logistic, SmoothedHinge, Squared, SquaredHinge

GRID = np.linspace(-60.0, 60.0, 480_001)
"""Scores for suprema by brute force; the step is 2.5e-4."""

LABELS = {"classification": (-1.0, 1.0), "regression": (-2.5, 0.0, 0.75, 3.0)}
UNIT = (0.0, 1e-6, 0.25, 0.5, 0.9, 1.0)
INSIDE = {
    "squared_error": (-7.0, -1.0, 0.0, 0.3, 2.0, 10.0),
    "hinge": UNIT,
    "log_loss": UNIT,
    "squared_hinge": (*UNIT, 2.5, 10.0),
    "smoothed_hinge": UNIT,
    "huber": (-1.0, -0.5, 0.0, 1e-6, 0.3, 1.0),
}
"""Values of a (regression) or of a y (classification) in the domain of the conjugate; for Huber over delta."""

ALL = [*LOSSES.values(), SmoothedHinge(3.0), Huber(0.25)]
CASES = [(loss, y) for loss in ALL for y in LABELS[loss.task]]
each_case = pytest.mark.parametrize(("loss", "y"), CASES, ids=str)


def duals(loss, y):
    """Return dual coordinates in the domain of the conjugate."""
    inside = np.array(INSIDE[loss.name]) * getattr(loss, "delta", 1.0)
    return inside if loss.task == "regression" else inside * y


def brute_conjugate(loss, y, a, scores=GRID):
    """Return sup over the grid of -a t - l(y, t): never above the true conjugate."""
    return float(np.max(-a * scores - loss.value(y, scores)))


KINKS = {
    "squared_error": lambda loss, y: [],
    "hinge": lambda loss, y: [y],
    "log_loss": lambda loss, y: [],
    "squared_hinge": lambda loss, y: [y],
    "smoothed_hinge": lambda loss, y: [y, y * (1.0 - loss.width)],
    "huber": lambda loss, y: [y - loss.delta, y + loss.delta],
}
"""The scores at which a loss or its derivative has a kink."""


def kinks(loss, y):
    return KINKS[loss.name](loss, y)


def scores_off_kinks(loss, y, count=400):
    """Return scores none of which is within 1e-4 of a kink."""
    t = np.random.default_rng(0).normal(scale=4.0, size=count)
    for kink in kinks(loss, y):
        t = t[np.abs(t - kink) > 1e-4]
    return t


@each_case
def test_value_is_its_formula(loss, y):
    width, delta = getattr(loss, "width", np.nan), getattr(loss, "delta", np.nan)

    def smoothed_hinge(z):
        return np.select([z < 0.0, z < width], [0.0, z**2 / (2.0 * width)], z - width / 2.0)

    def huber(d):
        return np.where(d <= delta, d**2 / 2.0, delta * (d - delta / 2.0))

    formulas = {
        "squared_error": lambda t: (y - t) ** 2,
        "hinge": lambda t: np.maximum(0.0, 1.0 - y * t),
        "log_loss": lambda t: np.log(1.0 + np.exp(-y * t)),
        "squared_hinge": lambda t: np.maximum(0.0, 1.0 - y * t) ** 2,
        "smoothed_hinge": lambda t: smoothed_hinge(1.0 - y * t),
        "huber": lambda t: huber(np.abs(t - y)),
    }
    t = np.linspace(-30.0, 30.0, 601)
    np.testing.assert_allclose(loss.value(y, t), formulas[loss.name](t), rtol=1e-13, atol=1e-15)


@each_case
def test_conjugate_equals_the_supremum_by_brute_force(loss, y):
    for a in duals(loss, y):
        # The grid misses the supremum by at most (curvature / 2) step^2 < 1e-7, or by e^-60 at infinity; at a y = 1e-6
        # the maximiser of the logistic loss is at 13.8, well inside.
        assert loss.conjugate(y, a) == pytest.approx(brute_conjugate(loss, y, a), abs=2e-7)


OUTSIDE = [
    *((loss, b) for loss in (Hinge(), Logistic(), SmoothedHinge()) for b in (-1.0, -1e-3, 1.001, 5.0)),
    *((SquaredHinge(), b) for b in (-1.0, -1e-3)),
    *((loss, b * loss.delta) for loss in (Huber(), Huber(0.25)) for b in (-5.0, -1.001, 1.001, 3.0)),
]


@pytest.mark.parametrize(("loss", "b"), OUTSIDE, ids=str)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_conjugate_and_residual_are_infinite_outside_the_domain(loss, y, b):
    assert loss.conjugate(y, b * y) == np.inf
    if loss.name != "log_loss":
        assert loss.conjugate_upper(np.array(y), np.array(b * y)) == np.inf
        assert loss.residual_upper(np.array(y), np.array(0.3), np.array(b * y)) == np.inf
    reach = np.array([-1e7, 1e7])
    assert brute_conjugate(loss, y, b * y, reach) > 1e3


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
        assert (bound <= brute + 2e-7).all()


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


@pytest.mark.parametrize("loss", [Squared(), Huber()], ids=str)
def test_link_of_regression_is_the_identity(loss):
    t = np.array([-3.0, 0.0, 2.5])
    np.testing.assert_array_equal(loss.link(t), t)
    low, high = loss.link_range(t, t + 1.0)
    np.testing.assert_array_equal(low, t)
    np.testing.assert_array_equal(high, t + 1.0)


each_hinge = pytest.mark.parametrize("hinge", [Hinge(), SquaredHinge(), SmoothedHinge()], ids=str)


@each_hinge
def test_link_of_the_hinges_is_the_sign_and_zero_is_unknown(hinge):
    np.testing.assert_array_equal(hinge.link(np.array([-3.0, 0.0, 2.5])), [-1.0, 0.0, 1.0])


@each_hinge
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
def test_link_range_of_the_hinges_is_a_sign_only_when_the_sign_is_certain(hinge, scores, labels):
    low, high = hinge.link_range(np.array([scores[0]]), np.array([scores[1]]))
    assert (low[0], high[0]) == labels
