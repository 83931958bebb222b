"""Tables long enough for a sample to suggest where to look: hard ones, attacked as they are, with nothing patched in.

Penalties near zero and huge, a loose tolerance, kinks exactly at scores, a column without a single observed value,
columns of huge and tiny scale, rows without weight: cells kept, and cells summed.
"""

from __future__ import annotations

import numpy as np
import pytest

from ipub import BoundedClassifier
from ipub.answers.attained import attained_bounds
from ipub.certificates import SlopeBounds, certify_tight
from ipub.certificates import tight as tight_module
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.slopes import attempt as attempt_module
from ipub.certificates.slopes import column_bounds
from ipub.losses import LOSSES
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, engine_of
from ipub.tables.interval_matrix import IntervalMatrix
from support.sampled_tables import TABLES, assert_holds, draw

SMOOTH = [name for name in LOSSES if LOSSES[name].is_smooth]


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.long)], ids=["slopes", "slopes and row sums"])
def with_row_sums(request, monkeypatch):
    """Leave out row sums, which take seconds for so many rows and are no matter of samples; the long run has them."""
    if not request.param:
        monkeypatch.setattr(tight_module, "ranges_at_w", lambda *_: None)
        monkeypatch.setattr(tight_module, "row_sum_bounds_within", lambda *_: None)


@pytest.mark.share(3)
@pytest.mark.usefixtures("with_row_sums")
@pytest.mark.parametrize("summed", [False, True], ids=["kept", "summed"])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("loss_name", ["log_loss", "smoothed_hinge", "squared_error"])
def test_hard_tables_hold(loss_name, kind, summed, monkeypatch):
    if summed:
        monkeypatch.setattr(attempt_module, "MOST_CELLS", -1)
    for intercept in (False, True):
        problem, X = draw(kind, loss_name, 0.1, intercept)
        assert_holds(problem, X, tol=1e-8)


@pytest.mark.parametrize(
    ("kind", "loss_name", "lam", "intercept"),
    [("kinks", "log_loss", 0.01, False), ("weights", "squared_hinge", 0.01, False), ("outlier", "huber", 0.1, True)],
)
def test_row_sums_of_hard_tables_hold(kind, loss_name, lam, intercept):
    problem, X = draw(kind, loss_name, lam, intercept)
    assert_holds(problem, X, tol=1e-8, part=RowSumBounds)


@pytest.mark.share(4)
@pytest.mark.usefixtures("with_row_sums")
@pytest.mark.parametrize("summed", [False, True], ids=["kept", "summed"])
@pytest.mark.parametrize("lam", [1e-5, 1e-2, 1e4])
@pytest.mark.parametrize("tol", [1e-8, 0.3])
@pytest.mark.parametrize("loss_name", SMOOTH)
def test_penalties_and_tolerances_of_any_size_hold(loss_name, tol, lam, summed, monkeypatch):
    if summed:
        monkeypatch.setattr(attempt_module, "MOST_CELLS", -1)
    for kind in ("plain", "kinks"):
        problem, X = draw(kind, loss_name, lam, intercept=False, seed=1)
        assert_holds(problem, X, tol)


def test_the_attack_is_a_real_one():
    """Bounds made for half the intervals do not hold."""
    problem, X = draw("plain", "log_loss", 0.1, intercept=False)
    matrix = problem.rows.matrix
    half = IntervalMatrix(matrix.table, matrix.row_starts, matrix.columns, matrix.centers, 0.5 * matrix.radii)
    narrow = Problem(MemoryRows(half, problem.rows.labels().y), problem.loss, problem.penalty)
    bounds = certify_tight(narrow, solve(narrow)).score_bounds(X)
    attained = attained_bounds(problem, solve(problem), X).bounds
    assert (attained[:, 1] > bounds[:, 1]).any()
    assert assert_holds(problem, X, 1e-8) < 1.2


@pytest.mark.parametrize("mapped", [False, True])
def test_a_long_table_of_which_hardly_a_row_counts_is_fitted(mapped, tmp_path):
    """None of the few rows that count is in the sample."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(2000, 1)), np.arange(2000) % 2, np.zeros(2000)
    X[5, 0] = X[10, 0] = np.nan
    weight[[10, 11]] = 1.0
    if mapped:
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    fitted = BoundedClassifier(intervals=[(-1, 1)]).fit(X, y, sample_weight=weight)
    alone = BoundedClassifier(intervals=[(-1, 1)]).fit(np.array(X[10:12]), y[10:12])
    np.testing.assert_allclose(fitted.decision_bounds([[0.5]]), alone.decision_bounds([[0.5]]), rtol=1e-6)


def test_wide_tables_have_one_form_for_each_column_and_the_same_exact_bounds(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    y = X[:, 0] > rng.normal(size=300)
    X[rng.random(X.shape) < 0.02] = np.nan
    X_test = rng.normal(size=(20, 8))
    whole = BoundedClassifier(alpha=0.3).fit(X, y)
    assert whole.certificate_ is not None  # certified before the limit is lower
    monkeypatch.setattr(column_bounds, "MOST_SIGNED", 500)
    wide = BoundedClassifier(alpha=0.3).fit(X, y)
    wide_groups, whole_groups = (fitted.certificate_.part(SlopeBounds).groups for fitted in (wide, whole))
    assert whole_groups.signed is not None
    assert wide_groups.signed is None
    assert len(wide_groups.forms) == len(whole_groups.forms) == 8
    forms = [groups.forms for groups in (wide_groups, whole_groups)]
    np.testing.assert_allclose(*forms, rtol=1e-9, atol=1e-12 * np.abs(forms[0]).max())
    np.testing.assert_allclose(wide.decision_bounds(X_test), whole.decision_bounds(X_test), rtol=1e-9)
    grouped = [
        fitted.certificate_.without_training_rows().score_bounds(np.column_stack([X_test, np.ones(20)]))
        for fitted in (wide, whole)
    ]
    assert (np.diff(grouped[0]) >= np.diff(grouped[1]) * (1.0 - 1e-9)).all()


@pytest.mark.parametrize("certificate", ["sphere", "tight"])
def test_a_fitted_model_keeps_no_copy_of_a_large_table(certificate, monkeypatch):
    monkeypatch.setattr("ipub.training.fit.KEPT_CELLS", 0)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] > rng.normal(size=500)
    X[:30, 1] = np.nan
    fitted = BoundedClassifier(certificate=certificate).fit(X, y)
    rows = engine_of(fitted.training_.models[0].problem.rows)
    assert rows.matrix.table is X
    assert not any(cache._values for cache in rows._caches)
    assert np.isfinite(fitted.attained_bounds(X[40:41])).all()
