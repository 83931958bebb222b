"""Losses: every formula against brute force."""

import numpy as np
import pytest
from scipy.special import expit

from ipub.losses import LOSSES, Hinge, Logistic, SmoothedHinge, Squared

GRID = np.linspace(-60.0, 60.0, 480_001)
"""Scores for suprema by brute force; the step is 2.5e-4."""

LABELS = {"squared_error": (-2.5, 0.0, 0.75, 3.0), "hinge": (-1.0, 1.0), "log_loss": (-1.0, 1.0)}
INSIDE = {
    "squared_error": (-7.0, -1.0, 0.0, 0.3, 2.0, 10.0),
    "hinge": (0.0, 1e-6, 0.25, 0.5, 0.9, 1.0),
    "log_loss": (0.0, 1e-6, 0.25, 0.5, 0.9, 1.0),
}
"""Values of a (regression) or of a y (classification) in the domain of the conjugate."""

CASES = [(loss, y) for loss in LOSSES.values() for y in LABELS[loss.name]]
each_case = pytest.mark.parametrize(("loss", "y"), CASES, ids=lambda v: getattr(v, "name", str(v)))


def duals(loss, y):
    """Return dual coordinates in the domain of the conjugate."""
    inside = np.array(INSIDE[loss.name])
    return inside if loss.task == "regression" else inside * y


def brute_conjugate(loss, y, a, scores=GRID):
    """Return sup over the grid of -a t - l(y, t): never above the true conjugate."""
    return float(np.max(-a * scores - loss.value(y, scores)))


def scores_off_kinks(count=400):
    """Return scores none of which is within 1e-4 of -1 or 1."""
    t = np.random.default_rng(0).normal(scale=4.0, size=count)
    return t[(np.abs(t - 1.0) > 1e-4) & (np.abs(t + 1.0) > 1e-4)]


@each_case
def test_value_is_the_formula_of_the_paper(loss, y):
    formulas = {
        "squared_error": lambda t: (y - t) ** 2,
        "hinge": lambda t: np.maximum(0.0, 1.0 - y * t),
        "log_loss": lambda t: np.log(1.0 + np.exp(-y * t)),
    }
    t = np.linspace(-30.0, 30.0, 601)
    np.testing.assert_allclose(loss.value(y, t), formulas[loss.name](t), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("t", [-1e6, -800.0, 800.0, 1e6])
def test_logistic_neither_overflows_nor_vanishes_at_large_scores(t):
    loss = Logistic()
    assert loss.value(1.0, t) == max(0.0, -t)
    assert loss.derivative(1.0, t) == (0.0 if t > 0 else -1.0)
    assert loss.curvature(1.0, t) == 0.0


@each_case
def test_conjugate_equals_the_supremum_by_brute_force(loss, y):
    for a in duals(loss, y):
        # The grid misses the supremum by at most (curvature / 2) step^2 < 1e-7, or by e^-60 at infinity; at a y = 1e-6
        # the maximiser of the logistic loss is at 13.8, well inside.
        assert loss.conjugate(y, a) == pytest.approx(brute_conjugate(loss, y, a), abs=2e-7)


@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=lambda v: v.name)
@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("b", [-1.0, -1e-3, 1.001, 5.0])
def test_conjugate_is_infinite_outside_its_domain(loss, y, b):
    assert loss.conjugate(y, b * y) == np.inf
    reach = np.array([-1e7, 1e7])
    assert brute_conjugate(loss, y, b * y, reach) > 1e3


