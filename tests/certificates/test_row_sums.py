"""The parts of row sums: chords, lines, terms of incomplete rows, and how a table is laid out for them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from ipub.certificates import certify_slopes, certify_tight
from ipub.certificates.row_sums import table as table_module
from ipub.certificates.row_sums import variants as variants_module
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.row_sums.graphs import JoinedGraphs, Lines, LossGraph, SignGraph, graph_points
from ipub.certificates.row_sums.prove import around, first_order_changes
from ipub.certificates.row_sums.ranges import COARSE, FINE, FINEST, Accuracy, Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group
from ipub.certificates.row_sums.upper import largest_scores
from ipub.datasets import load_mammographic_masses
from ipub.losses import LOSSES, make_loss
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import dot_bounds
from ipub.problem.objective import Problem
from ipub.rows import MemoryRows, with_intercept_column
from ipub.tables.holes import column_ranges
from ipub.tables.interval_matrix import IntervalMatrix
from support.cases import Case, intervals, train, with_intercept
from support.oracles.rationals import as_float, rational, rationals
from support.oracles.row_sums import ExactSums, columns_of
from support.row_sums import ranges_over, row_sum_bounds
from support.tiny_cases import tiny_choices

each_loss = pytest.mark.parametrize("loss_name", LOSSES)


N_ROWS, N_STEPS = 60, 20


def graph_of(loss_name: str, rng: np.random.Generator, n: int) -> JoinedGraphs:
    """Return derivatives of a loss, with another parameter in place of its default, then steps of an l1 penalty."""
    loss = make_loss(loss_name, {"hinge_width": 0.3, "huber_delta": 0.7})
    y = rng.normal(size=n) if loss.task == "regression" else rng.choice([-1.0, 1.0], size=n)
    return JoinedGraphs(LossGraph(loss, y), SignGraph(rng.uniform(0.1, 1.0, size=N_STEPS)), n)


def score_ranges(graph: JoinedGraphs, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw ranges of scores, some of which begin or end exactly at a jump."""
    jumps, width = np.append(graph.first.y, np.zeros(N_STEPS)), 10.0 ** rng.uniform(-6.0, 1.0, size=N_ROWS + N_STEPS)
    middle, which = jumps + rng.normal(size=len(jumps)), np.arange(len(jumps)) % 4
    lower = np.select([which == 0, which == 1], [jumps, jumps - width], middle - 0.5 * width)
    return lower, np.where(which == 1, jumps, lower + width)


def sampled(graph: JoinedGraphs, score: np.ndarray) -> np.ndarray:
    """Return derivatives at scores; where there is a jump, of either side."""
    low, high = graph.range(score, score)
    return np.stack([low, high, graph.value(score)])


@each_loss
def test_no_derivative_is_farther_from_a_chord_than_said(loss_name):
    """lem-chords."""
    rng = np.random.default_rng(0)
    graph = graph_of(loss_name, rng, N_ROWS)
    lower, upper = score_ranges(graph, rng)
    points = graph_points(graph, lower, upper, 4)
    np.testing.assert_array_equal(points.score[[0, -1]], [lower, upper])
    assert (np.diff(points.score, axis=0) >= 0.0).all()
    is_covered = np.zeros((3, *points.score.shape), dtype=bool)  # each derivative at each point
    for k, score in enumerate(points.score):
        derivatives = sampled(graph, score)
        for other in range(len(points.score)):
            near = np.abs(derivatives - points.middle[other]) <= points.radius[other] * (1.0 + 1e-12)
            is_covered[:, k] |= near & (points.score[other] == score)
    for piece, (start, end) in enumerate(pairwise(points.score)):
        is_vertical = start == end
        low, high = points.middle[piece] - points.radius[piece], points.middle[piece + 1] + points.radius[piece + 1]
        for k, score in enumerate(points.score):  # between two points at a jump every derivative is on the chord
            derivatives = sampled(graph, score)
            is_covered[:, k] |= is_vertical & (score == start) & (low <= derivatives) & (derivatives <= high)
        for share in np.linspace(0.0, 1.0, 41)[1:-1]:
            score = start + share * (end - start)
            inside = (start < score) & (score < end)
            for first in (-1.0, 1.0):
                for last in (-1.0, 1.0):
                    ends = [
                        points.middle[piece + e] + sign * points.radius[piece + e]
                        for e, sign in ((0, first), (1, last))
                    ]
                    above = sampled(graph, score) - (ends[0] + share * (ends[1] - ends[0]))
                    slack = points.radius[piece] + points.radius[piece + 1] + 1e-12
                    assert (above <= points.above_chord[piece] + slack)[:, inside].all()
                    assert (-above <= points.below_chord[piece] + slack)[:, inside].all()
    assert is_covered.all()


