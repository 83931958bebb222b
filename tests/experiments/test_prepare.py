from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from experiments.prepare import higgs_shaped, real
from experiments.settings import GRID, PAPER_RATIOS, Setting
from experiments.sources import HIGGS, load
from experiments.synthetic import Copula
from support.small_sources import counts, default_frame, default_source, higgs_frame

SILENT = Console(file=StringIO())


@pytest.fixture
def found():
    frame = default_frame(400)
    frame.to_parquet("default.parquet")
    return load(default_source(frame), Path("."), SILENT)


def test_a_tenth_is_for_the_test_and_the_training_part_fills_the_unit_interval(found):
    table = real(found)
    assert (table.X.shape, table.X_test.shape, table.y.shape) == ((360, 28), (40, 28), (360,))
    np.testing.assert_array_equal(table.X.min(axis=0), np.zeros(28))
    np.testing.assert_array_equal(table.X.max(axis=0), np.ones(28))
    assert table.X_test.min() >= 0.0
    assert table.X_test.max() <= 1.0
    assert set(table.y) == {-1.0, 1.0}
    assert "All 400 of 400 rows" in table.words
    assert f"{np.mean(table.y > 0):.1%}" in table.words


def test_outliers_are_moved_to_percentiles_of_the_training_part():
    frame = default_frame(400)
    frame.loc[:, "AGE"] = np.arange(400)
    frame.loc[7, "AGE"] = 10**9
    frame.to_parquet("default.parquet")
    table = real(load(default_source(frame), Path("."), SILENT))
    ages = np.sort(np.concatenate([table.X[:, 2], table.X_test[:, 2]]))
    assert 0.4 < np.median(ages) < 0.6


def test_the_same_rows_come_every_time_and_a_changed_value_is_noticed(found):
    first, again = real(found), real(found)
    assert first.fingerprint == again.fingerprint
    X = first.X.copy()
    X[3, 4] += 1e-9
    assert replace(first, X=X).fingerprint != first.fingerprint
    assert real(found, (100, 10)).fingerprint != first.fingerprint


def test_holes_are_a_share_of_the_cells_with_the_quantiles_of_their_column(found):
    table = real(found)
    setting = Setting(0.1, 0.01, 0.5)
    matrix = table.with_holes(setting)
    holes = np.isnan(np.asarray(matrix.table))
    assert holes.sum() == round(0.01 * table.X.size)
    np.testing.assert_array_equal(np.asarray(matrix.table)[~holes], table.X[~holes])
    low, high = np.quantile(table.X, [0.25, 0.75], axis=0)
    assert (matrix.centers - matrix.radii <= low[matrix.columns] + 1e-12).all()
    np.testing.assert_allclose(matrix.centers, 0.5 * (low + high)[matrix.columns])
    wider = table.with_holes(Setting(1.0, 0.01, 0.9))
    np.testing.assert_array_equal(np.isnan(np.asarray(wider.table)), holes)


def test_a_synthetic_table_is_named_so_and_follows_the_real_part():
    frame = higgs_frame(2000)
    frame["m_jj"] = np.round(frame["m_jj"])
    frame["m_jjj"] = 0.8 * frame["m_jlv"] + 0.2 * frame["m_jjj"]
    frame.to_parquet("higgs_51k.parquet")
    partial = {"higgs_51k.parquet": counts(frame["label"])}
    found = load(replace(HIGGS, partial=partial), Path("."), SILENT)
    table = higgs_shaped(found, (3000, 100))
    assert table.name == "HIGGS-shaped synthetic"
    assert "SYNTHETIC" in table.words
    assert "2,000 real rows" in table.words
    assert table.paper_name == "HIGGS"
    X, y = found.rows(np.arange(2000))
    drawn, labels = Copula.of(X, y).draw(20_000, np.random.default_rng(0))
    assert np.isin(drawn[:, 21], X[:, 21]).all()
    for sign in (-1.0, 1.0):
        np.testing.assert_allclose(np.median(drawn[labels == sign], axis=0), np.median(X[y == sign], axis=0), atol=0.1)
    np.testing.assert_allclose(np.corrcoef(drawn.T), np.corrcoef(X.T), atol=0.1)
    assert abs(np.mean(labels > 0) - np.mean(y > 0)) < 0.02


def test_without_a_real_part_the_synthetic_table_says_so():
    table = higgs_shaped(None, (500, 50))
    assert table.X.shape == (500, 28)
    assert "no real row was at hand" in table.words
    assert table.fingerprint == higgs_shaped(None, (500, 50)).fingerprint


def test_the_papers_settings_and_ratios():
    assert len(GRID) == len(set(GRID)) == 8
    assert len(PAPER_RATIOS) == 24
    assert (min(PAPER_RATIOS.values()), max(PAPER_RATIOS.values())) == (8.61e-4, 5.63e-3)
    assert PAPER_RATIOS["drive", Setting(1.0, 0.001, 0.9)] == 1.48e-3