@each_case
def test_derivative_equals_a_central_difference(loss, y):
    t, h = scores_off_kinks(), 1e-5
    difference = (loss.value(y, t + h) - loss.value(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.derivative(y, t), difference, rtol=1e-8, atol=1e-8)


@each_case
def test_curvature_equals_a_central_difference_of_the_derivative(loss, y):
    t, h = scores_off_kinks(), 1e-5
    difference = (loss.derivative(y, t + h) - loss.derivative(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.curvature(y, t), difference, rtol=1e-7, atol=1e-9)


@each_case
def test_curvature_has_the_shape_of_labels_and_scores_together(loss, y):
    assert loss.curvature(np.full((3, 1), y), np.zeros(4)).shape == (3, 4)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_at_the_kink_is_a_subgradient_and_the_range_holds_them_all(y):
    loss, kink = Hinge(), np.array(y)
    low, high = loss.derivative_range(np.array(y), kink, kink)
    one_sided = sorted([-y, 0.0])
    assert low <= one_sided[0]
    assert high >= one_sided[1]
    assert one_sided[0] <= loss.derivative(y, kink) <= one_sided[1]


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


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("b", [-0.5, 1.5])
def test_residual_of_the_hinge_is_infinite_for_an_infeasible_dual_coordinate(y, b):
    assert Hinge().residual_upper(np.array(y), np.array(0.3), np.array(b * y)) == np.inf


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
    starts = np.concatenate([np.linspace(-12.0, 12.0, 49), [y - width, y, y - width / 2.0]])
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


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda v: v.name)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_range_of_an_unknown_score_claims_nothing(loss, y):
    low, high = loss.derivative_range(np.array([y]), np.array([np.nan]), np.array([np.nan]))
    possible = loss.derivative(y, np.array([-1e3, 1e3]))
    assert not low[0] > possible[0]
    assert not high[0] < possible[1]


def test_link_of_the_squared_loss_is_the_identity():
    t = np.array([-3.0, 0.0, 2.5])
    np.testing.assert_array_equal(Squared().link(t), t)
    low, high = Squared().link_range(t, t + 1.0)
    np.testing.assert_array_equal(low, t)
    np.testing.assert_array_equal(high, t + 1.0)


def test_link_of_the_hinge_is_the_sign_and_zero_is_unknown():
    np.testing.assert_array_equal(Hinge().link(np.array([-3.0, 0.0, 2.5])), [-1.0, 0.0, 1.0])


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
def test_link_range_of_the_hinge_is_a_sign_only_when_the_sign_is_certain(scores, labels):
    low, high = Hinge().link_range(np.array([scores[0]]), np.array([scores[1]]))
    assert (low[0], high[0]) == labels


def test_link_of_the_logistic_loss_is_the_sigmoid_and_its_range_encloses_it():
    t = np.concatenate([np.linspace(-50.0, 50.0, 1001), [-1e4, -745.0, 745.0, 1e4]])
    loss = Logistic()
    np.testing.assert_array_equal(loss.link(t), expit(t))
    low, high = loss.link_range(t, t)
    assert (low <= expit(t)).all()
    assert (expit(t) <= high).all()
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    np.testing.assert_allclose(high - low, 0.0, atol=1e-14)


def test_link_range_of_the_logistic_loss_without_knowledge_is_zero_to_one():
    low, high = Logistic().link_range(np.array([-np.inf]), np.array([np.inf]))
    assert (low[0], high[0]) == (0.0, 1.0)


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-3, 1e-9])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_smoothed_hinge_gives_a_dual_point_of_the_hinge_with_a_residual_of_a_quarter_width(width, y):
    hinge = Hinge()
    smooth = hinge.smoothed(width)
    margins = np.concatenate([np.linspace(-3.0, 3.0, 601), 1.0 - width * np.linspace(-0.5, 1.5, 201)])
    t = y * margins
    a = -smooth.derivative(y, t)
    assert np.isfinite(hinge.conjugate(y, a)).all()
    assert hinge.residual_upper(y, t, a).max() <= width / 4.0 * (1.0 + 1e-9) + 1e-15


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_smoothed_hinge_has_the_derivative_and_curvature_of_its_value(y):
    loss, h = SmoothedHinge(0.5), 1e-6
    t = y * np.array([-4.0, 0.2, 0.499, 0.501, 0.6, 0.75, 0.999, 1.001, 3.0])
    slope = (loss.value(y, t + h) - loss.value(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.derivative(y, t), slope, atol=1e-8)
    bend = (loss.derivative(y, t + h) - loss.derivative(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.curvature(y, t), bend, atol=1e-8)


@pytest.mark.parametrize("width", [1.0, 0.01])
def test_smoothed_hinge_is_below_the_hinge_by_half_a_width_at_most(width):
    t = np.linspace(-3.0, 3.0, 6001)
    difference = Hinge().value(1.0, t) - SmoothedHinge(width).value(1.0, t)
    assert difference.min() >= -1e-15
    assert difference.max() <= width / 2.0 + 1e-15


def test_only_the_hinge_needs_smoothing():
    assert {name: loss.is_smooth for name, loss in LOSSES.items()} == {
        "squared_error": True,
        "hinge": False,
        "log_loss": True,
    }
    assert LOSSES["log_loss"].smoothed(0.1) is LOSSES["log_loss"]


def test_only_the_logistic_loss_has_probabilities():
    assert [loss.name for loss in LOSSES.values() if loss.has_probability] == ["log_loss"]
