"""Supports in generic directions: bounds of all combinations hold exactly, and those that are found are nearly best."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ipub.certificates import Certificate
from ipub.model_sets import dual_simplex
from ipub.model_sets.dual_simplex import Combinations
from ipub.model_sets.supports import SupportBounds, coarse
from ipub.numeric.rounding import dot_bounds


def set_of(points, directions):
    """Return the set of some models in directions, with the ends of their scores."""

    def score_bounds(X):
        low, high = dot_bounds(X, points.T)
        return np.column_stack([low.min(axis=1), high.max(axis=1)])

    return SupportBounds.of(score_bounds, directions)


def draw(rng, d, n_directions=30, n_points=6):
    scale = 10.0 ** rng.integers(-3, 4, d)
    points = (rng.normal(size=d) + rng.normal(size=(n_points, d)) * 10.0 ** rng.integers(-6, 1)) / scale
    return points, rng.normal(size=(n_directions, d)) * scale, rng.normal(size=(8, d)) * scale


def exact(vector):
    return [Fraction(float(value)) for value in vector]


def product(a, b):
    return sum(x * y for x, y in zip(exact(a), exact(b), strict=True))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_ends_hold_the_exact_scores_of_all_models(d, seed):
    points, directions, X = draw(np.random.default_rng(seed), d)
    low, high = set_of(points, directions).ends(X)
    for x, lowest, highest in zip(X, low, high, strict=True):
        scores = [product(x, point) for point in points]
        assert Fraction(lowest) <= min(scores)
        assert max(scores) <= Fraction(highest)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("seed", range(8))
def test_every_combination_is_bounded_from_above_exactly(d, seed):
    """Whatever a search returns: what it takes, and all that is left of the row, are counted without rounding down."""
    rng = np.random.default_rng(seed)
    points, directions, X = draw(rng, d)
    found = set_of(points, directions)
    which = rng.integers(0, len(found.directions), (len(X), d))
    sign, factors = rng.choice([-1.0, 1.0], (len(X), d)), rng.exponential(size=(len(X), d))
    factors[rng.random(factors.shape) < 0.2] = -1.0  # taken as 0
    # Rows that are the combination, but for its roundings.
    X[::2] = ((np.maximum(factors, 0.0) * sign)[:, :, None] * found.directions[which]).sum(axis=1)[::2]
    bounds = found.upper_bounds(X, Combinations(which, sign, factors))
    sizes = [max(abs(Fraction(a)), abs(Fraction(b))) for a, b in zip(found.lower[:d], found.upper[:d], strict=True)]
    for x, k, s, c, bound in zip(X, which, sign, factors, bounds, strict=True):
        taken = [Fraction(max(float(each), 0.0)) for each in c]
        ends = [Fraction(found.upper[i]) if up > 0.0 else -Fraction(found.lower[i]) for i, up in zip(k, s, strict=True)]
        left = exact(x)
        for factor, i, up in zip(taken, k, s, strict=True):
            left = [a - factor * int(up) * b for a, b in zip(left, exact(found.directions[i]), strict=True)]
        total = sum(a * b for a, b in zip(taken, ends, strict=True))
        assert Fraction(bound) >= total + sum(abs(a) * b for a, b in zip(left, sizes, strict=True))


@pytest.mark.parametrize("d", [1, 2, 6, 12])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_is_nearly_the_best_combination(d, seed):
    points, directions, X = draw(np.random.default_rng(seed), d, 10 * d, 40)
    found = set_of(points, directions)
    low, high = found.ends(X)
    ends = np.concatenate([found.upper, -found.lower])
    both = np.vstack([found.directions, -found.directions])
    size = np.tile(found.upper - found.lower, 2)
    for x, lowest, highest in zip(X, low, high, strict=True):
        scale, unit = np.abs(x) @ np.abs(points).max(axis=0), np.abs(x).max()
        best = [linprog(ends / size, A_eq=both.T / size, b_eq=side * x / unit).fun * unit for side in (1.0, -1.0)]
        assert highest - lowest <= 1.01 * sum(best) + 1e-6 * scale


def test_a_direction_itself_is_bounded_by_its_ends():
    points, directions, _ = draw(np.random.default_rng(0), 5)
    found = set_of(points, directions)
    low, high = found.ends(found.directions)
    slack = 1e-3 * (found.upper - found.lower)
    assert (high <= found.upper + slack).all()
    assert (low >= found.lower - slack).all()


@pytest.mark.parametrize("pivots", [0, 1, 3])
def test_a_search_that_ends_early_gives_wider_bounds_that_hold(pivots, monkeypatch):
    points, directions, X = draw(np.random.default_rng(1), 6, 60)
    found = set_of(points, directions)
    low, high = found.ends(X)
    monkeypatch.setattr(dual_simplex, "PIVOTS", pivots)
    monkeypatch.setattr(dual_simplex, "PIVOTS_PER_COLUMN", 0)
    early_low, early_high = found.ends(X)
    assert (early_low <= (X @ points.T).min(axis=1)).all()
    assert (early_high >= (X @ points.T).max(axis=1)).all()
    assert (early_high - early_low).sum() > 1.01 * (high - low).sum()


def test_zero_and_repeated_directions_and_rows_do_no_harm():
    points, directions, X = draw(np.random.default_rng(2), 4)
    plain = set_of(points, directions)
    odd = set_of(points, np.vstack([np.zeros((2, 4)), directions, directions, -directions, 1e-300 * directions]))
    assert len(odd.directions) == 4 + 4 * len(directions)
    X[0], X[1] = 0.0, directions[3]
    for found in (plain, odd):
        low, high = found.ends(X)
        assert (low <= (X @ points.T).min(axis=1)).all()
        assert (high >= (X @ points.T).max(axis=1)).all()
    widths = [np.ptp(found.ends(X), axis=0) for found in (plain, odd)]
    np.testing.assert_allclose(*widths, rtol=1e-2, atol=1e-9)
    assert widths[0][0] < 1e-100
    low, high = plain.ends(np.empty((0, 4)))
    assert len(low) == len(high) == 0


def test_a_single_model_is_bounded_up_to_rounding():
    points, directions, X = draw(np.random.default_rng(3), 5, n_points=1)
    low, high = set_of(points, directions).ends(X)
    assert (high - low <= 1e-13 * np.abs(X) @ np.abs(points[0])).all()


def test_directions_without_ends_are_left_out_and_a_weight_without_ends_is_no_set():
    points, directions, X = draw(np.random.default_rng(4), 3)

    def without(row):
        def score_bounds(Y):
            bounds = np.column_stack([(Y @ points.T).min(axis=1) - 1e-9, (Y @ points.T).max(axis=1) + 1e-9])
            bounds[row, 1] = np.inf
            return bounds

        return SupportBounds.of(score_bounds, directions)

    assert without(1) is None
    found = without(7)
    assert len(found.directions) == 2 + len(directions)
    assert np.isfinite(found.ends(X)).all()


def test_rows_that_overflow_have_no_bounds_and_raise_nothing():
    points, directions, X = draw(np.random.default_rng(5), 3)
    X[0], X[1, 0], X[2, 1], X[3] = 1e308, np.inf, np.nan, 1e-320
    certificate = Certificate("tight", (set_of(points, directions),), 0.0)
    with np.errstate(all="raise"):
        bounds = certificate.score_bounds(X)
    assert not np.isfinite(bounds[1:3]).any()
    assert np.isfinite(bounds[4:]).all()
    assert not np.isnan(bounds).any()
    assert (bounds[3] == bounds[3]).all()


def test_coarse_directions_have_ten_binary_digits():
    values = np.random.default_rng(0).normal(size=(50, 3)) * 10.0 ** np.array([-5.0, 0.0, 7.0])
    rounded = coarse(values)
    mantissa, _ = np.frexp(rounded)
    assert (mantissa * 1024.0 == np.round(mantissa * 1024.0)).all()
    np.testing.assert_allclose(rounded, values, rtol=1e-3)
    assert (coarse(np.eye(3)) == np.eye(3)).all()


@pytest.mark.parametrize("d", [2, 5])
def test_the_ends_of_a_row_do_not_depend_on_the_rows_asked_with_it(d, monkeypatch):
    """Also where the directions that are found for one of them have no solution."""
    points, directions, X = draw(np.random.default_rng(0), d)
    found = set_of(points, directions)
    alone = np.array([found.ends(x[None]) for x in X])[:, :, 0]
    solve, step = np.linalg.solve, dual_simplex._State.step

    def step_with_one_singular(self):
        goes_on = step(self)
        if len(self.index) > 2:
            self.index[0] = 0
        return goes_on

    monkeypatch.setattr(dual_simplex._State, "step", step_with_one_singular)
    with pytest.raises(np.linalg.LinAlgError):
        solve(found.directions[np.zeros(d, dtype=int)], np.zeros(d))
    both = np.array(found.ends(X)).T
    np.testing.assert_allclose(both[1:], alone[1:], rtol=1e-12)
    assert (both[0, 1] >= alone[0, 1]).all()
