"""Row sums for the rows that are asked for alone, as long tables have them: here tables count as long."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier
from ipub.answers.attained import attained_bounds
from ipub.certificates import SlopeBounds, certify_tight
from ipub.certificates import tight as tight_module
from ipub.certificates.row_sums import bounds as bounds_module
from ipub.certificates.row_sums import table as table_module
from ipub.certificates.row_sums.bounds import RowSumBounds, row_sum_bounds_of_asked_rows
from ipub.losses import LOSSES
from ipub.model_sets.certificate import Certificate
from support.cases import train
from support.exact_proofs import prove
from support.hard_tables import a_huge_and_a_tiny_column, rows_at_the_kink, simple_case, trained
from support.oracles.losses import oracle_of
from support.sampled_tables import TABLES, assert_holds, draw

SMOOTH = [name for name in LOSSES if LOSSES[name].is_smooth]


@pytest.fixture(autouse=True)
def long_tables(monkeypatch):
    """Let every table be too long for row sums of all its rows, and worth those of the rows that are asked for."""
    monkeypatch.setattr(table_module, "MOST_ROWS", 0)
    monkeypatch.setattr(tight_module, "CAN_BE_NARROWED", 0.0)


@pytest.mark.parametrize("loss_name", SMOOTH)
def test_bounds_hold_at_every_vertex_and_inside_exactly(loss_name, report_proofs):
    count = n_found = 0

    def asked_rows(problem, solution):
        nonlocal n_found
        slopes = certify_tight(problem, solution).part(SlopeBounds)
        known = slopes and Certificate("slope", (slopes.in_columns(),), solution.gap)
        found = known and row_sum_bounds_of_asked_rows(problem, solution, known)
        n_found += found is not None
        return Certificate("asked rows", (found or slopes or certify_tight(problem, solution).parts[0],), solution.gap)

    for seed in range(2):
        rng = np.random.default_rng([seed, SMOOTH.index(loss_name)])
        for case, solution in (
            trained(simple_case(rng, loss_name, n=12, alpha=0.3)),
            a_huge_and_a_tiny_column(rng, loss_name),
            *([rows_at_the_kink(rng, loss_name)] if oracle_of(LOSSES[loss_name]).kinks(1.0) else []),
        ):
            with np.errstate(all="ignore"):
                made, failures = prove(case, [solution], int(case.matrix.n_uncertain == 2), {"asked rows": asked_rows})
            assert failures == []
            count += made
    assert n_found >= 2
    report_proofs(count)


@pytest.mark.share(3)
@pytest.mark.parametrize(("tol", "lam"), [(1e-8, 0.01), (0.3, 0.01), (1e-8, 1e-6)])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("loss_name", ["log_loss", "huber"])
def test_no_filling_breaks_bounds_of_a_long_table(loss_name, kind, tol, lam):
    problem, X = draw(kind, loss_name, lam, intercept=kind in ("plain", "weights"))
    assert_holds(problem, X, tol)


@pytest.mark.parametrize("loss_name", ["log_loss", "squared_error", "huber", "squared_hinge"])
def test_they_are_narrower_than_slopes_and_no_wider_than_what_is_attained_by_far(loss_name):
    problem, X = draw("plain", loss_name, 0.003, intercept=True)
    solution = train(problem)
    certificate = certify_tight(problem, solution)
    by_rows, slopes = certificate.part(RowSumBounds), certificate.part(SlopeBounds)
    assert by_rows.path is None
    narrow, wide = (np.ptp(np.column_stack(each.ends(X)), axis=1) for each in (by_rows, slopes))
    attained = np.ptp(attained_bounds(problem, solution, X).bounds, axis=1)
    assert (narrow <= 1.02 * wide).all()
    assert narrow.sum() < wide.sum()
    assert (narrow >= attained).all()
    assert narrow.sum() < 1.2 * attained.sum()


def test_of_more_rows_at_a_time_slopes_bound_them_all(monkeypatch):
    problem, X = draw("plain", "log_loss", 0.003, intercept=True)
    monkeypatch.setattr(bounds_module, "MOST_ASKED", len(X) * problem.rows.n_rows * X.shape[1] ** 2)
    certificate = certify_tight(problem, train(problem))
    slopes = certificate.part(SlopeBounds)
    few, many = certificate.score_bounds(X), certificate.score_bounds(np.vstack([X, X[:1]]))[: len(X)]
    np.testing.assert_allclose(many, np.column_stack(slopes.ends(X)), rtol=1e-9)
    assert (np.ptp(few, axis=1) <= np.ptp(many, axis=1)).all()
    assert np.ptp(few) != np.ptp(many)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.3], ids=["l2", "elastic net"])
@pytest.mark.parametrize("d", [3, 15, 16, 20])
def test_no_filling_breaks_bounds_of_tables_with_few_and_many_columns(d, l1_ratio):
    """With many columns u is found by corrections; with 300 rows complete rows are in two chunks."""
    rng, n, alpha = np.random.default_rng([d, int(10 * l1_ratio)]), 300, 0.02
    X = rng.normal(size=(n, d))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.0).astype(int)
    holes = rng.permutation(n * d)[:8]
    X.ravel()[holes] = np.nan
    rows = rng.normal(size=(5, d))
    low, high = -1.0, 0.7
    model = BoundedClassifier(alpha=alpha, l1_ratio=l1_ratio, intervals=np.tile([low, high], (d, 1))).fit(X, y)
    by_rows = model.certificate_.part(RowSumBounds)
    assert (by_rows is not None and by_rows.most_rows is not None) or l1_ratio
    bounds = model.decision_bounds(rows)
    for number in range(6):
        filled = X.copy()
        filled.ravel()[holes] = rng.uniform(low, high, 8) if number == 0 else rng.choice([low, high], 8)
        other = BoundedClassifier(alpha=alpha, l1_ratio=l1_ratio, certificate=None, tol=1e-14, max_iter=500)
        scores = other.fit(filled, y).decision_function(rows)
        assert (bounds[:, 0] <= scores + 1e-7).all()
        assert (bounds[:, 1] >= scores - 1e-7).all()


def test_categories_and_uncertain_labels_hold():
    rng, n, alpha = np.random.default_rng(5), 300, 0.05
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", "z"], size=n)})
    y = (frame["a"] + (frame["b"] == "x") + 0.5 * rng.normal(size=n) > 0.3).to_numpy().astype(int)
    holed = frame.copy()
    holed.loc[3, "b"], holed.loc[7, "b"], holed.loc[11, "a"] = None, None, np.nan
    model = BoundedClassifier(alpha=alpha, max_label_errors=1, intervals={"a": (-0.5, 0.5)}).fit(holed, y)
    by_rows = model.certificate_.part(RowSumBounds)
    assert by_rows is not None
    assert by_rows.most_rows is not None
    bounds = model.decision_bounds(frame[:6])
    for first, second, value, wrong in product("xyz", "xyz", (-0.5, 0.5), (None, 0, 20)):
        filled, labels = frame.copy(), y.copy()
        filled.loc[3, "b"], filled.loc[7, "b"], filled.loc[11, "a"] = first, second, value
        if wrong is not None:
            labels[wrong] = 1 - labels[wrong]
        other = BoundedClassifier(alpha=alpha, certificate=None, tol=1e-14).fit(filled, labels)
        scores = other.decision_function(frame[:6])
        assert (bounds[:, 0] <= scores + 1e-7).all()
        assert (bounds[:, 1] >= scores - 1e-7).all()


def test_very_long_tables_and_jumps_have_none(monkeypatch):
    problem, _ = draw("plain", "log_loss", 0.003, intercept=True)
    monkeypatch.setattr(table_module, "MOST_ASKED_NUMBERS", problem.rows.n_rows)
    assert certify_tight(problem, train(problem)).part(RowSumBounds) is None
    problem, _ = draw("plain", "hinge", 0.003, intercept=True)
    known = Certificate("slope", certify_tight(problem, train(problem)).parts[:1], 0.0)
    assert row_sum_bounds_of_asked_rows(problem, train(problem), known) is None
