"""Penalties: every formula against brute force."""

import numpy as np
import pytest

from ipub.losses.penalties import ElasticNet, soft_threshold

PENALTIES = [ElasticNet(0.7), ElasticNet(2.0, 0.5), ElasticNet(0.05, 3.0), ElasticNet(1.0, 1e-3)]
each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: f"lam={p.lam},kappa={p.kappa}")

WEIGHTS = np.array([-3.0, -0.4, -1e-7, 0.0, 1e-7, 0.25, 1.0, 5.0])
DUALS = np.array([-6.0, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.3, 0.5, 2.0, 4.0])


def value(penalty, w):
    """Return rho of each coordinate."""
    return 0.5 * penalty.lam * w**2 + penalty.kappa * np.abs(w)


@pytest.mark.parametrize(("q", "expected"), [(-2.0, -1.5), (-0.5, 0.0), (0.0, 0.0), (0.4, 0.0), (3.0, 2.5)])
def test_soft_threshold_moves_towards_zero_and_stops_there(q, expected):
    assert soft_threshold(np.array(q), 0.5) == expected


@each_penalty
def test_value_is_the_sum_over_coordinates(penalty):
    assert penalty.value(WEIGHTS) == pytest.approx(value(penalty, WEIGHTS).sum(), rel=1e-14)


@each_penalty
def test_conjugate_equals_the_supremum_by_brute_force(penalty):
    # The maximiser is at (|q| - kappa) / lam <= 60 in absolute value, and the step is 1e-3.
    grid = np.linspace(-100.0, 100.0, 200_001)
    for q in DUALS:
        brute = np.max(q * grid - value(penalty, grid))
        assert penalty.conjugate(np.array([q])) == pytest.approx(brute, abs=penalty.lam * 1e-6)


@each_penalty
def test_subdifferential_is_the_pair_of_one_sided_derivatives(penalty):
    w, h = np.array([-3.0, -0.4, 0.0, 0.25, 5.0]), 1e-7
    low, high = penalty.subdifferential(w)
    np.testing.assert_allclose(low, (value(penalty, w) - value(penalty, w - h)) / h, atol=1e-6)
    np.testing.assert_allclose(high, (value(penalty, w + h) - value(penalty, w)) / h, atol=1e-6)
    assert (high - low)[2] == 2.0 * penalty.kappa
    np.testing.assert_array_equal(np.delete(high - low, 2), 0.0)


@each_penalty
def test_residual_is_value_plus_conjugate_minus_product_and_never_negative(penalty):
    w, q = (side.ravel() for side in np.meshgrid(WEIGHTS, DUALS))
    residual = penalty.residual(w, q)
    direct = value(penalty, w) + penalty.conjugate(q) - w * q
    # The three terms are below 1000, so the direct sum is good to 1e-12.
    np.testing.assert_allclose(residual, direct, rtol=1e-10, atol=1e-12)
    assert (residual >= 0.0).all()


@each_penalty
def test_upper_bounds_are_above_and_close(penalty):
    exact = value(penalty, WEIGHTS)
    assert (penalty.value_upper(WEIGHTS) >= exact).all()
    np.testing.assert_allclose(penalty.value_upper(WEIGHTS), exact, rtol=1e-14, atol=1e-300)
    exact = penalty.conjugate(DUALS)
    assert (penalty.conjugate_upper(DUALS) >= exact).all()
    np.testing.assert_allclose(penalty.conjugate_upper(DUALS), exact, rtol=1e-13, atol=1e-30)


@each_penalty
@pytest.mark.parametrize("half_width", [0.0, 0.1, 2.0, 20.0])
def test_subgradient_range_encloses_gradient_plus_subgradient(penalty, half_width):
    for middle in DUALS:
        lower, upper = middle - half_width, middle + half_width
        low, high = penalty.subgradient_range(WEIGHTS, np.full(8, lower), np.full(8, upper))
        for gradient in np.clip(np.linspace(lower, upper, 41), lower, upper):
            fixed = gradient + penalty.lam * WEIGHTS + penalty.kappa * np.sign(WEIGHTS)
            # At zero the subgradient is free in [-kappa, kappa]: the smallest sum is the soft-thresholded one.
            sums = np.where(WEIGHTS == 0.0, soft_threshold(gradient, penalty.kappa), fixed)
            assert (low <= sums).all()
            assert (sums <= high).all()


@each_penalty
def test_subgradient_range_at_zero_weight_is_the_smallest_choice_of_subgradient(penalty):
    zero = np.zeros(1)
    for gradient in DUALS:
        low, high = penalty.subgradient_range(zero, np.array([gradient]), np.array([gradient]))
        sums = gradient + np.linspace(-penalty.kappa, penalty.kappa, 20_001)
        smallest = sums[np.abs(sums).argmin()]
        # The grid of subgradients is kappa * 1e-4 apart.
        np.testing.assert_allclose([low[0], high[0]], smallest, atol=1.1e-4 * penalty.kappa + 1e-15)


def test_subgradient_range_never_hides_a_nan():
    nan = np.array([np.nan])
    for penalty in PENALTIES:
        for w in (0.0, 1.0):
            low, high = penalty.subgradient_range(np.array([w]), nan, nan)
            assert np.isnan([low[0], high[0]]).all()


@each_penalty
def test_free_coordinates_cost_nothing_and_the_others_what_they_did(penalty):
    free = ElasticNet(penalty.lam, penalty.kappa, n_free=2)
    w, q = np.array([-3.0, 0.0, 0.5, 7.0, -2.0]), np.array([0.1, 2.0, -3.0, 0.0, 4.0])
    np.testing.assert_array_equal(free.lam_vector(5), [penalty.lam] * 3 + [0.0] * 2)
    np.testing.assert_array_equal(free.kappa_vector(5), [penalty.kappa] * 3 + [0.0] * 2)
    assert free.value(w) == penalty.value(w[:3])
    for name in ("conjugate", "conjugate_upper"):
        np.testing.assert_array_equal(getattr(free, name)(q), [*getattr(penalty, name)(q[:3]), 0.0, np.inf])
    np.testing.assert_array_equal(free.residual(w, q), [*penalty.residual(w[:3], q[:3]), 0.0, np.inf])
    np.testing.assert_allclose(free.value_upper(w)[3:], 0.0, atol=1e-300)
    for free_end, end in zip(free.subdifferential(w), penalty.subdifferential(w[:3]), strict=True):
        np.testing.assert_array_equal(free_end, [*end, 0.0, 0.0])
    low, high = free.subgradient_range(w, q - 1.0, q + 1.0)
    for free_end, end in zip((low, high), penalty.subgradient_range(w[:3], q[:3] - 1.0, q[:3] + 1.0), strict=True):
        np.testing.assert_array_equal(free_end[:3], end)
    assert (low[3:] < q[3:] - 1.0).all()
    assert (high[3:] > q[3:] + 1.0).all()
    np.testing.assert_allclose(high[3:] - low[3:], 2.0, rtol=1e-14)
