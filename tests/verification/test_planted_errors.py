"""`ipub.verify` finds errors that are planted in bounds, and none where there is none."""

from __future__ import annotations

import copy
import json
import zipfile

import numpy as np
import pytest

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError
from ipub.certificates import sphere as sphere_module
from ipub.promises import budget as budget_module
from ipub.training import filled as filled_module

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
X[:4, 1] = X[4, 0] = np.nan
Y = np.where(np.nan_to_num(X).sum(axis=1) + RNG.normal(size=24) > 0.0, 1, 0)
TARGET = np.nan_to_num(X) @ [1.0, -2.0] + RNG.normal(size=24)
TEST = RNG.normal(size=(4, 2))
RANGES = {0: (-1.0, 1.0), 1: (-1.0, 1.0)}


def verified(model, y=Y, table=X, rows=TEST, **given):
    return ipub.verify(model, table, y, rows, **{"seconds": 20.0, "retrainings": 120, **given})


def with_bounds(model, changed):
    """Return the model with other bounds of its scores."""
    other = copy.copy(model)
    name = "decision_bounds" if hasattr(model, "classes_") else "predict_bounds"
    bounds = getattr(model, name)
    setattr(other, name, lambda rows: changed(bounds, rows))
    return other


@pytest.fixture(scope="module")
def classifier():
    return BoundedClassifier(alpha=0.1, intervals=RANGES).fit(X, Y)


def test_a_model_without_errors_has_no_violation(classifier):
    found = verified(classifier)
    assert found.ok
    assert not found.violations
    assert found.n_retrainings >= 120
    assert found.n_aimed >= 40
    assert 0.0 <= found.closest < 0.2 < found.median_reached <= 1.0


def test_a_sign_is_found(classifier):
    wrong = with_bounds(classifier, lambda bounds, rows: bounds(rows * [1.0, -1.0]))
    assert not verified(wrong, retrainings=3).ok


def test_the_sign_of_one_column_of_a_difference_is_found(classifier):
    wrong = with_bounds(classifier, lambda bounds, rows: -bounds(rows))
    found = verified(wrong, retrainings=3)
    assert "nothing between them" in str(found)


def test_half_of_a_radius_is_found(classifier):
    wrong = with_bounds(classifier, lambda bounds, rows: bounds(rows) @ [[0.75, 0.25], [0.25, 0.75]])
    assert not verified(wrong).ok


def test_a_dropped_duality_gap_is_found(monkeypatch):
    sloppy = BoundedRegressor(alpha=0.1, intervals=RANGES, certificate="sphere", fit_intercept=False, tol=0.5)
    sloppy.fit(X, TARGET).coef_bounds_  # noqa: B018 (proved at the first request)
    assert verified(sloppy, TARGET).ok
    monkeypatch.setattr(sphere_module, "gap_upper", lambda *_: 0.0)
    wrong = BoundedRegressor(alpha=0.1, intervals=RANGES, certificate="sphere", fit_intercept=False, tol=0.5)
    assert not verified(wrong.fit(X, TARGET), TARGET).ok


def test_bounds_over_the_ends_of_intervals_alone_are_found():
    """The slope x y / (x^2 + lam) of one row is greatest inside an interval that contains the root of lam."""
    table, y, rows = np.array([[np.nan]]), np.array([1.0]), np.array([[1.0]])
    model = BoundedRegressor(alpha=0.5, intervals=[(0.1, 4.0)], fit_intercept=False).fit(table, y)
    slopes = [2.0 * x / (2.0 * x * x + 0.5) for x in (0.1, 4.0)]
    assert verified(model, y, table, rows).ok
    wrong = with_bounds(model, lambda *_: np.array([[min(slopes), max(slopes)]]))
    assert not verified(wrong, y, table, rows).ok


def test_a_skipped_row_is_found():
    filled = X.copy()
    filled[0, 1] = 0.0
    skipped = BoundedClassifier(alpha=0.1, intervals=RANGES).fit(filled, Y)
    assert verified(skipped, table=filled).ok
    found = verified(skipped)
    assert not found.ok
    assert found.violations[0].filling is not None


