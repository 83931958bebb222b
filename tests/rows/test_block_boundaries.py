"""Bounds do not hang on where an engine cuts its blocks: not even on a badly scaled table."""

from __future__ import annotations

import importlib
from itertools import pairwise

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.certificates.slopes.incomplete_rows import PriceSums
from ipub.rows import slices
from ipub.rows.rows import common_depth

attempt_module = importlib.import_module("ipub.certificates.slopes.attempt")

AGREEMENT = 1e-9


def badly_scaled(n_rows: int = 1200, n_columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with holes, of scales from 1e-4 to 1e4, and targets."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n_rows, n_columns)) + rng.normal(size=n_columns)
    targets = table @ rng.normal(size=n_columns) + rng.normal(size=n_rows)
    table = table * 10.0 ** np.linspace(-4.0, 4.0, n_columns)
    table[rng.random(table.shape) < 0.02] = np.nan
    return table, targets


@pytest.mark.parametrize("is_summed", [True, False], ids=["cells are summed", "cells are kept"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (BoundedClassifier, {"alpha": 0.1}),
        (BoundedClassifier, {"alpha": 0.001}),
        (BoundedClassifier, {"alpha": 0.01, "l1_ratio": 0.5, "fit_intercept": False}),
        (BoundedRegressor, {"alpha": 0.1}),
    ],
)
def test_bounds_are_the_same_for_blocks_of_any_size(model, options, is_summed, monkeypatch):
    if is_summed:
        monkeypatch.setattr(attempt_module, "MOST_CELLS", 0)
    table, targets = badly_scaled()
    y = targets > np.median(targets) if model is BoundedClassifier else targets
    rows = np.where(np.isnan(table), np.nanmean(table, axis=0), table)[:100]
    found = []
    for n_rows in (1 << 15, 333, 100):
        monkeypatch.setattr(slices, "BLOCK_ROWS", n_rows)
        monkeypatch.setattr(slices, "BLOCK_CELLS", 64 * n_rows)
        fitted = model(certificate="slope", **options).fit(table, y)
        assert fitted.certificate_.parts[-1].name == "slope"
        bounds = fitted.decision_bounds if model is BoundedClassifier else fitted.predict_bounds
        found.append(bounds(rows))
    assert np.median(np.ptp(found[0], axis=1)) < 10.0
    scale = np.maximum(np.abs(found[0]), 1.0)
    for other in found[1:]:
        assert (np.abs(other - found[0]) <= AGREEMENT * scale).all(), (np.abs(other - found[0]) / scale).max()


@pytest.mark.parametrize("n_rows", [1, 2, 100, 65_536])
def test_the_common_depth_is_a_bound_for_all_blocks_of_a_short_table(n_rows):
    rng = np.random.default_rng(n_rows)
    cuts = [np.unique(rng.integers(0, n_rows + 1, size=k)) for k in (0, 1, 10, n_rows)]
    own = [np.diff([0, *cut, n_rows]) for cut in cuts]
    heights = [int(lengths.max()) + int(np.count_nonzero(lengths)) for lengths in own]
    assert max(heights) <= common_depth(1, n_rows) == n_rows + 1


@pytest.mark.parametrize("lengths", [[7], [3, 1], [1, 9, 2], [1] * 20])
def test_the_depth_of_blocks_is_at_least_the_height_of_their_sum(lengths):
    ends = pairwise(np.cumsum([0, *lengths]))
    assert max(lengths) - 1 + len(lengths) - 1 <= slices.depth_of([slice(*each) for each in ends]) - 2


def test_the_common_depth_of_a_long_table_is_little_more_than_that_of_its_blocks():
    own = slices.depth_of(list(slices.block_slices(11_000_000, 28)))
    assert own <= common_depth(own, 11_000_000) <= 3 * own
    assert common_depth(10**8, 11_000_000) == 10**8


def test_prices_are_positive_and_known_for_columns_without_holes():
    some = PriceSums(np.array([8.0, 0.0]), np.array([2.0, 0.0])).prices(np.diag([1.0, 4.0]))
    np.testing.assert_allclose(some, [0.5, 1.0])
    none = PriceSums(np.zeros(2), np.zeros(2)).prices(np.diag([2.0, 8.0]))
    np.testing.assert_allclose(none, [1.0, 2.0])
    assert (PriceSums(np.array([np.inf, np.nan]), np.ones(2)).prices(np.eye(2)) > 0.0).all()