@each_loss
def test_a_jump_is_two_points_and_the_pieces_of_a_step_are_exact(loss_name):
    rng = np.random.default_rng(5)
    graph = graph_of(loss_name, rng, N_ROWS)
    points = graph_points(graph, *score_ranges(graph, rng), 1)
    is_step = np.append(np.full(N_ROWS, graph.first.is_step), np.ones(N_STEPS, dtype=bool))
    assert is_step.all() == graph.is_step
    assert points.above_chord[:, is_step].max() < 1e-300
    assert points.below_chord[:, is_step].max() < 1e-300
    assert points.radius[:, is_step].max() < 1e-300
    jumps = graph.jump_at()
    inside = is_step & (points.score[0] <= jumps) & (jumps <= points.score[-1])
    assert inside.sum() > 4
    assert ((points.score == jumps).sum(axis=0)[inside] >= 2).all()


@pytest.mark.parametrize("loss_name", [name for name in LOSSES if LOSSES[name].is_smooth])
@pytest.mark.parametrize("every", [2, 3])
def test_derivatives_between_points_are_near_a_mean_of_those_at_them(loss_name, every):
    rng = np.random.default_rng(6)
    graph = graph_of(loss_name, rng, N_ROWS).first
    lower, upper = (each[:N_ROWS] for each in score_ranges(graph_of(loss_name, rng, N_ROWS), rng))
    points = graph_points(graph, lower, upper, 4, every)
    between = points.between
    assert between.share.shape == (4, every - 1, N_ROWS)
    assert (between.share >= 0.0).all()
    assert (between.share <= 1.0).all()
    for piece, (share, away) in enumerate(zip(*between, strict=True)):
        first, last = points.middle[piece * every], points.middle[(piece + 1) * every]
        inner = piece * every + 1 + np.arange(every - 1)
        least, most = graph.range(points.score[inner], points.score[inner])
        mean = first + share * (last - first)
        assert (np.maximum(np.abs(least - mean), np.abs(most - mean)) <= away + 1e-300).all()
        if LOSSES[loss_name].has_bounded_third_derivative:  # a rising derivative is between those at the ends
            assert (away <= 1e-12 * (1.0 + np.abs(first) + np.abs(last))).all()


def test_a_derivative_that_bends_one_way_is_on_one_side_of_its_chords():
    graph = LossGraph(LOSSES["log_loss"], np.array([1.0, 1.0, -1.0]))
    points = graph_points(graph, np.array([0.5, -3.0, -1.0]), np.array([2.0, -0.5, 1.0]), 1)
    np.testing.assert_array_equal(points.below_chord[0] > 0.0, [False, True, True])
    np.testing.assert_array_equal(points.above_chord[0] > 0.0, [True, False, True])


@each_loss
def test_lines_are_above_and_below_the_derivative_everywhere(loss_name):
    """lem-complete-row."""
    rng = np.random.default_rng(1)
    graph = graph_of(loss_name, rng, N_ROWS)
    lower, upper = score_ranges(graph, rng)
    lines = Lines.of(graph, lower, upper, FINE.pieces_of_lines)
    slack = np.full(lines.slope.shape, np.inf)
    for share in np.linspace(0.0, 1.0, 201):
        score = np.clip(lower + share * (upper - lower), lower, upper)
        for derivative in sampled(graph, score):
            room = 1e-12 * (1.0 + np.abs(derivative) + np.abs(lines.slope * score))
            assert (lines.slope * score - derivative <= lines.above + room).all()
            assert (derivative - lines.slope * score <= lines.below + room).all()
            slack = np.minimum(slack, lines.above - (lines.slope * score - derivative))
    if LOSSES[loss_name].has_bounded_third_derivative:  # and they are not far from touching it
        assert (slack[:, :N_ROWS] <= 0.01 * (1.0 + lines.slope[:, :N_ROWS] * (upper - lower)[:N_ROWS])).all()


def test_an_l1_penalty_is_a_step():
    graph = SignGraph(np.array([2.0, 2.0, 2.0]))
    low, high = graph.range(np.array([-1.0, -1.0, 0.5]), np.array([-0.5, 1.0, 1.0]))
    np.testing.assert_array_equal(low, [-2.0, -2.0, 2.0])
    np.testing.assert_array_equal(high, [-2.0, 2.0, 2.0])


# --- lem-incomplete-row -----------------------------------------------------------------------------------------------


