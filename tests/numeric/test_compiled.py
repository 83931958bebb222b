"""Loops in C have the bits of NumPy, or errors within the analysis; without them NumPy does the same."""

import importlib
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from ipub import BoundedClassifier
from ipub.numeric import rounding
from ipub.numeric.compiled import loops
from ipub.numeric.rounding import EPS, TINY, UNDERFLOW, down, sum_error, sum_upper, up
from ipub.rows import ops
from ipub.rows.ops import GroupedRows, weighted_gram, weighted_grams
from support.planted import plant_rounding_without_loops

kernels = loops()
needs_loops = pytest.mark.skipif(kernels is None, reason="the package was installed without a compiler")
attempt_module = importlib.import_module("ipub.certificates.slopes.attempt")

AT_ONCE = 384
"""Rows that are added up at once."""

HARD = np.array([0.0, -0.0, TINY, -TINY, 3e-308, 1.0, -1.0, 1.0 - EPS / 2, 1e300, -1.7e308, np.inf, -np.inf, np.nan])


@needs_loops
@pytest.mark.parametrize(("name", "roundings"), [("up", ()), ("down", ()), ("sum_error", (33,)), ("sum_upper", (33,))])
def test_rounding_in_loops_has_the_bits_of_numpy(name, roundings, monkeypatch):
    rng, function = np.random.default_rng(0), getattr(rounding, name)
    values = np.concatenate([HARD, rng.normal(size=200) * 10.0 ** rng.integers(-320, 300, 200)]).reshape(3, -1)
    values.flags.writeable = False
    with np.errstate(all="ignore"):
        found, of_a_view = function(values, *roundings), function(values.T, *roundings)
        of_numbers = np.reshape([function(value, *roundings) for value in values.ravel().tolist()], values.shape)
        plant_rounding_without_loops(monkeypatch, {})
        expected = getattr(rounding, name)(values, *roundings)
    assert getattr(rounding, name) is not function
    for each in (found, of_a_view.T, of_numbers):
        assert np.array_equal(each, expected, equal_nan=True)
        assert (np.signbit(each) == np.signbit(expected))[~np.isnan(expected)].all()


@needs_loops
def test_a_long_array_is_rounded_like_its_parts():
    values = np.random.default_rng(1).normal(size=(3, 5_000))
    for function in (up, down, lambda x: sum_error(x, 7), lambda x: sum_upper(x, 7)):
        np.testing.assert_array_equal(function(values), np.stack([function(part) for part in values]))


@needs_loops
def test_rounding_in_loops_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(up)) is up


@needs_loops
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,)])
def test_rounding_keeps_shapes(shape):
    assert up(np.ones(shape)).shape == shape


def grouped(rows, which, counts):
    """Return groups of rows for the loops."""
    return GroupedRows.of(rows, which, np.asarray(counts))


def exact(rows, values):
    """Return the exact sums of x x^T, and of the absolute terms."""
    d, terms = rows.shape[1], [(Fraction(v), [Fraction(x) for x in row]) for v, row in zip(values, rows, strict=True)]
    sums = [[sum((v * x[j] * x[k] for v, x in terms), Fraction(0)) for k in range(d)] for j in range(d)]
    sizes = [[sum((abs(v * x[j] * x[k]) for v, x in terms), Fraction(0)) for k in range(d)] for j in range(d)]
    return sums, sizes


@needs_loops
@pytest.mark.parametrize("d", [1, 3, 4, 6])
@pytest.mark.parametrize("squared", [False, True])
def test_weighted_grams_are_within_the_roundings_of_a_sum(d, squared):
    rng = np.random.default_rng([d, squared])
    counts = np.array([0, 1, AT_ONCE + 5, 0, 40])
    rows = rng.normal(size=(300, d)) * 10.0 ** rng.integers(-6, 6, (300, d))
    which = rng.integers(0, len(rows), counts.sum())
    values = rng.normal(size=(2, len(which)))
    found = grouped(rows, which, counts).grams(list(values), squared=squared)
    ends = np.cumsum(counts)
    for each, own in zip(found, values, strict=True):
        assert (each == each.swapaxes(1, 2)).all()
        for g, (count, end) in enumerate(zip(counts, ends, strict=True)):
            here = slice(end - count, end)
            factors = [Fraction(v) ** 2 if squared else Fraction(v) for v in own[here]]
            sums, sizes = exact(rows[which[here]], factors)
            for j in range(d):
                for k in range(d):
                    error = abs(Fraction(each[g, j, k]) - sums[j][k])
                    assert error <= (count + 3) * Fraction(EPS) * sizes[j][k] + Fraction(UNDERFLOW)


