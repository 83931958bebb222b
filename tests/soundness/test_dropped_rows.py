"""Bounds hold without any few rows, with any few wrong labels and cells that differ, all at once (lem-absent-row)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Ridge

from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.answers.attained import BudgetSearch
from ipub.certificates.per_row.ruled_out_scores import narrow_by_ruling_out
from ipub.certificates.row_sums.bounds import bounds_around_filling, ranges_to_search
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.variants import MOST_VARIANTS, make_variants
from ipub.datasets import load_mammographic_masses
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.certificate import Certificate
from ipub.tables.movable_units import BudgetMoves, MovableRows
from support.cases import train
from support.fillings import FilledCase, case_of_long_rows, filled_case
from support.oracles.rationals import holds

SMOOTH = [name for name, loss in LOSSES.items() if loss.is_smooth]
OF_CLASSES = [name for name in SMOOTH if LOSSES[name].task == "classification"]

MOST_CHOICES = 100
"""Of more, so many are compared."""

each_loss = pytest.mark.parametrize("loss", SMOOTH)
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


def subsets(n: int, most: int):
    """Yield all sets of at most so many of n rows."""
    for size in range(most + 1):
        yield from (list(each) for each in itertools.combinations(range(n), size))


def drawn(
    rng: np.random.Generator, loss: str, *, intercept: bool, kappa: float = 0.0, weights: bool = False, n: int = 6
):
    """Draw a tiny table with a strong penalty, so that bounds close although a row is a large part of it."""
    case = filled_case(rng, loss, intercept=intercept, kappa=kappa, n=n)
    case = replace(case, penalty=ElasticNet(rng.uniform(0.8, 3.0), kappa, int(intercept)))
    weight = np.array([1.0, 2.0, 0.0, 0.5, 3.0, 1.0]) if weights else None
    return replace(case, weight=weight, X_test=case.X_test[:2])


def wrong_scores(case: FilledCase, counts: tuple[int, ...], solution=None) -> tuple[int, list[str]]:
    """Compare the bounds with the exact models of all choices that a budget allows; no tolerance."""
    found = bounds_around_filling(
        case.problem, solution or train(case.problem), case.movable, BudgetMoves(counts)
    ).found
    if found is None:
        return 0, []
    low, high = found.ends(case.X_test)
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    count, wrong = 0, []
    choices = list(
        itertools.product(case.choices(counts[:2]), subsets(len(case.y), counts[2]), subsets(len(case.y), counts[3]))
    )
    if len(choices) > MOST_CHOICES:
        some = np.random.default_rng(0).permutation(len(choices))[:MOST_CHOICES]
        choices = [choices[k] for k in some]
    for options, flipped, dropped in choices:
        y, kept = case.y.copy(), weight.copy()
        y[flipped], kept[dropped] = -y[flipped], 0.0
        if not kept.any() or (case.penalty.n_free and np.ptp(y[kept > 0.0]) == 0.0):
            continue
        model = replace(case, y=y, weight=kept).minimise(case.moved([(option, 1) for option in options]))
        for row, x in enumerate(case.X_test):
            count += 1
            if not holds((low[row], high[row]), model.score(x)):
                wrong.append(f"{options, flipped, dropped}, row {row}: {low[row], high[row]}; {case!r}")
    return count, wrong


def checked(cases, report_proofs) -> None:
    """Check cases with their counts; some of them close."""
    total = 0
    for case, counts in cases:
        count, wrong = wrong_scores(case, counts)
        assert wrong == []
        total += count
        if total > 100:
            break
    assert total > 0
    report_proofs(total)


@each_loss
@each_intercept
@pytest.mark.parametrize("weights", [False, True], ids=["equal weights", "weights"])
@pytest.mark.share(3)
def test_bounds_hold_without_any_rows_exactly(loss, intercept, weights, report_proofs):
    rng = np.random.default_rng([40, len(loss), intercept, weights])
    cases = ((drawn(rng, loss, intercept=intercept, weights=weights), (0, 0, 0, 1 + trial // 2)) for trial in range(4))
    checked(cases, report_proofs)


@pytest.mark.parametrize("loss", OF_CLASSES)
@each_intercept
@pytest.mark.parametrize("counts", [(1, 1, 1, 1), (0, 0, 2, 1), (2, 0, 0, 1), (9, 9, 1, 1)], ids=str)
@pytest.mark.share(3)
def test_bounds_hold_for_cells_labels_and_rows_together_exactly(loss, intercept, counts, report_proofs):
    rng = np.random.default_rng([41, len(loss), intercept, *counts])
    cases = ((drawn(rng, loss, intercept=intercept, n=n), counts) for n in (6, 20, 40, 80, 160))
    checked(cases, report_proofs)


@each_loss
@each_intercept
@pytest.mark.share(2)
def test_bounds_hold_without_rows_under_an_l1_penalty_exactly(loss, intercept, report_proofs):
    rng = np.random.default_rng([42, len(loss), intercept])
    drawn_from = itertools.product((0.02, 0.1, 0.3), (6, 20))
    cases = ((drawn(rng, loss, intercept=intercept, kappa=kappa, n=n), (1, 0, 0, 1)) for kappa, n in drawn_from)
    checked(cases, report_proofs)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_bounds_hold_without_rows_for_any_weights_they_start_from(loss, report_proofs):
    rng = np.random.default_rng([43, len(loss)])
    total = 0
    for size in (1e-3, 0.03, 0.1):
        case = drawn(rng, loss, intercept=True)
        solution = train(case.problem)
        solution = replace(solution, w=solution.w + size * rng.normal(size=len(solution.w)))
        count, wrong = wrong_scores(case, (0, 0, 0, 1), solution)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


def test_scores_that_are_ruled_out_are_given_by_no_table_without_rows():
    """Rows of constant derivative are not left out under a supposition: without them the penalty is another."""
    n_narrower = 0
    for number in range(6):
        rng = np.random.default_rng([44, number])
        n = 14
        X = np.column_stack([rng.normal(size=(n, 2)), np.ones(n)])
        y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
        nothing = MovableRows.of_numbers([], [], [], [])
        case = FilledCase(X, y, None, LOSSES["squared_hinge"], ElasticNet(0.3), nothing, rng.normal(size=(2, 3)))
        found = bounds_around_filling(case.problem, train(case.problem), case.movable, BudgetMoves((0, 0, 0, 2))).found
        if found is None:
            continue
        ranges = ranges_to_search(Certificate("tight", (found,), 0.0))
        assert ranges is not None
        models = [
            train(replace(case, weight=np.where(np.isin(np.arange(n), dropped), 0.0, 1.0)).problem).w
            for dropped in subsets(n, 2)
        ]
        for x, low, high in zip(case.X_test, *found.ends(case.X_test), strict=True):
            bounds = narrow_by_ruling_out(ranges, x, (low, high), 1.0)
            scores = np.array(models) @ x
            assert bounds[0] - 1e-9 <= scores.min()
            assert scores.max() <= bounds[1] + 1e-9
            n_narrower += bounds[1] - bounds[0] < high - low
    assert n_narrower > 0


# --- through the public API ---------------------------------------------------------------------------------------


def a_table(seed: int, n: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 3)), rng.normal(size=(5, 3))
    return X, np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=n) > 0.0, 1, 0), T


@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 3.0}])
def test_models_are_those_of_the_same_fit_without_the_rows(class_weight):
    X, y, T = a_table(0, 24)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=len(y), p=[0.1, 0.5, 0.4])
    options = {"alpha": 0.5, "class_weight": class_weight}
    budgeted = BoundedClassifier(uncertainty=Budget(rows=1), **options).fit(X, y, sample_weight=weight)
    low, high = budgeted.decision_bounds(T).T
    assert np.isfinite(low).all()
    ends = np.full((2, len(T)), np.nan)
    for dropped in subsets(len(y), 1):
        kept = np.setdiff1d(np.arange(len(y)), dropped)
        plain = BoundedClassifier(certificate=None, tol=1e-12, **options).fit(X[kept], y[kept], weight[kept])
        scores = plain.decision_function(T)
        ends = np.fmin(ends[0], scores), np.fmax(ends[1], scores)
    assert (low <= ends[0] + 1e-9).all()
    assert (ends[1] <= high + 1e-9).all()
    assert np.median((high - low) / (ends[1] - ends[0])) < 2.0


def test_alpha_is_the_penalty_of_a_row_as_in_scikit_learn_with_the_number_of_rows_that_are_there():
    X, y, T = a_table(3, 20)
    clf = BoundedClassifier(alpha=0.3, uncertainty=Budget(rows=1)).fit(X, y)
    reg = BoundedRegressor(alpha=0.3, uncertainty=Budget(rows=1)).fit(X, X @ [1.0, 2.0, 0.0] + y)
    for k in range(20):
        X_less, y_less = np.delete(X, k, 0), np.delete(y, k)
        logistic = LogisticRegression(C=1.0 / (0.3 * 19), tol=1e-10, max_iter=1000).fit(X_less, y_less)
        ridge = Ridge(alpha=0.3 * 19 / 2.0).fit(X_less, X_less @ [1.0, 2.0, 0.0] + y_less)
        for model, bounded in (
            (logistic.decision_function(T), clf.decision_bounds(T)),
            (ridge.predict(T), reg.predict_bounds(T)),
        ):
            assert (bounded[:, 0] <= model + 1e-6).all()
            assert (model <= bounded[:, 1] + 1e-6).all()


def test_labels_and_rows_of_a_fit_hold_for_all_of_them():
    X, y, T = a_table(5, 14)
    X[3, 0], X[7, 2] = np.nan, np.nan
    budget = Budget(cells=1, labels=1, rows=1)
    clf = BoundedClassifier(alpha=0.8, intervals=np.array([[-1.0, 1.0]] * 3), uncertainty=budget).fit(X, y)
    low, high = clf.decision_bounds(T).T
    assert np.isfinite(low).all()
    for hole, value in itertools.product([(3, 0), (7, 2)], [-1.0, 1.0]):
        for flipped, dropped in itertools.product(range(14), range(14)):
            table, labels = np.where(np.isnan(X), 0.0, X), y.copy()
            table[hole], labels[flipped] = value, 1 - labels[flipped]
            plain = BoundedClassifier(alpha=0.8, certificate=None).fit(
                np.delete(table, dropped, 0), np.delete(labels, dropped)
            )
            scores = plain.decision_function(T)
            assert (low <= scores + 1e-7).all()
            assert (scores <= high + 1e-7).all()


def test_several_classes_lose_the_same_rows():
    rng = np.random.default_rng(6)
    X, T = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    y = np.argmax(X @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(30, 3)), axis=1)
    clf = BoundedClassifier(alpha=0.3, uncertainty=Budget(rows=1)).fit(X, y)
    bounds = clf.decision_bounds(T)
    assert np.isfinite(bounds).all()
    for k in range(30):
        scores = (
            BoundedClassifier(alpha=0.3, certificate=None).fit(np.delete(X, k, 0), np.delete(y, k)).decision_function(T)
        )
        assert (bounds[..., 0] <= scores + 1e-7).all()
        assert (scores <= bounds[..., 1] + 1e-7).all()


# --- the search ---------------------------------------------------------------------------------------------------


def test_the_search_finds_nearly_the_worst_rows_and_labels():
    X, y, T = a_table(8, 16)
    nothing = MovableRows.of_numbers([], [], [], [])
    case = FilledCase(X, np.where(y > 0, 1.0, -1.0), None, LOSSES["log_loss"], ElasticNet(0.3), nothing, T)
    search = BudgetSearch(case.problem, train(case.problem), nothing)
    for counts, name in (((0, 0, 0, 2), "dropped_rows"), ((0, 0, 2, 0), "wrong_labels")):
        for x in T:
            found = search.best(x, np.zeros(3), 1.0, BudgetMoves(counts))
            every = [
                float(x @ search.retrained(found.options[:0], search.w, **{name: np.array(rows, dtype=np.intp)}))
                for rows in subsets(16, 2)
            ]
            assert len(getattr(found, name)) <= 2
            assert found.score <= max(every) + 1e-9
            assert found.score - x @ search.w >= 0.8 * (max(every) - x @ search.w)


def test_what_is_attained_within_a_budget_is_inside_its_bounds():
    X, y, T = a_table(9, 60)
    X[::7, 1] = np.nan
    clf = BoundedClassifier(alpha=0.1, uncertainty=Budget(cells=3, labels=1, rows=2)).fit(X, y)
    (low, high), (found_low, found_high) = clf.decision_bounds(T).T, clf.attained_bounds(T).T
    assert (low <= found_low).all()
    assert (found_high <= high).all()
    assert ((high - low) / (found_high - found_low) < 2.0).all()


# --- how many -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(0, 0, 0, 1), (3, 1, 0, 2), (19, 1, 1, 1), (99, 99, 9, 9)], ids=str)
def test_one_variant_of_a_row_is_without_it_and_uses_nothing_else(counts):
    case = case_of_long_rows(np.random.default_rng(0), "log_loss", 20)
    table = RowTable.around(case.problem, train(case.problem), case.movable, BudgetMoves(counts))
    assert table is not None
    assert len(table.incomplete) == len(case.y)
    variants = make_variants(table, with_centers=True)
    is_dropped = variants.used[:, table.dropped_group] == 1
    assert variants.row[is_dropped].tolist() == list(range(len(case.y)))
    assert (variants.used[is_dropped].sum(axis=1) == 1).all()
    assert (variants.graph.value(np.full(len(is_dropped), 0.3))[is_dropped] == 0.0).all()
    assert (variants.graph.value(np.full(len(is_dropped), 0.3))[~is_dropped] != 0.0).all()
    assert np.bincount(variants.row).max() <= MOST_VARIANTS


def test_more_absent_rows_give_wider_bounds():
    X, y, T = a_table(10, 80)
    widths = [
        np.ptp(BoundedClassifier(alpha=0.1, uncertainty=Budget(rows=k)).fit(X, y).decision_bounds(T), axis=1)
        for k in (1, 2, 5)
    ]
    assert all((1.2 * less < more).all() for less, more in itertools.pairwise(widths))


@pytest.mark.parametrize("name", ["masses", "breast cancer"])
@pytest.mark.parametrize("k", [1, 8])
def test_rows_that_pull_most_move_no_score_of_a_real_table_beyond_its_bounds(name, k):
    """Rows whose gradients are aligned with the score's direction; then the next ones from the model without them."""
    X, y = load_mammographic_masses() if name == "masses" else load_breast_cancer(return_X_y=True)
    if name == "masses":
        X, y = X[~np.isnan(X).any(axis=1)], y[~np.isnan(X).any(axis=1)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X, y, T = X[::2], y[::2], X[1::2][:4]
    clf = BoundedClassifier(alpha=0.3, uncertainty=Budget(rows=k)).fit(X, y)
    search = BudgetSearch(*clf.training_.models[0], MovableRows.of_numbers([], [], [], []))
    for (low, high), t in zip(clf.decision_bounds(T), np.column_stack([T, np.ones(4)]), strict=True):
        for side in (-1.0, 1.0):
            dropped, w = np.zeros(0, dtype=np.intp), search.w
            for _ in range(k):
                gains = side * search.gains_of_rows(t, w, search.X)
                gains[dropped] = -np.inf
                dropped = np.append(dropped, np.argmax(gains))
                w = search.retrained(dropped[:0], w, dropped_rows=dropped)
                assert low - 1e-9 <= t @ w <= high + 1e-9
            end = high if side > 0.0 else low
            assert side * (t @ w - t @ search.w) >= 0.5 * side * (end - t @ search.w)