def worst_sampled(ranges: Ranges, u, z, zeta, rng, count: int, doubt: float = 0.0) -> np.ndarray:
    """Return the largest term of each incomplete row that sampled cells, levels, scores and weights give.

    Derivatives may be off by a doubt.
    """
    table, units, n = ranges.table, ranges.table.units, len(ranges.table.incomplete)
    found = np.full(n, -np.inf)
    for _ in range(count):
        at_end = rng.random() < 0.7

        def between(low, high, at_end=at_end):
            share = rng.random(np.shape(low))
            return low + (np.round(share) if at_end else share) * (high - low)

        w = between(ranges.weight_lower, ranges.weight_upper)
        s = between(ranges.row_lower, ranges.row_upper)
        is_center, change = rng.random(n) < 0.2, np.zeros_like(table.incomplete)
        total = z * s
        for unit, i in enumerate(units.row):
            columns = columns_of(units, unit)
            total[i] += zeta[unit] @ w[columns]
            if is_center[i]:
                continue
            if units.category[unit] < 0:
                change[i, columns] += between(units.lower[unit], units.upper[unit])
            else:
                change[i, columns] += np.eye(len(columns))[rng.integers(len(columns))] - 1.0 / len(columns)
        along = table.incomplete @ u + change @ u
        low, high = table.incomplete_graph.range(s + change @ w, s + change @ w)
        for derivative in (low - doubt, high + doubt):
            np.maximum(found, total - derivative * along, out=found)
    return found


def row_bounds(ranges: Ranges, u, z, zeta) -> np.ndarray:
    """Return bounds of the terms of incomplete rows by the exact oracle, to which the kernel is compared elsewhere."""
    exactly, starts = ExactSums(ranges), ranges.table.unit_starts
    found = []
    for i, each in enumerate(z):
        own = [rationals(zeta[unit]) for unit in range(starts[i], starts[i + 1])]
        found.append(max(exactly.row_terms(i, int(starts[i]), rational(each), own, rationals(u))[0]))
    return np.array([as_float(each) for each in found])


@pytest.mark.share(2)
@pytest.mark.parametrize("most_variants", [64, 1])
@each_loss
def test_no_sampled_term_of_a_row_is_above_its_bound(loss_name, most_variants, monkeypatch):
    """lem-incomplete-row, with categories settled and not, for any multipliers."""
    monkeypatch.setattr(variants_module, "MOST_VARIANTS", most_variants)
    gaps = []
    for number in range(8):
        rng = np.random.default_rng([2, number])
        case = one_wide_row(rng, loss_name) if number % 2 else tiny_choices(rng, loss_name, "l2", gentle=False)
        solution = train(case.problem)
        table = RowTable.of(case.problem, solution)
        W = solution.w + rng.choice([1e-3, 0.1, 1.0]) * rng.normal(size=(2, len(solution.w)))
        ranges = ranges_over(table, W)
        doubt = (0.0, 1.0)[number // 4]
        ranges.__dict__["points"] = ranges.points._replace(radius=ranges.points.radius + doubt)
        for _ in range(2):
            u, z = rng.normal(size=len(solution.w)), rng.normal(size=len(table.incomplete))
            zeta = [rng.normal(size=len(columns_of(table.units, unit))) for unit in range(len(table.units))]
            bounds = row_bounds(ranges, u, z, zeta)
            found = worst_sampled(ranges, u, z, zeta, rng, 300, doubt)
            assert (found <= bounds + 1e-11 * (1.0 + np.abs(bounds))).all()
            gaps.append(((bounds - found) / (1.0 + np.abs(found))).min())
    assert min(gaps) < 0.05  # the samples come near what is claimed


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("finer", [1, 2])
def test_terms_between_the_ends_of_a_piece_are_counted(side, finer):
    """A derivative that bends one way, in a single piece: the term is largest inside it."""
    case = Case(
        intervals(np.array([[side]]), np.array([[1e-9]])), np.ones(1), None, LOSSES["log_loss"], ElasticNet(1.0), None
    )
    table = RowTable.of(case.problem, train(case.problem))
    ranges = ranges_over(table, np.array([[0.5], [4.0]]))  # the score is in side * [0.5, 4]: psi bends one way there
    ranges = replace(ranges, accuracy=Accuracy(1, 1, finer, 0))
    score = side * np.linspace(0.5, 4.0, 101)
    psi = case.loss.derivative(np.ones(101), score)
    for along in (-1.0, 1.0):
        z = along * (psi[-1] - psi[0]) / (score[-1] - score[0])  # along the chord the term is constant
        (bound,) = row_bounds(ranges, np.array([along / side]), np.array([z]), [np.zeros(1)])
        terms = z * score - along * psi
        assert terms.max() <= bound
        if terms.max() > terms[[0, -1]].max() + 0.01:
            assert bound <= terms.max() + 0.3
        else:  # on the other side of the chord nothing is added
            assert bound <= terms[[0, -1]].max() + 1e-6


def one_wide_row(rng: np.random.Generator, loss_name: str) -> Case:
    """A row with up to three cells, in a few others."""
    table, radius = rng.normal(size=(5, 3)), np.full((5, 3), np.nan)
    radius[0, : rng.integers(1, 4)] = rng.uniform(0.1, 1.5)
    y = rng.choice([-1.0, 1.0], size=5)
    return Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.1), table[:2])


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [-1, 0, 2])
def test_no_level_changes_a_score_by_more_than_is_said_wherever_its_weights_are(base):
    ends = np.array([[-1.0, 0.5, 2.0], [0.25, 0.75, 3.0]])
    ranges = cast(Any, SimpleNamespace(weight_lower=ends[0], weight_upper=ends[1]))
    least, most = Ranges._level_changes(ranges, np.arange(3), base)
    for w in product(*map(rationals, ends.T)):
        filled = w[base] if base >= 0 else sum(w) / 3
        for low, value, high in zip(least, w, most, strict=True):
            assert rational(low) <= value - filled <= rational(high)