@needs_loops
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("n", [1, 8, 13, AT_ONCE - 1, AT_ONCE, 3 * AT_ONCE + 9])
def test_weighted_grams_have_the_same_bits_with_registers_of_any_width(n, squared):
    rng = np.random.default_rng(n)
    rows, values = rng.normal(size=(n, 9)), rng.normal(size=(2, n))
    found = []
    for widest in (8, 4, 2):
        sums = np.empty((1, 2, 9, 9))
        kernels.weighted_grams(rows, np.arange(n), np.array([0, n]), values, squared, sums, widest)
        found.append(sums)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


@needs_loops
def test_weighted_sums_are_those_of_numpy():
    rng = np.random.default_rng(0)
    counts, rows = np.array([3, 0, 50]), rng.normal(size=(20, 5))
    which, first, last = rng.integers(0, 20, 53), rng.normal(size=(2, 53)), rng.normal(size=(2, 53))
    found = grouped(rows, which, counts).sums(list(first), list(last))
    for s in range(2):
        for g, here in enumerate((slice(0, 3), slice(3, 3), slice(3, 53))):
            expected = (first[s, here] * last[s, here]) @ rows[which[here]]
            assert found[s][g] == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_values_that_are_zero_and_rows_of_any_layout_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    rows = np.asfortranarray(rng.normal(size=(500, 7)))
    rows.flags.writeable = False
    values = np.where(rng.random((2, 500)) < 0.8, 0.0, rng.normal(size=(2, 500)))
    with_loops = weighted_grams(rows, *values)
    monkeypatch.setattr(ops, "loops", lambda: None)
    for found, each in zip(with_loops, values, strict=True):
        assert found == pytest.approx(weighted_gram(np.ascontiguousarray(rows), each), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("is_summed", [True, False], ids=["cells are summed", "cells are kept"])
def test_bounds_with_loops_are_those_without(is_summed, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=600) > 0.0
    X[rng.random(X.shape) < 0.02] = np.nan
    if is_summed:
        monkeypatch.setattr(attempt_module, "MOST_CELLS", 0)
    found = []
    for has_loops in (True, True, False):
        if not has_loops:
            monkeypatch.setattr(ops, "loops", lambda: None)
            plant_rounding_without_loops(monkeypatch, {})
        clf = BoundedClassifier(alpha=0.1, certificate="slope").fit(X, y)
        found.append(clf.decision_bounds(np.nan_to_num(X[:50])))
    assert (found[0] == found[1]).all()
    assert np.ptp(found[0], axis=1).max() < 2.0
    assert (np.abs(found[0] - found[2]) <= 1e-9 * np.maximum(np.abs(found[0]), 1.0)).all()
    assert np.isfinite(found).all()


def test_a_package_that_was_installed_without_a_compiler_has_no_loops_and_bounds_all_the_same():
    code = """
import sys
sys.modules["ipub.numeric.compiled.kernels"] = None
import numpy as np
from ipub import BoundedClassifier, BoundedRegressor
from ipub.numeric.compiled import loops
assert loops() is None
X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]])
assert np.isfinite(BoundedRegressor(alpha=1.0).fit(X, [1.0, 2.0, 3.0, 4.0]).predict_bounds([[1.0, 1.0]])).all()
assert np.isfinite(BoundedClassifier().fit(X, [0, 1, 0, 1]).predict_proba_bounds([[1.0, 1.0]])).all()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
