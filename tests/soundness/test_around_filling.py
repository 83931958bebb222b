"""Bounds around a filled-in table hold for every table that differs from it as allowed (lem-budget)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from ipub.answers.attained import BudgetSearch
from ipub.certificates import Certificate
from ipub.certificates.row_sums import table as table_module
from ipub.certificates.row_sums.bounds import (
    CertifiedEnds,
    bounds_around_filling,
    bounds_of_smaller_budget,
    budget_bounds_within,
    narrowed_by_all_fillings,
    with_box,
)
from ipub.certificates.row_sums.variants import make_variants
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from support.cases import train
from support.fillings import FilledCase, case_of_long_rows, filled_case, scaled, some_ranges, wrong_sums
from support.oracles.rationals import holds

SMOOTH = [name for name, loss in LOSSES.items() if loss.is_smooth]

each_loss = pytest.mark.parametrize("loss", SMOOTH)
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
each_limit = pytest.mark.parametrize("counts", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (9, 1), (9, 9)], ids=str)


def wrong_scores(
    case: FilledCase,
    counts: tuple[int, ...],
    solution,
    inner: int = 6,
    tables=None,
    widths=None,
    larger=None,
    is_narrowed=False,
    is_met=False,
) -> tuple[int, list[str]]:
    """Compare the bounds with the exact models of all vertices and some inner points; no tolerance.

    With a `larger` budget they are over the ranges that are proved for that, as these are or narrowed, or met with
    those that the budget itself proves.
    """
    moves = BudgetMoves(larger or counts)
    found = bounds_around_filling(case.problem, solution, case.movable, moves, widths).found
    if found is None:
        return 0, []
    if is_met:
        own = bounds_around_filling(case.problem, solution, case.movable, BudgetMoves(counts)).found
        if own is None:
            return 0, []
        found = narrowed_by_all_fillings(own, Certificate("tight", with_box(found), 0.0))
    elif is_narrowed:
        known = CertifiedEnds(Certificate("tight", with_box(found), 0.0))
        found = budget_bounds_within(case.problem, solution, case.movable, BudgetMoves(counts), known)
    elif larger:
        found = bounds_of_smaller_budget(found, case.problem, solution, case.movable, BudgetMoves(counts))
    parts = with_box(found)
    assert [part.name for part in parts] == ["box", "row sums"]
    ends = {part.name: part.ends(case.X_test) for part in parts}
    ends["both"] = tuple(Certificate("tight", parts, 0.0).score_bounds(case.X_test).T)
    if tables is None:
        tables = itertools.chain(case.vertices(counts), case.inner_points(np.random.default_rng(0), counts, inner))
    count, wrong = 0, []
    for table in tables:
        model = case.minimise(table)
        for row, x in enumerate(case.X_test):
            for name, (low, high) in ends.items():
                count += 1
                if not holds((low[row], high[row]), model.score(x)):
                    wrong.append(f"{name}, row {row}: {low[row], high[row]} but {model.score(x)}; {case!r}")
    return count, wrong


@each_loss
@each_intercept
@each_limit
@pytest.mark.share(5)
def test_bounds_hold_for_every_vertex_and_inner_point_exactly(loss, intercept, counts, report_proofs):
    rng = np.random.default_rng([4, len(loss), intercept, *counts])
    total = 0
    for trial in range(9):
        case = filled_case(rng, loss, intercept=intercept, large=trial == 2)
        count, wrong = wrong_scores(case, counts, train(case.problem))
        assert wrong == []
        total += count
        if trial >= 2 and total:
            break
    assert total > 0
    report_proofs(total)


@each_loss
@each_intercept
@pytest.mark.parametrize("kappa", [0.02, 0.1, 0.3])
@pytest.mark.share(2)
def test_bounds_hold_exactly_with_an_l1_penalty(loss, intercept, kappa, report_proofs):
    rng = np.random.default_rng([14, len(loss), intercept, int(100 * kappa)])
    total = 0
    for _ in range(3):
        case = filled_case(rng, loss, intercept=intercept, kappa=kappa)
        count, wrong = wrong_scores(case, (1, 1), train(case.problem))
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


@each_loss
def test_bounds_hold_for_any_weights(loss, report_proofs):
    rng = np.random.default_rng([5, len(loss)])
    total = 0
    for size in (1e-3, 0.1, 0.5, 0.01, 1e-5):
        case = filled_case(rng, loss, intercept=True)
        solution = train(case.problem)
        solution = replace(solution, w=solution.w + size * rng.normal(size=len(solution.w)))
        count, wrong = wrong_scores(case, (2, 1), solution)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


def test_ranges_hold_the_weights_that_they_were_proved_from():
    # Scores are ruled out on the way from these weights to all models (thm-ranges).
    rng, n_proved = np.random.default_rng(21), 0
    for size in (1e-3, 0.01, 0.03, 0.003, 1e-4):
        case = filled_case(rng, "log_loss", intercept=True)
        case = replace(scaled(case, np.ones(case.X.shape[1]), 0.02), penalty=ElasticNet(1.0, 0.0, 1))
        solution = train(case.problem)
        solution = replace(solution, w=solution.w + size * rng.normal(size=len(solution.w)))
        found = bounds_around_filling(case.problem, solution, case.movable, BudgetMoves((1, 1))).found
        if found is not None:
            n_proved += 1
            assert found.searched is found.ranges
            assert (found.ranges.weight_lower <= solution.w).all()
            assert (solution.w <= found.ranges.weight_upper).all()
    assert n_proved >= 2


@each_loss
@each_intercept
def test_bounds_of_smaller_budgets_hold_over_the_narrowed_ranges_of_larger_ones(loss, intercept, report_proofs):
    rng = np.random.default_rng([19, len(loss), intercept])
    total, widths = 0, np.zeros(2)
    for counts, larger in [((1, 0), (2, 0)), ((0, 0), (2, 1)), ((1, 0), (9, 9)), ((0, 1), (1, 1)), ((2, 0), (3, 0))]:
        case = filled_case(rng, loss, intercept=intercept)
        solution = train(case.problem)
        count, wrong = wrong_scores(case, counts, solution, larger=larger, is_narrowed=True)
        assert wrong == []
        total += count
        wide = bounds_around_filling(case.problem, solution, case.movable, BudgetMoves(larger)).found
        if wide is not None:
            given = case.problem, solution, case.movable, BudgetMoves(counts)
            plain = bounds_of_smaller_budget(wide, *given)
            narrow = budget_bounds_within(*given, CertifiedEnds(Certificate("tight", (wide,), 0.0)))
            widths += [np.subtract(*each.ends(case.X_test)[::-1]).sum() for each in (plain, narrow)]
    assert total > 0
    assert 0.0 < widths[1] <= 1.001 * widths[0]
    report_proofs(total)


@each_loss
@each_intercept
def test_bounds_of_budgets_hold_over_their_ranges_and_those_of_larger_ones(loss, intercept, report_proofs):
    rng = np.random.default_rng([23, len(loss), intercept])
    total = 0
    for counts, larger in [((1, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (3, 0)), ((0, 1), (1, 1))]:
        case = filled_case(rng, loss, intercept=intercept)
        count, wrong = wrong_scores(case, counts, train(case.problem), larger=larger, is_met=True)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


@each_loss
@each_intercept
def test_bounds_of_smaller_budgets_hold_over_the_ranges_of_larger_ones(loss, intercept, report_proofs):
    rng = np.random.default_rng([17, len(loss), intercept])
    total, widths = 0, np.zeros(2)
    for counts, larger in [((1, 0), (2, 0)), ((0, 0), (2, 1)), ((1, 0), (9, 9)), ((0, 1), (1, 1)), ((2, 0), (3, 0))]:
        case = filled_case(rng, loss, intercept=intercept)
        solution = train(case.problem)
        count, wrong = wrong_scores(case, counts, solution, larger=larger)
        assert wrong == []
        total += count
        moves, X = [BudgetMoves(each) for each in (counts, larger)], case.X_test
        wide = bounds_around_filling(case.problem, solution, case.movable, moves[1]).found
        if wide is not None:
            narrow = bounds_of_smaller_budget(wide, case.problem, solution, case.movable, moves[0])
            widths += [np.subtract(*each.ends(X)[::-1]).sum() for each in (narrow, wide)]
    assert total > 0
    assert widths[0] < widths[1]
    report_proofs(total)


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.3, 1.0, 30.0])
def test_widths_of_another_budget_are_where_to_start_and_prove_nothing(size, report_proofs):
    rng = np.random.default_rng([16, int(10 * size)])
    total = 0
    for trial in range(3):
        case = filled_case(rng, "log_loss", intercept=bool(trial % 2))
        solution = train(case.problem)
        first = bounds_around_filling(case.problem, solution, case.movable, BudgetMoves((1, 0))).found
        if first is None or first.widths is None:
            continue
        for widths in (size * first.widths, np.full((2, 3), size)):
            count, wrong = wrong_scores(case, (2, 1), solution, inner=0, widths=widths)
            assert wrong == []
            total += count
    assert total > 0
    report_proofs(total)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("kind", ["tiny", "huge", "mixed", "thin"])
def test_bounds_hold_exactly_whatever_the_units_of_columns_and_however_short_the_intervals(loss, kind, report_proofs):
    rng = np.random.default_rng([12, len(loss), len(kind)])
    total = 0
    for trial in range(3):
        case = filled_case(rng, loss, intercept=bool(trial % 2))
        d = case.X.shape[1]
        exponents = {"tiny": np.full(d, -6.0), "huge": np.full(d, 6.0), "mixed": rng.choice([-6.0, 0.0, 6.0], size=d)}
        size = [1e-14, 1e-9, 1e-5][trial] if kind == "thin" else 1.0
        case = scaled(case, 10.0 ** exponents.get(kind, np.zeros(d)), size)
        count, wrong = wrong_scores(case, (2, 1), train(case.problem), inner=2)
        assert wrong == []
        total += count
    assert total > 0 or kind != "thin"
    report_proofs(total)


def test_bounds_hold_exactly_beside_rows_whose_curvature_vanishes(report_proofs):
    rng = np.random.default_rng(15)
    total = 0
    for trial in range(4):
        case = filled_case(rng, "log_loss", intercept=bool(trial % 2), n=8)
        X = case.X.copy()
        quiet = int(np.setdiff1d(np.arange(8), case.movable.rows)[0])
        X[quiet] = 0.0
        X[quiet, 0] = 3e3 * np.sign(train(case.problem).w[0]) * case.y[quiet]
        case = replace(case, X=X)
        count, wrong = wrong_scores(case, (1, 1), train(case.problem), inner=0)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


def attacked(case: FilledCase, counts: tuple[int, ...], rng) -> list:
    """Return tables that the search within a budget finds for the test rows, and some at random."""
    search = BudgetSearch(case.problem, train(case.problem), case.movable)
    choices = [
        search.best(x, np.zeros_like(x), side, BudgetMoves(counts)).options.tolist()
        for x in case.X_test
        for side in (-1.0, 1.0)
    ]
    choices += case.some_choices(rng, counts, 3)
    return [case.moved([(option, fmpq(1)) for option in options]) for options in choices]


@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "huber"])
@pytest.mark.parametrize("n_units", [1, 3, 5, 8, 15, 16, 17, 20])
@pytest.mark.share(3)
def test_bounds_hold_exactly_for_rows_with_many_units(loss, n_units, report_proofs):
    rng = np.random.default_rng([17, len(loss), n_units])
    total = 0
    for number, counts in enumerate([(1, 0), (3, 1), (n_units - 1, 1), (n_units, 2), (99, 0)]):
        case = case_of_long_rows(rng, loss, n_units, intercept=bool(number % 2))
        tables = attacked(case, counts, rng)
        count, wrong = wrong_scores(case, counts, train(case.problem), tables=tables)
        assert wrong == []
        total += count
    assert total > 0
    report_proofs(total)


def wrong_of_sums(loss: str, seed: int, kappa: float = 0.0, trials: int = 6) -> tuple[int, list[str]]:
    """Compare row sums over any ranges with tables within the budget: tiny ones, and rows with many units."""
    rng = np.random.default_rng([18, len(loss), seed, int(100 * kappa)])
    total = 0
    wrong: list[str] = []
    for trial in range(trials):
        if trial % 2:
            case = case_of_long_rows(rng, loss, int(rng.integers(1, 21)), intercept=bool(trial % 4 == 1))
            n = int((case.movable.unit_group == HOLES).sum())
            counts = (int(rng.choice([1, 2, 3, 5, 9, n - 1, n])), int(rng.integers(0, 4)))
            choices = list(case.some_choices(rng, counts, 20))
        else:
            case = filled_case(rng, loss, intercept=bool(trial % 4), large=trial % 3 == 0, kappa=kappa)
            counts = [(1, 0), (1, 1), (2, 1), (9, 9), (9, 1), (2, 0)][trial % 6]
            choices = list(case.choices(counts))
            choices = choices[:: max(1, len(choices) // 60)]
        d = case.X_test.shape[1]
        solution = train(case.problem)
        solution = replace(solution, w=solution.w + float(rng.choice([1e-6, 0.1, 1.0])) * rng.normal(size=d))
        some = some_ranges(rng, case, counts, solution, float(rng.choice([1e-9, 1e-3, 0.05, 0.3])))
        Y = np.concatenate([rng.normal(size=(2, d)), np.eye(d)[: 2 if trial % 2 else d]])
        count, found = wrong_sums(rng, case, counts, some, Y, choices)
        total, wrong = total + count, wrong + found
    return total, wrong


@pytest.mark.share(3)
@each_loss
@pytest.mark.parametrize("seed", range(3))
def test_sums_hold_for_every_model_and_table_within_the_budget_whatever_is_chosen(loss, seed):
    total, wrong = wrong_of_sums(loss, seed)
    assert wrong == []
    assert total > 200


def test_sums_hold_with_an_l1_penalty():
    assert wrong_of_sums("log_loss", 0, kappa=0.1)[1] == []


def case_in_which_two_groups_meet() -> FilledCase:
    """Return two rows: units of one group gain in the first row until a unit of the other turns its residual around.

    In the first row eight holes gain 1 each, three others 3 each once that unit differs; in the second one five holes
    gain 10 each. So with eight holes three are left for the first row, and 3 counts as 4 there.
    """
    X = np.zeros((2, 12))
    X[:, 0] = 1.0
    below = np.repeat([1.0, 0.0], [8, 3])
    movable = MovableRows.of_numbers(np.zeros(11), np.arange(1, 12), below, 1.0 - below)
    movable = movable.joined_to(MovableRows.of_numbers(np.ones(5), np.arange(1, 6), np.full(5, 10.0), np.zeros(5)))
    turns = MovableRows.of_numbers([0, 1], [0, 0], [4.0, 1e-9], [0.0, 0.0], WRONG_CELLS)
    movable = movable.joined_to(turns)
    return FilledCase(X, np.zeros(2), None, LOSSES["squared_error"], ElasticNet(1.0), movable, np.eye(12)[:1])


def test_groups_add_where_a_number_of_units_counts_as_the_next_larger_one():
    case, counts = case_in_which_two_groups_meet(), (8, 1)
    solution = replace(train(case.problem), w=np.eye(12)[0])
    rng = np.random.default_rng(0)
    some = some_ranges(rng, case, counts, solution, 0.0)
    movable = case.movable
    rows, amounts = movable.rows[movable.option_row], movable.option_amounts[:, 0]
    worst = np.flatnonzero((amounts == -4.0) | (amounts == -10.0) | ((amounts == 1.0) & (rows == 0)))
    assert len(worst) == 9
    Y = np.ones((5, 12))
    Y[:, 0] = np.linspace(-1.0, 0.5, 5)
    ranges = some.ranges
    for accuracy in (replace(ranges.accuracy, changed_share=share) for share in (0.0, 1.0)):
        tried = replace(some, ranges=replace(ranges, accuracy=accuracy))
        assert wrong_sums(rng, case, counts, tried, Y, [worst.tolist()])[1] == []


@pytest.mark.parametrize("n_units", [1, 2, 5, 16, 20])
@pytest.mark.parametrize("counts", [(0, 0), (1, 1), (4, 2), (19, 1), (99, 99)], ids=str)
def test_a_variant_uses_nothing_of_a_budget_one_all_of_it_and_none_too_much(n_units, counts):
    case = case_of_long_rows(np.random.default_rng(n_units), "log_loss", n_units)
    table = table_module.RowTable.around(case.problem, train(case.problem), case.movable, BudgetMoves(counts))
    assert table is not None
    variants = make_variants(table, with_centers=True)
    for row in range(len(table.incomplete)):
        used = variants.used[variants.row == row]
        own = table.units.row == row
        for group, allowed in enumerate(table.budget):
            most = min(int((table.units.group[own] == group).sum()), allowed)
            assert used[:, group].min() == 0
            assert used[:, group].max() == most
        assert (used == 0).all(axis=1).any()
        assert len(used) <= 64


def test_units_have_the_options_of_numbers_and_of_categories():
    numbers = MovableRows.of_numbers([4, 2], [0, 1], [1.0, 0.0], [3.0, 2.0])
    both = numbers.joined_to(MovableRows.of_categories([2], [5], [[4, 5, 6]]))
    assert both.rows.tolist() == [2, 4]
    changes = []
    for option, (columns, amounts) in enumerate(zip(both.option_columns, both.option_amounts, strict=True)):
        change = np.zeros(7)
        np.add.at(change, columns, amounts)
        changes.append((int(both.rows[both.option_row[option]]), change.tolist()))
    assert sorted(changes) == [
        (2, [0, 0, 0, 0, 0, -1, 1]),
        (2, [0, 0, 0, 0, 1, -1, 0]),
        (2, [0, 2, 0, 0, 0, 0, 0]),
        (4, [-1, 0, 0, 0, 0, 0, 0]),
        (4, [3, 0, 0, 0, 0, 0, 0]),
    ]
    assert both.is_number.tolist() == [True, False, True]


def test_a_larger_budget_gives_no_narrower_bounds():
    rng = np.random.default_rng(8)
    case = filled_case(rng, "log_loss", intercept=True)
    solution = train(case.problem)
    widths = []
    for count in (0, 1, 2, 9):
        found = bounds_around_filling(case.problem, solution, case.movable, BudgetMoves((count, count))).found
        assert found is not None
        low, high = found.ends(case.X_test)
        widths.append((high - low).max())
    assert widths[0] < 1e-6
    # Each is a bound with its own choices, so they are not exactly in order.
    assert all(width <= 1.01 * larger for width, larger in itertools.pairwise(widths))


def test_the_bounds_of_short_intervals_are_nearly_attained():
    rng = np.random.default_rng(19)
    for counts in ((1, 0), (2, 1), (9, 9)):
        case = filled_case(rng, "log_loss", intercept=True)
        case = replace(scaled(case, np.ones(case.X.shape[1]), 0.1), penalty=ElasticNet(1.0, 0.0, 1))
        solution = train(case.problem)
        found = bounds_around_filling(case.problem, solution, case.movable, BudgetMoves(counts)).found
        assert found is not None
        low, high = found.ends(case.X_test)
        search = BudgetSearch(case.problem, solution, case.movable)
        for row, x in enumerate(case.X_test):
            least, most = (search.best(x, 0.0 * x, side, BudgetMoves(counts)).score for side in (-1.0, 1.0))
            assert high[row] - low[row] <= 1.25 * (most - least) + 1e-6


def test_a_count_that_is_left_out_is_zero():
    case = filled_case(np.random.default_rng(5), "log_loss", intercept=False)
    assert (case.movable.unit_group == WRONG_CELLS).sum() > 0
    solution = train(case.problem)
    short, full = (
        bounds_around_filling(case.problem, solution, case.movable, BudgetMoves(counts)).found
        for counts in ((1,), (1, 0))
    )
    assert short is not None
    assert full is not None
    assert np.array_equal(short.ends(case.X_test), full.ends(case.X_test))


def test_nothing_that_moves_leaves_the_model_as_it_is():
    case = filled_case(np.random.default_rng(9), "squared_error", intercept=False)
    solution = train(case.problem)
    nothing = MovableRows.of_numbers([], [], [], [])
    found = bounds_around_filling(case.problem, solution, nothing, BudgetMoves((5,))).found
    assert found is not None
    low, high = found.ends(case.X_test)
    assert (high - low).max() < 1e-9
    model = case.minimise(case.moved([]))
    assert all(holds((low[k], high[k]), model.score(x)) for k, x in enumerate(case.X_test))


def test_rows_without_weight_may_differ_as_they_like(report_proofs):
    case = filled_case(np.random.default_rng(20), "log_loss", intercept=True, n=6)
    weight = np.ones(6)
    weight[case.movable.rows[0]] = 0.0
    case = replace(case, weight=weight)
    solution = train(case.problem)
    count, wrong = wrong_scores(case, (1, 1), solution)
    assert wrong == []
    assert count > 0
    report_proofs(count)
    table = table_module.RowTable.around(case.problem, solution, case.movable, BudgetMoves((1, 1)))
    assert table is not None
    assert len(table.units) == (case.movable.unit_row > 0).sum()
    assert (table.units.row >= 0).all()


def test_what_cannot_be_looked_at_gives_no_bounds(monkeypatch):
    case = filled_case(np.random.default_rng(10), "log_loss", intercept=False)
    solution = train(case.problem)
    moves = BudgetMoves((1,))
    assert bounds_around_filling(case.problem, solution, case.movable, moves).found is not None
    hinge = Problem(case.problem.rows, LOSSES["hinge"], case.penalty)
    assert bounds_around_filling(hinge, solution, case.movable, moves).found is None
    unknown = replace(solution, w=np.full_like(solution.w, np.nan))
    assert bounds_around_filling(case.problem, unknown, case.movable, moves).found is None
    monkeypatch.setattr(table_module, "MOST_ROWS", len(case.y) - 1)
    assert bounds_around_filling(case.problem, solution, case.movable, moves).found is None
