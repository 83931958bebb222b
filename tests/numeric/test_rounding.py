"""Outward rounding: the plain properties (its proofs in exact arithmetic are in soundness/)."""

import math
from fractions import Fraction

import numpy as np
import pytest

from ipub.numeric.rounding import EPS, LARGEST, UNDERFLOW, dot_bounds, down, norm_upper, sum_error, sum_upper, up
from support.planted import plant_rounding_without_loops

VALUES = np.array([0.0, -0.0, 1.0, -1.0, 1e-320, -1e-320, 1e150, -1e150, math.pi, 2.0**-1022])


@pytest.fixture(autouse=True, params=["loops", "numpy"])
def _with_loops_and_without(request, monkeypatch):
    if request.param == "numpy":
        plant_rounding_without_loops(monkeypatch, globals())


def test_up_and_down_reach_the_neighbouring_floats_and_at_most_the_next_but_one():
    assert (up(VALUES) >= np.nextafter(VALUES, np.inf)).all()
    assert (up(VALUES) <= np.nextafter(np.nextafter(VALUES, np.inf), np.inf)).all()
    np.testing.assert_array_equal(down(VALUES), -up(-VALUES))


def test_up_and_down_hold_every_correctly_rounded_operation():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 500)) * 10.0 ** rng.uniform(-150, 150, size=(2, 500))
    a, b = np.append(a, [5e-324, 1e-200, 1.0]), np.append(b, [5e-324, 1e-200, 3.0])
    exact = {
        "sum": (a + b, [Fraction(x) + Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]),
        "product": (a * b, [Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]),
        "quotient": (a / b, [Fraction(x) / Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]),
    }
    for rounded, values in exact.values():
        for low, value, high in zip(down(rounded).tolist(), values, up(rounded).tolist(), strict=True):
            assert Fraction(low) <= value <= Fraction(high)


def test_up_and_down_take_a_number_as_well_as_an_array():
    assert 1.0 < up(1.0) <= 1.0 + 2.0 * EPS
    assert 1.0 > down(1.0) >= 1.0 - 2.0 * EPS


def test_up_and_down_keep_infinity_on_the_outer_side_and_never_hide_a_nan():
    assert up(np.inf) == np.inf
    assert down(-np.inf) == -np.inf
    assert np.isnan(up(np.nan))
    assert np.isnan(down(np.nan))


def test_constants_are_what_the_proofs_assume():
    assert np.finfo(float).eps == EPS
    assert np.isfinite(LARGEST**2)
    assert 0.0 < UNDERFLOW < 1e-150


@pytest.mark.parametrize("roundings", [1, 7, 1000])
def test_sum_error_grows_with_the_magnitude_and_the_number_of_roundings(roundings):
    magnitude = np.array([0.0, 1e-300, 1.0, 1e100])
    error = sum_error(magnitude, roundings)
    assert (error >= UNDERFLOW).all()
    assert (np.diff(error) >= 0.0).all()
    assert (error >= roundings * EPS * magnitude).all()
    assert (error <= 2.0 * UNDERFLOW + roundings * EPS * (1.0 + 4.0 * EPS) * magnitude).all()
    assert (sum_error(magnitude, roundings + 1) >= error).all()


def test_sum_upper_bounds_a_sum_from_above_and_closely():
    rng = np.random.default_rng(0)
    terms = rng.random(500) * 10.0 ** rng.uniform(-8, 8, 500)
    exact = sum(map(Fraction, terms.tolist()))
    bound = sum_upper(float(terms.sum()), len(terms))
    assert Fraction(float(bound)) >= exact
    assert bound <= float(exact) * (1.0 + 2 * (len(terms) + 2) * EPS)
    total = np.array([0.0, 1.0, 1e100])
    assert (sum_upper(total, 7) > total + sum_error(total, 7)).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e140])
def test_norm_upper_bounds_the_norm_of_each_row_from_above(scale):
    rows = np.random.default_rng(1).normal(size=(6, 5)) * scale
    bounds = norm_upper(rows)
    assert bounds.shape == (6,)
    for row, bound in zip(rows.tolist(), bounds.tolist(), strict=True):
        assert Fraction(bound) ** 2 >= sum(Fraction(v) ** 2 for v in row)
        assert bound <= math.hypot(*row) * (1.0 + 20 * EPS) + 2e-80


def test_norm_upper_of_zero_is_zero_but_for_underflow():
    assert 0.0 <= norm_upper(np.zeros((1, 3)))[0] < 1e-79


def test_dot_bounds_enclose_every_entry_even_under_cancellation():
    rng = np.random.default_rng(2)
    rows, vectors = rng.normal(size=(4, 6)), rng.normal(size=(6, 3))
    rows[0] = [1e16, 1.0, -1e16, 3.0, 1e8, -1e8]
    vectors[:, 0] = 1.0
    low, high = dot_bounds(rows, vectors)
    for i in range(4):
        for j in range(3):
            exact = sum(
                Fraction(a) * Fraction(b) for a, b in zip(rows[i].tolist(), vectors[:, j].tolist(), strict=True)
            )
            assert Fraction(float(low[i, j])) <= exact <= Fraction(float(high[i, j]))
            size = float(np.abs(rows[i]) @ np.abs(vectors[:, j]))
            assert high[i, j] - low[i, j] <= 2 * 10 * EPS * size


def test_dot_bounds_take_one_vector_as_well_as_several():
    rng = np.random.default_rng(3)
    rows, vector = rng.normal(size=(4, 6)), rng.normal(size=6)
    low, high = dot_bounds(rows, vector)
    assert low.shape == high.shape == (4,)
    assert (low < rows @ vector).all()
    assert (rows @ vector < high).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_overflow_never_becomes_a_finite_bound():
    low, high = dot_bounds(np.full((1, 2), 1e200), np.full(2, 1e200))
    assert not np.isfinite(low).any()
    assert not np.isfinite(high).any()
    assert not np.isfinite(norm_upper(np.full((1, 2), 1e200))).any()
