"""Scaled intervals: they contain whatever becomes of the values inside, in exact arithmetic and in floats."""

from fractions import Fraction

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.tables.scaling import Scaling

EXACT = {
    "add": lambda x, k: x + k,
    "subtract": lambda x, k: x - k,
    "multiply": lambda x, k: x * k,
    "divide": lambda x, k: x / k,
    "maximum": max,
    "minimum": min,
}


def random_scaling(rng, d):
    names = rng.choice(list(EXACT), size=rng.integers(1, 5))
    sizes = 10.0 ** rng.integers(-6, 7, size=(len(names), d))
    numbers = rng.normal(size=(len(names), d)) * sizes
    positive = np.isin(names, ["multiply", "divide"])[:, None]
    return Scaling(tuple(zip(names.tolist(), np.where(positive, np.abs(numbers), numbers), strict=True)))


@pytest.mark.parametrize("seed", range(30))
def test_scaled_intervals_contain_every_scaled_value(seed):
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=(6, 4)) * 10.0 ** rng.integers(-9, 9, size=(6, 4))
    upper = lower + rng.random((6, 4)) * np.abs(lower) * 10.0 ** rng.integers(-15, 3, size=(6, 4))
    upper = np.where(rng.random((6, 4)) < 0.2, lower, upper)
    scaling = random_scaling(rng, 4)
    scaled = scaling.intervals(IntervalMatrix.from_bounds(lower, upper))
    in_row, columns, centers, radii = scaled.cells(slice(0, 6))
    for i, j, center, radius in zip(in_row, columns, centers, radii, strict=True):
        for share in (0.0, 0.3, 1.0):
            value = min(lower[i, j] + share * (upper[i, j] - lower[i, j]), upper[i, j])
            row = np.zeros((1, 4))
            row[0, j] = value
            exact = Fraction(value)
            for name, operand in scaling.operations:
                exact = EXACT[name](exact, Fraction(operand[j]))
            for inside in (exact, Fraction(scaling.rows(row)[0, j])):
                assert abs(inside - Fraction(center)) <= Fraction(radius)
    certain = lower == upper
    np.testing.assert_array_equal(scaled.table[certain], scaling.rows(lower)[certain])


def test_intervals_are_hardly_widened():
    scaling = Scaling((("subtract", np.array([3.0])), ("divide", np.array([0.1]))))
    scaled = scaling.intervals(IntervalMatrix.from_bounds([[1.0]], [[2.0]]))
    np.testing.assert_allclose([scaled.centers[0], scaled.radii[0]], [-15.0, 5.0], rtol=1e-14)


def test_a_hole_of_zero_length_stays_a_point():
    table = np.array([[1.0], [np.nan]])
    scaled = Scaling((("divide", np.array([0.3])),)).intervals(IntervalMatrix.from_table(table, np.array([[2.0, 2.0]])))
    assert scaled.radii.tolist() == [0.0]
    assert scaled.centers.tolist() == [2.0 / 0.3]


@pytest.mark.parametrize(("name", "number"), [("divide", 0.0), ("multiply", -1.0), ("add", np.nan), ("divide", np.inf)])
def test_a_column_without_a_scale_is_refused(name, number):
    with pytest.raises(ValueError, match="Column 1 has no scale"):
        Scaling(((name, np.array([1.0, number])),))


def test_values_that_scaling_makes_too_large_are_refused():
    scaling = Scaling((("divide", np.array([1e-140])),))
    with pytest.raises(ValueError, match="beyond"):
        scaling.intervals(IntervalMatrix.from_bounds([[1e20]], [[1e20]]))
