"""Refined multipliers (section 16): their bounds hold, are never wider, and narrower where rows disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from ipub.certificates.row_sums import bounds as bounds_module
from ipub.certificates.row_sums import multipliers as multipliers_module
from ipub.certificates.row_sums import prove as prove_module
from ipub.certificates.row_sums import upper as upper_module
from ipub.certificates.row_sums import variants as variants_module
from ipub.certificates.row_sums.bounds import row_sum_bounds
from ipub.certificates.row_sums.graphs import LossGraph
from ipub.certificates.row_sums.multipliers import choose
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.row_terms import RowMultipliers, largest_row_terms, row_multipliers
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import REFINEMENTS, bound_and_worst, largest_scores
from ipub.data.holes import column_ranges
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.missing_category import Levels, MissingCategories
from ipub.datasets import load_mammographic_masses
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.rounding import dot_bounds
from support.attacks import Tally, attack
from support.cases import Case, draw_solution, intervals, train, with_intercept
from support.exact_proofs import prove
from support.planted import plant_function
from support.row_sums import RowSums, ranges_over
from support.tiny_cases import TABLES, tiny_case, tiny_choices

MOST = len(REFINEMENTS)
SMOOTH_NAMES = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)

each_smooth_loss = pytest.mark.parametrize("loss_name", SMOOTH_NAMES)


def long_case(loss_name: str, n: int = 120) -> Case:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n, 3))
    score = table @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=n)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.08, 0.8, np.nan)
    case = Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.01), rng.normal(size=(6, 3)))
    return with_intercept(case)


def masses() -> Case:
    """Mammographic masses, every third row."""
    X, labels = load_mammographic_masses()
    X, y = X[::-3], np.where(labels[::-3] == "malignant", 1.0, -1.0)
    scaler = StandardScaler().fit(X)
    X, ranges = scaler.transform(X), np.ascontiguousarray(scaler.transform(column_ranges(X).T).T)
    matrix = IntervalMatrix.from_table(X, ranges)
    case = Case(matrix, y, None, LOSSES["log_loss"], ElasticNet(0.003), np.nan_to_num(X[:10]))
    return with_intercept(case)


def many_choices(rng: np.random.Generator) -> Case:
    """Sixty rows with two numbers and a category of four levels, which every fifth row misses."""
    n, levels = 60, Levels(np.arange(2, 6))
    table = np.concatenate([rng.normal(size=(n, 2)), np.eye(4)[rng.integers(0, 4, size=n)]], axis=1)
    y = np.where(table @ [1.0, -1.0, 2.0, -1.0, 1.0, 0.0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    missing = MissingCategories.of(np.arange(n)[:, None] % 5 == 0, [levels])
    missing.put(table)
    matrix = replace(IntervalMatrix.from_bounds(table, table), missing_categories=missing)
    return Case(matrix, y, None, LOSSES["log_loss"], ElasticNet(0.01), rng.normal(size=(3, 6)))


def wide_ranges(case: Case, width: float) -> Ranges:
    """Return ranges of so many first-order changes: they need not close."""
    solution = train(case.problem)
    table = RowTable.of(case.problem, solution)
    at_w = Ranges.of(table, *dot_bounds(table.directions, solution.w), on_path=True)
    both = np.concatenate([table.directions, -table.directions])
    change = width * prove_module.first_order_changes(at_w, both)
    return at_w.with_ends(*prove_module.around(at_w.lower, at_w.upper, change))


@pytest.mark.parametrize("name", ["log_loss", "smoothed_hinge", "huber", "masses"])
def test_refined_bounds_are_narrower_and_never_wider(name):
    case = masses() if name == "masses" else long_case(name)
    ranges = wide_ranges(case, 2.0)
    Y = np.vstack([case.X_test, -case.X_test])
    plain = largest_scores(ranges, Y)
    widths = [largest_scores(ranges, Y, n_refined) - Y @ ranges.table.w for n_refined in range(MOST + 1)]
    np.testing.assert_array_equal(widths[0], plain - Y @ ranges.table.w)
    for wider, narrower in pairwise(widths):
        assert (narrower <= wider).all()
        assert (narrower < wider).any()
    assert widths[-1].sum() < 0.97 * widths[0].sum()


def test_of_all_bounds_the_least_counts_and_no_nan(monkeypatch):
    case = long_case("log_loss", 40)
    ranges, Y = wide_ranges(case, 2.0), np.eye(4)
    honest = upper_module.bound_and_worst
    found = np.array([[5.0, 1.0, np.nan, np.nan], [4.0, 2.0, 3.0, np.nan], [6.0, 2.0, np.nan, np.nan]])
    following = iter(found)

    def planted(ranges, Y, choice):
        return honest(ranges, Y, choice)._replace(upper=next(following))

    plant_function(monkeypatch, upper_module, "bound_and_worst", planted)
    np.testing.assert_array_equal(largest_scores(ranges, Y, 2), [4.0, 1.0, 3.0, np.inf])


# --- soundness ----------------------------------------------------------------------------------------------------


@pytest.fixture
def always_refined(monkeypatch):
    plant_function(monkeypatch, prove_module, "_worth_trying", lambda *_: (MOST,))


@each_smooth_loss
def test_refined_bounds_hold_at_every_vertex_and_inside_exactly(loss_name, always_refined, report_proofs):
    row_sums, count = RowSums(is_refined=True), 0
    for number in range(4):
        rng = np.random.default_rng([0, number, SMOOTH_NAMES.index(loss_name)])
        cells = 1 + number % 3
        case = tiny_case(rng, TABLES[number % len(TABLES)], loss_name, ("l2", "elastic net")[number % 2], cells)
        case = replace(case, penalty=replace(case.penalty, lam=10.0 ** rng.uniform(-3.0, 0.0)))
        case = with_intercept(case) if number % 2 else case
        solutions = [train(case.problem), draw_solution(rng, case, str(rng.choice(["noisy", "loose", "scaled"])))]
        with np.errstate(all="ignore"):
            made, failures = prove(case, solutions, {1: 3, 2: 1, 3: 0}[cells], {"row sums": row_sums})
        assert failures == []
        count += made
    assert row_sums.closed > 0
    report_proofs(count)


@each_smooth_loss
def test_no_completion_breaks_a_refined_bound(loss_name, always_refined, report_attack):
    row_sums, tally, rng = RowSums(is_refined=True), Tally(), np.random.default_rng(1)
    case = long_case(loss_name, 40)
    for alpha in (0.03, 0.3):
        case = replace(case, penalty=replace(case.penalty, lam=alpha))
        attack(rng, case, train(case.problem), tally, rounds=1, certificates={"row sums": row_sums})
    report_attack(tally)
    assert tally.violations == []
    assert row_sums.closed > 0


def test_refined_multipliers_prove_ranges_where_plain_ones_do_not(monkeypatch):
    """Then they are narrowed by refined ones as well."""
    case = replace(long_case("squared_hinge"), penalty=ElasticNet(0.04, n_free=1))
    solution = train(case.problem)
    narrowed_with, honest = [], prove_module.narrowed

    def recorded(ranges, most, n_refined=0):
        narrowed_with.append(n_refined)
        return honest(ranges, most, n_refined)

    plant_function(monkeypatch, bounds_module, "narrowed", recorded)
    assert row_sum_bounds(case.problem, solution) is not None
    assert narrowed_with == [MOST]
    monkeypatch.setattr(prove_module, "_worth_trying", lambda *_: (0,))
    assert row_sum_bounds(case.problem, solution) is None


# --- where terms are largest --------------------------------------------------------------------------------------


def regrets(ranges: Ranges, Y: np.ndarray) -> Iterator[float]:
    """Yield for each row and direction how far its term at what is said to be worst is from the largest on a grid.

    Relative to how far the term varies over the grid of scores, weights and cells; of them only cells are free there.
    """
    table, choice = ranges.table, choose(ranges, Y)
    worst, multipliers = bound_and_worst(ranges, Y, choice).worst, row_multipliers(ranges, choice.u, choice.mixture)
    scores = np.linspace(ranges.row_lower, ranges.row_upper, 9)
    for i, x in enumerate(table.incomplete):
        cells = np.flatnonzero(table.cell_rows == i)
        columns, radii = table.cell_columns[cells], table.cell_radii[cells]
        moves = np.array(list(product(*np.outer(radii, [-1.0, -0.5, 0.0, 0.5, 1.0]))))
        weights = np.array(list(product(*np.transpose(ranges.weight_ends)[columns])))
        derivative = LossGraph(table.incomplete_graph.loss, table.incomplete_graph.y[i : i + 1])
        for k, u in enumerate(choice.u):

            def largest(
                score, weight, k=k, u=u, i=i, x=x, cells=cells, columns=columns, derivative=derivative, d=moves
            ):
                pull = derivative.value((score + d @ weight)[:, None])[:, 0] * (x @ u + d @ u[columns])
                return multipliers.score[k, i] * score + multipliers.cells[k, cells] @ weight - pull.min()

            on_grid = [largest(score, weight) for score in scores[:, i] for weight in weights]
            there = largest(worst.score[k, i], worst.weights[k, cells])
            yield (max(on_grid) - there) / np.ptp(on_grid)


def small_case(rng: np.random.Generator) -> Case:
    """Three rows with one to three uncertain cells, and some without."""
    table, radius = rng.normal(size=(8, 3)), np.full((8, 3), np.nan)
    for i in range(3):
        radius[i, : i + 1] = rng.uniform(0.1, 1.0)
    y = rng.choice([-1.0, 1.0], size=8)
    return Case(intervals(table, radius), y, None, LOSSES["log_loss"], ElasticNet(0.1), rng.normal(size=(4, 3)))


def ranges_around_w(rng: np.random.Generator, case: Case) -> Ranges:
    solution = train(case.problem)
    return ranges_over(RowTable.of(case.problem, solution), solution.w + 0.5 * rng.normal(size=(3, 3)))


def test_the_worst_score_of_a_row_is_where_its_term_is_largest():
    """About: scores are looked at in pieces. Weights are known here, so that only scores and cells are open."""
    found: list[float] = []
    for number in range(20):
        rng = np.random.default_rng([2, number])
        case = small_case(rng)
        ranges = ranges_around_w(rng, case)
        which, lower, upper = ranges.table.weights_at, ranges.lower.copy(), ranges.upper.copy()
        lower[which] = upper[which] = 0.5 * (lower[which] + upper[which])
        with np.errstate(all="ignore"):
            found += regrets(ranges.with_ends(lower, upper), case.X_test)
    assert len(found) == 20 * 3 * 4
    assert np.median(found) < 0.02


def test_the_worst_weights_of_cells_are_at_the_ends_that_their_multipliers_ask_for():
    rng = np.random.default_rng(3)
    ranges = ranges_around_w(rng, small_case(rng))
    table, at = ranges.table, ranges.table.cell_columns
    signs = rng.choice([-1.0, 1.0], size=(5, len(at)))
    multipliers = RowMultipliers(np.zeros((5, len(table.incomplete))), signs, ())
    worst = largest_row_terms(ranges, np.zeros((5, 3)), multipliers, with_worst=True).worst
    ends = np.where(signs > 0.0, ranges.weight_upper[at], ranges.weight_lower[at])
    np.testing.assert_allclose(worst.weights, ends, rtol=1e-12)
    assert (ranges.weight_upper > ranges.weight_lower).all()


@pytest.mark.parametrize("most_variants", [64, 1])
def test_the_worst_weights_of_levels_are_at_the_ends_that_their_multipliers_ask_for(most_variants, monkeypatch):
    """The level of a row that does not turn its score is free."""
    monkeypatch.setattr(variants_module, "MOST_VARIANTS", most_variants)
    rng = np.random.default_rng(4)
    case = tiny_choices(rng, "log_loss", "l2", gentle=False)
    solution = train(case.problem)
    table = RowTable.of(case.problem, solution)
    ranges = ranges_over(table, solution.w + 0.5 * rng.normal(size=(3, len(solution.w))))
    signs = tuple(rng.choice([-1.0, 1.0], size=(5, len(each.rows), len(each.columns))) for each in table.missing)
    multipliers = RowMultipliers(np.zeros((5, len(table.incomplete))), np.zeros((5, len(table.cell_rows))), signs)
    worst = largest_row_terms(ranges, np.zeros((5, len(solution.w))), multipliers, with_worst=True).worst
    assert table.missing
    for missing, sign, found in zip(table.missing, signs, worst.levels, strict=True):
        low, high = (each[missing.columns] for each in ranges.weight_ends)
        np.testing.assert_allclose(found, np.where(sign > 0.0, high, low), rtol=1e-12)


def test_shifted_multipliers_of_levels_narrow_bounds(monkeypatch):
    """Many rows of which a category is missing, all of them in both their options."""
    rng = np.random.default_rng(5)
    ratios = []
    for number in range(4):
        case = many_choices(np.random.default_rng([5, number]))
        ranges, Y = wide_ranges(case, 1.75), rng.normal(size=(20, case.matrix.shape[1]))
        at_w, found = Y @ ranges.table.w, []
        for step in (0.0, 0.5):
            monkeypatch.setattr(multipliers_module, "LEVEL_STEP", step)
            found.append((largest_scores(ranges, Y, MOST) - at_w).sum())
        ratios.append(found[1] / found[0])
    assert np.mean(ratios) < 0.995
