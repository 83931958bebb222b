"""Compiled loops have the bits of NumPy, or errors within the analysis; without Numba they are tested as Python."""

import importlib
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from ipub import BoundedClassifier, rounding
from ipub.compiled import outward, row_sums
from ipub.engine.ops import GroupedRows, weighted_gram, weighted_grams
from ipub.rounding import EPS, TINY, UNDERFLOW, down, sum_error, sum_upper, up

linearize_module = importlib.import_module("ipub.certificates.slope.linearize")
attempt_module = importlib.import_module("ipub.certificates.slope.attempt")

HARD = np.array([0.0, -0.0, TINY, -TINY, 3e-308, 1.0, -1.0, 1.0 - EPS / 2, 1e300, -1.7e308, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    "function", [up, down, lambda x: sum_error(x, 33), lambda x: sum_upper(x, 33)], ids=["up", "down", "error", "upper"]
)
def test_rounding_in_loops_has_the_bits_of_numpy(function, monkeypatch):
    rng = np.random.default_rng(0)
    values = np.concatenate([HARD, rng.normal(size=200) * 10.0 ** rng.integers(-320, 300, 200)]).reshape(3, -1)
    with np.errstate(all="ignore"):
        monkeypatch.setattr(rounding._InLoops, "loops", None)
        expected = function(values)
        monkeypatch.setattr(rounding._InLoops, "loops", outward)
        found, of_a_view = function(values), function(values.T)
    for each in (found, of_a_view.T):
        assert np.array_equal(each, expected, equal_nan=True)
        assert (np.signbit(each) == np.signbit(expected))[~np.isnan(expected)].all()


def grouped(rows, which, counts):
    """Return groups of rows for the loops, compiled or not."""
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    return GroupedRows(row_sums, rows, which, starts)


def exact(rows, values):
    """Return the exact sums of x x^T, and of the absolute terms."""
    d, terms = rows.shape[1], [(Fraction(v), [Fraction(x) for x in row]) for v, row in zip(values, rows, strict=True)]
    sums = [[sum((v * x[j] * x[k] for v, x in terms), Fraction(0)) for k in range(d)] for j in range(d)]
    sizes = [[sum((abs(v * x[j] * x[k]) for v, x in terms), Fraction(0)) for k in range(d)] for j in range(d)]
    return sums, sizes


@pytest.mark.parametrize("d", [1, 3, 4, 6])
@pytest.mark.parametrize("squared", [False, True])
def test_weighted_grams_are_within_the_roundings_of_a_sum(d, squared):
    rng = np.random.default_rng([d, squared])
    counts = np.array([0, 1, row_sums.AT_ONCE + 5, 0, 40])
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
    monkeypatch.setattr("ipub.engine.ops.loops_of", lambda _: row_sums)
    rng = np.random.default_rng(0)
    rows = np.asfortranarray(rng.normal(size=(500, 7)))
    rows.flags.writeable = False
    values = np.where(rng.random((2, 500)) < 0.8, 0.0, rng.normal(size=(2, 500)))
    for found, each in zip(weighted_grams(rows, *values, in_loops=True), values, strict=True):
        assert found == pytest.approx(weighted_gram(np.ascontiguousarray(rows), each), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("is_summed", [True, False], ids=["cells are summed", "cells are kept"])
def test_bounds_with_loops_are_those_without(is_summed, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=600) > 0.0
    X[rng.random(X.shape) < 0.02] = np.nan
    if is_summed:
        monkeypatch.setattr(attempt_module, "MOST_CELLS", 0)
    monkeypatch.setattr("ipub.engine.ops.loops_of", lambda _: row_sums)
    monkeypatch.setattr(rounding._InLoops, "loops", None)
    found = []
    for many in (1 << 24, 0, 0):
        monkeypatch.setattr(linearize_module, "MANY_CELLS", many)
        clf = BoundedClassifier(alpha=0.1, certificate="slope").fit(X, y)
        found.append(clf.decision_bounds(np.nan_to_num(X[:50])))
    assert (found[1] == found[2]).all()
    assert np.ptp(found[0], axis=1).max() < 2.0
    assert (np.abs(found[0] - found[1]) <= 1e-9 * np.maximum(np.abs(found[0]), 1.0)).all()
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    "broken",
    [
        "import sys; sys.modules['numba'] = None",
        "import numba; numba.config.DISABLE_JIT = 1",
        "import numba.core.caching as c\ndef full(*_): raise OSError(28, 'full')\nc.IndexDataCacheFile.save = full",
    ],
    ids=["not installed", "switched off", "no space to keep what is compiled"],
)
def test_without_a_numba_that_works_there_are_no_loops(broken, tmp_path):
    pytest.importorskip("numba")
    code = f"{broken}\nfrom ipub.compiled import loops_of\n" + "".join(
        f"assert loops_of('ipub.compiled.{name}') is None\n" for name in ("outward", "row_sums")
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