def test_units_are_laid_out_row_by_row():
    radius = np.full((5, 3), np.nan)
    radius[1, 2] = 0.1
    radius[3] = [0.2, 0.3, 0.4]
    radius[4, :2] = 0.5
    weight = np.array([1.0, 1.0, 0.0, 2.0, 1.0])
    case = Case(
        intervals(np.arange(15.0).reshape(5, 3), radius), np.ones(5), weight, LOSSES["huber"], ElasticNet(1.0), None
    )
    table = RowTable.of(case.problem, train(case.problem))
    np.testing.assert_array_equal(table.incomplete[:, 0], [3.0, 9.0, 12.0])
    np.testing.assert_array_equal(table.incomplete_weight, np.array([1.0, 2.0, 1.0]) / 5.0)
    np.testing.assert_array_equal(table.complete[:, 0], [0.0])  # the row without weight is left out
    units = table.units
    np.testing.assert_array_equal(units.row, [0, 1, 1, 1, 2, 2])
    np.testing.assert_array_equal(units.column, [2, 0, 1, 2, 0, 1])
    np.testing.assert_allclose(units.upper, [0.1, 0.2, 0.3, 0.4, 0.5, 0.5], rtol=1e-12)
    np.testing.assert_array_equal(units.lower, -units.upper)
    assert (units.group == Group.FREE).all()
    assert (table.label_group == Group.CERTAIN).all()
    np.testing.assert_array_equal(table.unit_starts, [0, 1, 4, 6])
    for at, rows in ((table.complete_at, table.complete), (table.incomplete_at, table.incomplete)):
        np.testing.assert_array_equal(table.directions[at], rows)
    np.testing.assert_array_equal(table.directions[table.weights_at], np.eye(3))


@pytest.mark.parametrize("weight", [[1.0] * 6, [1.0, 3.0, 2.0, 1.0, 1.0, 4.0], [0.1, 0.3, 0.2, 1.0, 1.0, 4.0]])
def test_equal_complete_rows_count_with_the_weight_of_all_of_them(weight):
    """They are one, or not; with another label, or with an uncertain cell, they are not."""
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [0.0, -1.0], [-0.0, -1.0], [1.0, 2.0]])
    radius = np.full((6, 2), np.nan)
    radius[5, 0] = 0.5
    y = np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    case = Case(intervals(rows, radius), y, np.array(weight), LOSSES["log_loss"], ElasticNet(1.0, 0.1), None)
    table = RowTable.of(case.problem, train(case.problem))
    graph = table.complete_graph
    assert isinstance(graph, JoinedGraphs)
    assert graph.n_first == (3 if len(set(weight)) == 1 else 5)
    assert len(table.complete) == graph.n_first + 2  # those of the penalty
    found: dict[tuple[float, ...], float] = {}
    for row, label, each in zip(table.complete + 0.0, graph.first.y, table.complete_weight, strict=False):
        key = (*row.tolist(), float(label))
        found[key] = found.get(key, 0.0) + each
    m = np.array(weight) / np.sum(weight)
    expected = {(1.0, 2.0, 1.0): m[0] + m[1], (1.0, 2.0, -1.0): m[2], (0.0, -1.0, 1.0): m[3] + m[4]}
    assert found == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(table.incomplete_weight, m[5:], rtol=1e-14)


