"""Calls for many rows are bounded faster, and never narrower; tables with very many columns finish."""

from __future__ import annotations

import numpy as np
import pytest

from ipub import BoundedClassifier
from ipub.training import training as module


@pytest.fixture(scope="module")
def table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {
            "size": rng.normal(size=300),
            "kind": rng.choice(["a", "b", "c"], 300),
            "place": rng.choice(["north", "south", "east"], 300),
        }
    )
    y = np.where(X["size"] + (X["kind"] == "a") - (X["place"] == "east") + rng.normal(size=300) > 0.0, 1, 0)
    for name in ("kind", "place"):
        X.loc[rng.random(300) < 0.05, name] = None
    X.loc[290:295, ["kind", "place"]] = None
    return X, y


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_bounds_of_many_rows_hold_those_of_few(table, alpha, monkeypatch):
    X, y = table
    model = BoundedClassifier(alpha=alpha).fit(X[:250], y[:250])
    few = model.decision_bounds(X[250:])
    monkeypatch.setattr(module, "MOST_ROW_TERMS", 1.0)
    many = model.decision_bounds(X[250:])
    assert (many[:, 0] <= few[:, 0]).all()
    assert (few[:, 1] <= many[:, 1]).all()
    assert (many != few).any()
    assert np.median(np.ptp(many, axis=1) / np.ptp(few, axis=1)) <= 1.25


def test_verbose_says_that_rows_are_many_and_shows_progress(table, monkeypatch, capsys):
    X, y = table
    model = BoundedClassifier(verbose=1).fit(X[:250], y[:250])
    plain = model.decision_bounds(X[:250])
    assert module.FASTER not in capsys.readouterr().out
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 50)
    np.testing.assert_allclose(model.decision_bounds(X[:250]), plain, rtol=1e-12)
    assert "Bounding rows" in capsys.readouterr().out
    monkeypatch.setattr(module, "MOST_ROW_TERMS", 1.0)
    model.decision_bounds(X[:250])
    assert module.FASTER in capsys.readouterr().out


def test_a_table_with_very_many_columns_is_bounded_without_slopes_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1200))
    y = (X[:, 0] > 0.0).astype(int)
    X[:, :60][rng.random((40, 60)) < 0.2] = np.nan
    model = BoundedClassifier(alpha=1.0).fit(X, y)
    assert "1,201 columns" in model.certificate_.note
    assert "certificate='slope'" in model.certificate_.note
    bounds = model.decision_bounds(X[:3])
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= model.decision_function(X[:3])).all()
