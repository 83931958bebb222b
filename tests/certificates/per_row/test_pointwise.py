import numpy as np
import pytest

from ipub import BoundedClassifier, IntervalMatrix


@pytest.mark.parametrize("certificate", ["sphere", "ball", "tight", "pointwise"])
def test_a_cell_whose_interval_is_a_point_is_certain(certificate):
    rng = np.random.default_rng(5)
    X = rng.random((60, 4))
    y = np.where(X @ [1.0, -1.0, 2.0, 0.5] + 0.3 * rng.normal(size=60) > 1.2, 1, 0)
    table, filled = X.copy(), X.copy()
    table[rng.random(X.shape) < 0.2] = np.nan
    ranges = np.array([[0.2, 0.6], [0.5, 0.5], [0.0, 1.0], [0.3, 0.4]])
    filled[:] = np.where(np.isnan(table) & (np.arange(4) != 1), np.nan, np.where(np.isnan(table), 0.5, X))
    bounds = [
        BoundedClassifier(alpha=0.1, certificate=certificate)
        .fit(IntervalMatrix.from_table(each, ranges), y)
        .decision_bounds(X[:5])
        for each in (table, filled)
    ]
    np.testing.assert_array_equal(*bounds)


@pytest.mark.parametrize("effort", [0.0, 0.05])
def test_rows_with_holes_are_bounded_as_narrowly_as_by_tight(effort):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    y = np.where(X @ [1.0, -1.0, 0.1, 0.0] + 0.5 * rng.normal(size=60) > 0.0, 1, 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = rng.normal(size=(6, 4))
    rows[:5, 2:][rng.random((5, 2)) < 0.8] = np.nan
    tight, pointwise = (
        BoundedClassifier(alpha=0.1, certificate=name, effort=effort).fit(X, y).decision_bounds(rows)
        for name in ("tight", "pointwise")
    )
    assert (pointwise[:, 0] >= tight[:, 0]).all()
    assert (pointwise[:, 1] <= tight[:, 1]).all()