def test_variants_hold_every_option_of_a_row():
    rng = np.random.default_rng(3)
    for _ in range(20):
        case = tiny_choices(rng, "log_loss", "l2", gentle=False)
        table = RowTable.of(case.problem, train(case.problem))
        units, starts = table.units, table.unit_starts
        for with_centers in (False, True):
            variants = variants_module.make_variants(table, with_centers=with_centers)
            np.testing.assert_array_equal(np.unique(variants.row), np.arange(len(table.incomplete)))
            np.testing.assert_array_equal(np.diff(variants.units), np.diff(starts)[variants.row])
            for unit, i in enumerate(units.row):
                entries = variants.units[:-1][variants.row == i] + unit - starts[i]
                lower, upper, levels = (each[entries] for each in (variants.lower, variants.upper, variants.level))
                if units.is_number[unit]:
                    radius = units.upper[unit]
                    assert lower.min() == -radius
                    assert upper.max() == radius
                    # Neighbouring pieces meet.
                    edges = {0.0, *np.round(upper, 12)}
                    assert set(np.round(lower, 12)) - {-round(radius, 12)} <= edges
                else:
                    center = {variants_module.Level.BASE} if with_centers else set()
                    assert set(levels.tolist()) == set(range(units.sizes[unit])) | center


def test_long_tables_many_levels_and_uncertain_labels_are_left_alone(monkeypatch):
    rng = np.random.default_rng(4)
    case = tiny_choices(rng, "log_loss", "l2", gentle=True)
    solution = train(case.problem)
    assert RowTable.of(case.problem, solution) is not None
    for name in ("MOST_ROWS", "MOST_WORK", "MOST_LEVELS"):
        with monkeypatch.context() as patch:
            patch.setattr(table_module, name, 1)
            assert row_sum_bounds(case.problem, solution) is None


# --- use --------------------------------------------------------------------------------------------------------------


def test_where_slopes_are_loose_tight_is_many_times_narrower_by_row_sums():
    """Mammographic masses, every third row, at a weak penalty: row sums close there, and are used."""
    X, labels = load_mammographic_masses()
    X, y = X[::-3], np.where(labels[::-3] == "malignant", 1.0, -1.0)
    scaler = StandardScaler().fit(X)
    ranges = np.ascontiguousarray(scaler.transform(column_ranges(X).T).T)
    rows = MemoryRows(IntervalMatrix.from_table(scaler.transform(X), ranges), y, None)
    problem = Problem(with_intercept_column(rows), LOSSES["log_loss"], ElasticNet(0.003, n_free=1))
    solution = train(problem)
    certificate = certify_tight(problem, solution)
    assert certificate.parts_of(RowSumBounds)
    test_rows = np.column_stack([np.nan_to_num(scaler.transform(X[:20])), np.ones(20)])
    by_rows = np.ptp(certificate.score_bounds(test_rows), axis=1)
    by_slopes = np.ptp(certify_slopes(problem, solution).score_bounds(test_rows), axis=1)
    assert (by_rows < 0.1 * by_slopes).all()


def long_case(loss_name: str) -> Case:
    rng, n = np.random.default_rng(0), 120
    table = rng.normal(size=(n, 3))
    score = table @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=n)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    radius = np.where(rng.random(table.shape) < 0.08, 0.8, np.nan)
    case = Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.01), rng.normal(size=(6, 3)))
    return with_intercept(case)


@pytest.mark.parametrize("loss_name", ["log_loss", "smoothed_hinge", "huber"])
def test_what_takes_more_time_is_narrower(loss_name):
    """Coarse pieces and no steps of the advice against fine ones and one step, or three for rows that are asked for."""
    case = long_case(loss_name)
    solution = train(case.problem)
    table = RowTable.of(case.problem, solution)
    at_w = Ranges.of(table, *dot_bounds(table.directions, solution.w), on_path=True)
    change = 2.0 * first_order_changes(at_w, np.concatenate([table.directions, -table.directions]))
    ranges = at_w.with_ends(*around(at_w.lower, at_w.upper, change))
    Y = np.vstack([case.X_test, -case.X_test])
    widths = [
        (largest_scores(replace(ranges, accuracy=each), Y) - Y @ table.w).sum() for each in (COARSE, FINE, FINEST)
    ]
    assert max(widths[1:]) < 0.99 * widths[0]
    assert widths[2] < 1.02 * widths[1]