def test_bounds_rounded_inward_are_found_in_ball_arithmetic():
    """Without holes in training the ends of a row's own hole are attained, to the last digits."""
    table = np.array([[1.0, 0.3], [0.2, -1.0], [-0.7, 0.9]])
    y, rows = np.array([1.0, -0.5, 0.2]), np.array([[1.0, np.nan], [0.3, np.nan]])
    model = BoundedRegressor(alpha=0.5, intervals=RANGES, fit_intercept=False).fit(table, y)
    assert verified(model, y, table, rows, retrainings=10).ok
    inward = with_bounds(
        model, lambda bounds, rows: np.array([1.0, -1.0]) * np.ceil(bounds(rows) * [1e14, -1e14]) / 1e14
    )
    found = verified(inward, y, table, rows, retrainings=10)
    assert not found.ok
    assert "ball arithmetic" in str(found.violations[0])


@pytest.fixture(scope="module")
def holed():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(40, 2))
    table[rng.permutation(40)[:10], 1] = np.nan
    return table, np.where(np.nan_to_num(table).sum(axis=1) + rng.normal(size=40) > 0.0, 1, 0)


def test_a_share_counted_wrongly_contradicts_the_promise(holed, monkeypatch):
    table, y = holed
    right = BoundedClassifier(alpha=0.1, uncertainty=Budget(share=0.3)).fit(table, y)
    assert verified(right, y, table).ok
    monkeypatch.setattr(budget_module.Budget, "count", lambda self, n: int(float(self.share) * n) - 1)
    wrong = BoundedClassifier(alpha=0.1, uncertainty=Budget(share=0.3)).fit(table, y)
    found = verified(wrong, y, table, retrainings=1)
    assert "the promise says 2 holes, and the budget is 3" in str(found)


def test_bounds_of_fewer_cells_than_promised_are_found(holed, monkeypatch):
    table, y = holed
    moves_of = filled_module.moves_of
    monkeypatch.setattr(filled_module, "moves_of", lambda budget, filled: moves_of(Budget(cells=1), filled))
    wrong = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=3)).fit(table, y)
    assert not verified(wrong, y, table).ok


@pytest.mark.parametrize("kind", [{"labels": 2}, {"rows": 2}, {"wrong_cells": 2}])
def test_bounds_of_a_smaller_budget_of_another_kind_are_found(holed, kind, monkeypatch):
    table, y = holed
    budget = Budget(cells=0, **kind)
    right = BoundedClassifier(alpha=0.1, uncertainty=budget).fit(table, y)
    assert verified(right, y, table, retrainings=60).ok
    none = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=0)).fit(table, y)
    wrong = with_bounds(right, lambda _, rows: none.decision_bounds(rows))
    assert not verified(wrong, y, table, retrainings=60).ok


def test_draws_that_miss_too_often_are_found(holed):
    table, y = holed
    model = BoundedClassifier(alpha=0.1, uncertainty=Draws(n_draws=19, random_state=0)).fit(table, y)
    right = verified(model, y, table, retrainings=200)
    assert right.ok
    assert right.coverage.n_inside > 0.9 * right.coverage.n_scores
    wrong = with_bounds(model, lambda bounds, rows: bounds(rows) @ [[0.501, 0.499], [0.499, 0.501]])
    assert not verified(wrong, y, table, retrainings=200).ok


def test_weights_with_wrong_bounds_are_found(classifier):
    wrong = copy.copy(classifier)
    wrong.coef_bounds_ = classifier.coef_bounds_ + 1.0
    found = verified(wrong, retrainings=3)
    assert all(each.what.startswith("weight") for each in found.violations)
    assert found.n_violations >= 3


def test_an_altered_model_file_is_found(classifier, tmp_path):
    """Its weights are those of another penalty than it says."""
    ipub.save(classifier, tmp_path / "model.ipub")
    assert verified(ipub.load(tmp_path / "model.ipub"), retrainings=30).ok
    with zipfile.ZipFile(tmp_path / "model.ipub") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["model.json"])
    header["fitted"]["alpha_"] = header["parameters"]["alpha"] = 0.02
    members["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(tmp_path / "altered.ipub", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(IpubError, match="its weights differ"):
        verified(ipub.load(tmp_path / "altered.ipub"), retrainings=30)
