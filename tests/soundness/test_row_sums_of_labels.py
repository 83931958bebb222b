"""Row sums with uncertain labels (lem-two-labels): targets in intervals, unknown classes, labels that may be wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx

from ipub.answers.attained import attained_bounds
from ipub.certificates import Certificate, certify_ball, certify_pointwise
from ipub.certificates.per_row.ruled_out_scores import is_on_one_side, narrow_by_ruling_out
from ipub.certificates.row_sums.bounds import RowSumBounds, row_sum_bounds_within
from ipub.certificates.row_sums.graphs import LossGraph, graph_points
from ipub.certificates.row_sums.prove import prove_ranges
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group
from ipub.certificates.row_sums.upper import largest_scores
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import dot_bounds
from ipub.problem.objective import Problem
from ipub.rows import MemoryRows, with_label_uncertainty
from ipub.tables.label_uncertainty import LabelUncertainty
from support.cases import Case, draw_solution, intervals, train, vary_loss, with_intercept
from support.exact_proofs import exact_completions
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds, rational
from support.row_sums import (
    Points,
    RowSums,
    certificate_of,
    completed_tables,
    directions,
    draw,
    exact_force,
    exact_score,
    forces,
    point_case,
    random_sums,
    ranges_over,
    row_sum_bounds,
    sums_of,
    without_tilt,
)
from support.tiny_cases import tiny_choices
from support.uncertain_labels import doubtful, flipped_labels, of_either_class, problem_of, with_flips

LOSS_NAMES = tuple(LOSSES)
CLASSES = tuple(name for name, loss in LOSSES.items() if loss.task == "classification")
KINDS = tuple(
    (name, kind) for name in LOSS_NAMES for kind in ("uncertain", "wrong") if kind != "wrong" or name in CLASSES
)
SMOOTH_KINDS = tuple(each for each in KINDS if LOSSES[each[0]].is_smooth)
each_kind = pytest.mark.parametrize(("loss_name", "kind"), KINDS)
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])

Labelled = tuple[Problem, list[np.ndarray]]


def labelled(rng: np.random.Generator, case: Case, kind: str, count: int | None = None) -> Labelled:
    """Return the problem with uncertain labels, and labels that are possible: the given ones first."""
    if kind == "uncertain":
        problem, labels = doubtful(rng, case)
        return problem, labels
    count = int(rng.integers(1, 3)) if count is None else count
    some = list(itertools.islice(flipped_labels(replace(case, penalty=replace(case.penalty, n_free=0)), count), 60))
    return with_flips(case, count), some


def row_table(problem: Problem, solution) -> RowTable:
    table = RowTable.of(problem, solution)
    assert table is not None
    assert (table.label_group != Group.CERTAIN).any()
    return table


# --- thm-row-sums -----------------------------------------------------------------------------------------------------


@each_kind
def test_row_sums_hold_for_every_w_completion_and_label_whatever_is_chosen(loss_name, kind):
    count = 0
    for number in range(24):
        rng = np.random.default_rng([30, number, LOSS_NAMES.index(loss_name)])
        case = draw(rng, number, loss_name, "elastic net" if number % 4 == 3 else "l2")
        if len(case.y) < 2:
            continue
        problem, labels = labelled(rng, case, kind)
        solution = draw_solution(rng, case, str(rng.choice(["trained", "noisy", "zero", "scaled"])))
        with np.errstate(all="ignore"):
            table = row_table(problem, solution)
            w, spread = solution.w, rng.choice([0.0, 1e-8, 1e-3, 0.1, 1.0, 3.0])
            size = spread * (np.abs(w) + 1e-3 * (np.abs(w).max() or 1.0))
            W = w + size * rng.normal(size=(rng.integers(1, 4), len(w)))
            Y, ranges = directions(case), ranges_over(without_tilt(table), W)
            bounds, u = random_sums(rng, ranges, Y)[:2]
            for completed in completed_tables(rng, case, 2, with_centers=True):
                for y in labels:
                    F = forces(replace(case, y=y), completed, W)
                    value = Y @ W.T - u @ F.T
                    scale = np.abs(Y) @ np.abs(W).T + np.abs(u) @ np.abs(F).T
                    assert (bounds[:, None] >= value - 1e-11 * scale).all()
                    count += value.size
    assert count > 2000


@pytest.mark.parametrize(("loss_name", "kind"), SMOOTH_KINDS)
def test_row_sums_at_a_point_are_exact_but_for_rounding(loss_name, kind, report_proofs):
    """With point ranges the bound is what the worst labels do, and rounding: a unit that is not counted shows."""
    count = 0
    for number in range(5):
        rng = np.random.default_rng([31, number, LOSS_NAMES.index(loss_name)])
        case = point_case(rng, number, loss_name, "elastic net" if number % 2 else "l2")
        case = replace(case, y=np.ldexp(np.round(np.ldexp(case.y, 10)), -10))
        problem, labels = labelled(rng, case, kind, count=1)
        solution = draw_solution(rng, case, "noisy")
        Y = directions(case)
        ranges = ranges_over(without_tilt(row_table(problem, solution)), solution.w[None])
        with np.errstate(all="ignore"):
            bounds, U = random_sums(rng, ranges, Y)[:2]
        with ctx.workprec(300):
            center = case.extended(case.matrix.center_rows(slice(0, len(case.y))))
            for labels_now in labels:
                F = exact_force(replace(case, y=labels_now), center, solution.w)
                for y, u, bound in zip(Y, U, bounds, strict=True):
                    exact = exact_score(y, solution.w)
                    for part, value in zip(F, u.tolist(), strict=True):
                        exact -= part * arb(value)
                    assert arb(bound) >= exact
                    count += 1
    report_proofs(count)


def table_of(rng: np.random.Generator, n: int, loss_name: str, cells: int = 0) -> Case:
    """Rows of two overlapping classes, or targets with noise."""
    table, radius = rng.normal(size=(n, 2)), np.full((n, 2), np.nan)
    for _ in range(cells):
        radius[rng.integers(n), rng.integers(2)] = 0.3
    score = table @ [1.0, -0.5] + rng.normal(size=n)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    y = np.ldexp(np.round(np.ldexp(y, 10)), -10)
    return Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.3), rng.normal(size=(3, 2)))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("loss_name", CLASSES)
def test_of_wrong_labels_the_worst_count_and_no_more(loss_name, count):
    """At a point the bound is attained: so many labels add what the worst of all choices adds, not less, not more."""
    rng = np.random.default_rng([32, count, len(loss_name)])
    case = table_of(rng, 7, loss_name)
    table, radius = case.matrix.center_rows(slice(0, 7)), np.full((7, 2), np.nan)
    radius[0, 0] = radius[3, 1] = 1e-300
    case = replace(case, matrix=intervals(table, radius))
    solution, Y = train(case.problem), directions(case)
    ranges = ranges_over(without_tilt(row_table(with_flips(case, count), solution)), solution.w[None])
    with np.errstate(all="ignore"):
        bounds, u = sums_of(ranges, Y)[:2]
    worst = np.full(len(Y), -np.inf)
    for y in flipped_labels(case, count):
        F = forces(replace(case, y=y), table, solution.w[None])
        np.maximum(worst, Y @ solution.w - u @ F[0], out=worst)
    if case.loss.is_smooth:
        np.testing.assert_allclose(bounds, worst, rtol=1e-9, atol=1e-9)
    assert (bounds >= worst - 1e-12).all()


@pytest.mark.parametrize("loss_name", CLASSES)
def test_points_of_a_graph_have_its_factor(loss_name):
    rng = np.random.default_rng([44, len(loss_name)])
    y, lower = rng.choice([-1.0, 1.0], size=60), rng.normal(size=60)
    upper = lower + 10.0 ** rng.uniform(-2.0, 1.0, size=60)
    plain = graph_points(LossGraph(LOSSES[loss_name], y), lower, upper, 3)
    for factor in (0.0, 2.0):
        points = graph_points(LossGraph(LOSSES[loss_name], y, np.full(60, factor)), lower, upper, 3)
        np.testing.assert_array_equal(points.score, plain.score)
        for values, times_one in zip(points[1:5], plain[1:5], strict=True):  # derivatives, and distances from chords
            np.testing.assert_allclose(values, factor * times_one, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("kind", ["uncertain", "wrong"])
def test_products_that_cancel_are_rounded_outward(kind):
    """At w = 0 scores are exact and no multiplier counts; ``x.u`` is next to nothing but for what it loses."""
    rng, d = np.random.default_rng(45), 40
    table = rng.normal(size=(3, d))
    matrix, y = intervals(table, np.full((3, d), np.nan)), np.array([1.0, -1.0, 1.0])
    case = Case(matrix, y, None, LOSSES["squared_hinge"], ElasticNet(1e-9), np.eye(d))
    problem, labels = labelled(rng, case, kind, count=2)
    solution = replace(train(problem), w=np.zeros(d))
    ranges = ranges_over(without_tilt(row_table(problem, solution)), solution.w[None])
    U = rng.normal(size=(300, d))
    basis = np.linalg.qr(table.T)[0]
    U -= (U @ basis) @ basis.T
    # Weights are 0, so that any direction has the same row sums; those across the rows have multipliers across them.
    bounds, U = sums_of(ranges, U)[:2]
    with ctx.workprec(300):
        for y_now in labels:
            F = exact_force(replace(case, y=y_now), table, solution.w)
            for u, bound in zip(U.tolist(), bounds, strict=True):
                assert arb(bound) >= -sum((part * arb(value) for part, value in zip(F, u, strict=True)), arb(0))


# --- thm-ranges -------------------------------------------------------------------------------------------------------


def test_labels_that_leave_one_class_prove_nothing_with_an_intercept():
    rng = np.random.default_rng(34)
    case = with_intercept(table_of(rng, 12, "log_loss"))
    solution, n_least = train(case.problem), int(min((case.y > 0.0).sum(), (case.y < 0.0).sum()))
    for count in (n_least, n_least + 1):
        assert row_sum_bounds(with_flips(case, count), solution) is None
    for side in (-1.0, 1.0):
        problem = problem_of(case, of_either_class(case, np.flatnonzero(case.y == side)))
        assert row_sum_bounds(problem, train(problem)) is None


def test_labels_that_are_uncertain_in_other_ways_are_left_alone():
    case = table_of(np.random.default_rng(36), 6, "squared_error")
    solution = train(case.problem)
    for radius, weight_radius in ((0.5, 1.0), (0.0, 0.5)):
        doubt = LabelUncertainty(np.full(6, radius), np.full(6, weight_radius))
        rows = with_label_uncertainty(MemoryRows(case.matrix, case.y), doubt)
        problem = Problem(rows, case.loss, case.penalty)
        assert RowTable.of(problem, solution) is None
        assert row_sum_bounds(problem, solution) is None
        assert row_sum_bounds_within(problem, solution, certify_ball(problem, solution)) is None


# --- the bounds -------------------------------------------------------------------------------------------------------


def prove(
    case: Case, problem: Problem, labels: Iterable[np.ndarray], certificates: dict[str, Callable], inner: int = 0
):
    """Compare bounds with the exact minimiser for every label, vertex and point inside; return how many."""
    solution = train(problem)
    with np.errstate(all="ignore"):
        bounds = {name: make(problem, solution).score_bounds(case.X_test) for name, make in certificates.items()}
    minimise, count = exact_intercept_model if case.penalty.n_free else exact_model, 0
    for y in labels:
        if case.penalty.n_free and case.loss.task == "classification" and abs(y.sum()) == len(y):
            continue  # of one class: no minimiser
        for table in exact_completions(case.matrix, inner):
            model = minimise(table, y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa)
            for row, x in enumerate(case.X_test):
                exact = model.score(x)
                for name, ends in bounds.items():
                    assert holds(ends[row], exact), (name, row, ends[row], exact, y, case)
                    count += 1
    return count


@pytest.mark.share(2)
@each_intercept
@pytest.mark.parametrize(("loss_name", "kind"), SMOOTH_KINDS)
def test_bounds_hold_for_every_label_vertex_and_point_inside_exactly(loss_name, kind, intercept, report_proofs):
    row_sums, count = RowSums(), 0
    for number in range(4):
        rng = np.random.default_rng([37, number, LOSS_NAMES.index(loss_name), intercept])
        case = vary_loss(rng, table_of(rng, 6 if number else 14, loss_name, cells=number % 3))
        penalty = ElasticNet(10.0 ** rng.uniform(-1.5 if number else 0.5, 0.5 if number else 1.0), 0.02 * (number == 3))
        case = replace(case, penalty=penalty)
        if number == 2:
            case = tiny_choices(rng, loss_name, "l2", gentle=True)
            case = replace(case, y=np.ldexp(np.round(np.ldexp(case.y, 10)), -10))
        case = with_intercept(case) if intercept else case
        problem, labels = labelled(rng, case, kind, count=1)
        count += prove(case, problem, labels, {"row sums": row_sums}, inner=int(case.matrix.n_uncertain == 1))
    assert row_sums.closed > 0
    report_proofs(count)


def within_ball(problem: Problem, solution) -> Certificate:
    known = certify_ball(problem, solution)
    found = row_sum_bounds_within(problem, solution, known)
    return known if found is None else Certificate("row sums", (found[0],), 0.0)


@each_intercept
@pytest.mark.parametrize("kind", ["uncertain", "wrong"])
@pytest.mark.parametrize("loss_name", ["hinge", "squared_hinge"])
def test_bounds_within_known_ranges_hold_exactly(loss_name, kind, intercept, report_proofs):
    count = 0
    for number in range(3):
        rng = np.random.default_rng([38, number, intercept])
        case = table_of(rng, 5, loss_name, cells=number % 2)
        case = with_intercept(case) if intercept else case
        problem, labels = labelled(rng, case, kind, count=1)
        count += prove(case, problem, labels, {"within": within_ball})
    report_proofs(count)


def assert_settled_rows_count(case: Case, problem: Problem, labels: list[np.ndarray], W: np.ndarray, left: int) -> None:
    """Leave out the rows whose derivative is settled at the vectors W; the others, and the sum of these, count."""
    solution, points = replace(train(problem), w=W[0]), Points(W)
    whole = points.ranges(without_tilt(row_table(problem, solution)))
    within = RowTable.within(problem, solution, certificate_of(points))
    assert within is not None
    smaller = whole.without_constant_rows().table
    assert len(smaller.complete) + len(smaller.incomplete) == left
    for ranges in (whole, whole.without_constant_rows(), points.ranges(within)):
        bounds, u = sums_of(ranges, case.X_test)[:2]
        for y in labels:
            F = forces(replace(case, y=y), case.matrix.center_rows(slice(0, len(y))), W)
            assert (bounds[:, None] >= case.X_test @ W.T - u @ F.T - 1e-9).all()


@pytest.mark.parametrize("kind", ["uncertain", "wrong"])
@pytest.mark.parametrize("loss_name", ["hinge", "smoothed_hinge"])
def test_rows_of_uncertain_class_are_settled_only_if_no_label_pulls(loss_name, kind):
    """All scores are far on the right side of the kink, where only the other label pulls."""
    rng = np.random.default_rng(39)
    table = np.column_stack([np.repeat([5.0, -5.0], 4), rng.normal(size=8)])
    y, X_test = np.repeat([1.0, -1.0], 4), np.vstack([table, -table])
    case = Case(intervals(table, np.full((8, 2), np.nan)), y, None, LOSSES[loss_name], ElasticNet(0.01), X_test)
    W = np.array([[1.0, 0.0], [1.1, 0.01]])
    if kind == "wrong":
        assert_settled_rows_count(case, with_flips(case, 2), list(flipped_labels(case, 2)), W, left=8)
    else:
        # Of the two entries of a row the one that does not pull is settled by its own score.
        problem = problem_of(case, of_either_class(case, np.array([0, 5])))
        labels = [np.array([a, *y[1:5], b, *y[6:]]) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
        assert_settled_rows_count(case, problem, labels, W, left=2)


def test_targets_in_doubt_are_settled_only_if_all_of_them_pull_alike():
    """All residuals are clipped, but for a target that may be where the score is."""
    rng = np.random.default_rng(43)
    table, y = rng.normal(size=(6, 2)), np.array([9.0, -8.0, 9.0, -9.0, 8.0, 9.0])
    X_test, radius = np.vstack([table, -table]), np.array([0.0, 9.0, 0.0, 1.0, 0.0, 0.0])
    case = Case(intervals(table, np.full((6, 2), np.nan)), y, None, LOSSES["huber"], ElasticNet(0.1), X_test)
    rows = MemoryRows(case.matrix, y, label_uncertainty=LabelUncertainty(radius, np.zeros(6)))
    labels = [y + radius * move for move in (-1.0, 0.0, 0.9, 1.0)]
    W = np.array([[0.1, 0.0], [0.0, 0.1]])
    assert_settled_rows_count(case, problem_of(case, rows), labels, W, left=1)


@each_intercept
@pytest.mark.parametrize(("loss_name", "kind"), SMOOTH_KINDS)
def test_no_label_and_no_completion_breaks_a_bound(loss_name, kind, intercept):
    rng = np.random.default_rng([40, LOSS_NAMES.index(loss_name), intercept])
    case = table_of(rng, 40, loss_name, cells=4)
    case = with_intercept(case) if intercept else case
    problem, labels = labelled(rng, case, kind, count=2)
    solution = train(problem)
    low, high = RowSums()(problem, solution).score_bounds(case.X_test).T
    for number, completed in enumerate(completed_tables(rng, case, 6, with_centers=False)):
        y = labels[(7 * number + 1) % len(labels)]
        if kind == "wrong":
            y = case.y.copy()
            y[rng.choice(40, size=2, replace=False)] *= -1.0
        plain = intervals(completed[:, :2], np.full((40, 2), np.nan))
        scores = case.X_test @ train(replace(case, matrix=plain, y=y).problem).w
        assert (low <= scores + 1e-7).all()
        assert (scores - 1e-7 <= high).all()
    attained = attained_bounds(problem, solution, case.X_test).bounds
    assert (low <= attained[:, 0] + 1e-7).all()
    assert (attained[:, 1] - 1e-7 <= high).all()


@pytest.mark.parametrize("kind", ["uncertain", "wrong"])
def test_scores_are_ruled_out_with_uncertain_labels_too(kind, report_proofs):
    rng = np.random.default_rng(41)
    case = replace(table_of(rng, 8, "log_loss", cells=1), penalty=ElasticNet(0.05))
    problem, labels = labelled(rng, case, kind, count=1)
    solution = train(problem)
    certificate = certify_pointwise(problem, solution)
    assert certificate.refinement is not None
    assert certificate.note == ""
    searched = certificate.part(RowSumBounds).searched
    models = [
        exact_model(table, y, None, case.loss, case.penalty.lam, 0.0)
        for y in labels
        for table in exact_completions(case.matrix, 1)
    ]
    count, n_proved = 0, 0
    for t, at_w in zip(case.X_test, case.X_test @ solution.w, strict=True):
        low, high = (float(end[0]) for end in RowSumBounds(searched).ends(t[None]))
        narrow = narrow_by_ruling_out(searched, t, (low, high), 0.1)
        for model in models:
            assert holds(narrow, model.score(t))
        for score in (*np.linspace(low, at_w, 4)[:-1], *np.linspace(at_w, high, 4)[1:]):
            if is_on_one_side(searched, t, score, 0.1):
                n_proved += 1
                for model in models:
                    lowest, highest = model.score(t)
                    assert lowest > rational(score) if at_w > score else highest < rational(score)
        count += 7 * len(models)
    assert n_proved > 0
    report_proofs(count)


def test_more_wrong_labels_give_wider_bounds_and_none_are_those_of_certain_labels():
    case = table_of(np.random.default_rng(42), 40, "log_loss", cells=4)
    solution = train(case.problem)
    widths = []
    for count in (0, 1, 2, 4):
        problem = with_flips(case, count) if count else case.problem
        table = RowTable.of(problem, solution)
        proved = prove_ranges(Ranges.of(table, *dot_bounds(table.directions, solution.w), on_path=True)).found
        assert proved is not None
        Y = case.X_test
        widths.append(largest_scores(proved.ranges, Y) + largest_scores(proved.ranges, -Y))
    assert all((narrow < wide).all() for narrow, wide in itertools.pairwise(widths))
