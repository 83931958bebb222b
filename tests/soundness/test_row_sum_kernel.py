"""The kernel of row sums: for tables with all that may vary, its bounds hold, and are those of sec-row-sums exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from ipub.certificates.row_sums import ranges as ranges_module
from ipub.certificates.row_sums import variants as variants_module
from ipub.certificates.row_sums.constant_derivatives import ConstantDerivativeRows
from ipub.certificates.row_sums.graphs import GraphPoints, LossGraph
from ipub.certificates.row_sums.prove import Representatives
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group, LabelPair, Units
from ipub.certificates.row_sums.upper import largest_scores
from ipub.losses import LOSSES, make_loss
from support.cases import Generator
from support.oracles.rationals import exact_dot, rational, rationals
from support.oracles.row_sums import ExactSums
from support.row_sum_tables import (
    LABELS,
    Completion,
    completions,
    draw_ranges,
    draw_table,
    forces,
    worst_completion,
)
from support.row_sums import ACCURACIES, random_advice, random_sums, sums_of

LOSS_NAMES = tuple(LOSSES)
KINDS = [
    (name, labels)
    for name in LOSS_NAMES
    for labels in LABELS
    if not labels.startswith("wrong") or LOSSES[name].task == "classification"
]
each_kind = pytest.mark.parametrize(("loss_name", "labels"), KINDS)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Let the kernel look at three complete rows together, so that tables of few rows have several chunks of them."""
    monkeypatch.setattr(ranges_module, "TOGETHER", 3)


def drawn(seed: int, number: int, loss_name: str, labels: str) -> tuple[Generator, RowTable]:
    rng = np.random.default_rng([seed, number, LOSS_NAMES.index(loss_name), LABELS.index(labels)])
    scale = rng.choice([1.0, 1.0, 1e-6, 1e6])
    return rng, draw_table(rng, loss_name, labels, n_groups=int(rng.integers(0, 3)), scale=scale)


@each_kind
def test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen(loss_name, labels):
    """thm-row-sums: ``y.w <= bound + u.F`` with the force F of a completion at w, for random and bad completions."""
    count = 0
    for number in range(20):
        rng, table = drawn(60, number, loss_name, labels)
        on_path = bool(rng.integers(2))
        with np.errstate(all="ignore"):
            ranges, W = draw_ranges(rng, table, on_path=on_path, width=rng.choice([0.0, 1e-6, 0.03, 0.3, 2.0]))
            Y = np.vstack([rng.normal(size=(3, len(table.w))), table.directions[:2]])
            bounds, u = random_sums(rng, ranges, Y)[:2]
        found = list(completions(rng, table, 6, with_centers=on_path))
        found += [worst_completion(table, u[k], W[k]) for k in range(3)]
        for completion in found:
            for high in (False, True):
                settled = rng.choice([-1.0, 1.0], size=len(table.w))
                F = forces(table, completion, W, high=high, settled=settled)
                value = Y @ W.T - u @ F.T
                scale = np.abs(Y) @ np.abs(W).T + np.abs(u) @ (np.abs(F) + np.abs(table.lam * W)).T
                assert (bounds[:, None] >= value - 1e-11 * scale).all(), number
                count += value.size
    assert count > 8000


@each_kind
def test_bounds_are_those_of_the_formula_and_never_below_it(loss_name, labels, report_proofs):
    """Rounding is no more than rounding, and in the right direction."""
    count = 0
    for number in range(4):
        rng, table = drawn(61, number, loss_name, labels)
        table = replace(table, gradient_upper=rng.random(len(table.w)))
        with np.errstate(all="ignore"):
            width = rng.choice([0.0, 1e-6, 0.03, 0.3, 2.0])
            ranges = draw_ranges(rng, table, on_path=bool(rng.integers(2)), width=width)[0]
            ranges = replace(ranges, accuracy=ACCURACIES[rng.integers(len(ACCURACIES))])
            if number % 2:
                ranges.__dict__["points"] = with_doubt(rng, ranges.points)
            Y = rng.normal(size=(2, len(table.w)))
            found = sums_of(ranges, Y, random_advice(rng, ranges) if rng.random() < 0.5 else {})
        exactly = ExactSums(ranges)
        for k, y in enumerate(Y):
            exact, bound = exactly.bounds(y, found, k), rational(found.bound[k])
            room = rational(1e-11) * exact.size
            assert bound >= exact.best
            assert bound <= exact.first + room
            if not table.budget:  # else not all gains are tried with other shares
                assert abs(bound - exact.helpful) <= room
            if abs(exact.helpful - exact.best) > room:  # the same shares were tried
                assert bound >= exact.helpful
            count += 1
    report_proofs(count)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0)])
def test_what_the_multipliers_leave_is_rounded_outward(shape):
    """At a point, and without rows or with those of a penalty alone, a bound is what products lose."""
    count = 0
    for number in range(10):
        rng = np.random.default_rng([67, number])
        table = with_shape(draw_table(rng, "squared_error"), *shape)
        table = replace(table, settled=ConstantDerivativeRows.nothing(len(table.w)))
        scores = table.directions @ table.w
        ranges = Ranges.of(table, scores, scores, on_path=False)
        Y = rng.normal(size=(20, len(table.w)))
        found, exactly = sums_of(ranges, Y), ExactSums(ranges)
        for k, y in enumerate(Y):
            assert rational(found.bound[k]) >= exactly.bounds(y, found, k).best
            count += 1
    assert count == 200


def with_doubt(rng: Generator, points: GraphPoints) -> GraphPoints:
    """Return points of which less is known: everything between them counts."""
    size = 0.3 * (np.abs(points.middle).max(initial=0.0) + 0.1)
    between = points.between and points.between._replace(away=points.between.away + size * rng.random())
    return points._replace(
        radius=points.radius + size * rng.random(points.radius.shape),
        above_chord=points.above_chord + size * rng.random(points.above_chord.shape),
        below_chord=points.below_chord + size * rng.random(points.below_chord.shape),
        between=between,
    )


# --- budgets ----------------------------------------------------------------------------------------------------------


def table_of_units(rows: np.ndarray, y: np.ndarray, units: Units, budget: tuple[int, ...], w: np.ndarray, loss):
    """Return a table of uncertain rows alone, with a penalty of 1 on each weight."""
    d, n = len(w), len(rows)
    graph = LossGraph(loss, y)
    directions, at = np.unique(np.concatenate([rows, np.eye(d)]), axis=0, return_inverse=True)
    at = at.ravel()
    return RowTable(
        np.ones(d),
        np.zeros((0, d)),
        np.zeros(0),
        LossGraph(loss, np.zeros(0)),
        rows,
        np.full(n, 1.0 / n),
        graph,
        units,
        LabelPair(graph, graph),
        np.full(n, Group.CERTAIN),
        budget,
        directions,
        complete_at=at[:0],
        incomplete_at=at[:n],
        weights_at=at[n:],
        gradient_upper=np.zeros(d),
        w=w,
        settled=ConstantDerivativeRows.nothing(d),
    )


def at_point(table: RowTable) -> Ranges:
    scores = table.directions @ table.w
    room = 1e-13 * (np.abs(table.directions) @ np.abs(table.w))
    return Ranges.of(table, scores - room, scores + room, on_path=False)


def worst_of_all(table: RowTable, u: np.ndarray) -> float:
    """Return the largest ``-sum_i m_i p_i x''_i.u`` over all choices of units that budgets allow, each at its end."""
    units, shape = table.units, tuple(most + 1 for most in table.budget)
    best = np.full(shape, -np.inf)
    best[(0,) * len(shape)] = 0.0
    for i, x in enumerate(table.incomplete):
        own = np.flatnonzero(units.row == i)
        chosen = np.array(list(product([0.0, 1.0], repeat=len(own))))
        completed = np.repeat(x[None], len(chosen), axis=0)
        np.add.at(completed.T, units.column[own], (chosen * units.upper[own]).T)
        scores, along = completed @ table.w, completed @ u
        low, high = LossGraph(table.incomplete_graph.loss, table.incomplete_graph.y[i]).range(scores, scores)
        value = -table.incomplete_weight[i] * np.minimum(low * along, high * along)
        used = np.stack([chosen[:, units.group[own] == g].sum(axis=1) for g in range(len(shape))], axis=1).astype(int)
        of_row: dict[tuple[int, ...], float] = {}
        for each, gained in zip(map(tuple, used), value, strict=True):
            of_row[each] = max(of_row.get(each, -np.inf), gained)
        after = np.full(shape, -np.inf)
        for before, total in np.ndenumerate(best):
            for each, gained in of_row.items():
                to = tuple(np.add(before, each))
                if all(a < b for a, b in zip(to, shape, strict=True)):
                    after[to] = max(after[to], total + gained)
        best = after
    return float(best.max())


def kinked_tables(loss_name: str, n_groups: int) -> Iterator[tuple[Generator, RowTable]]:
    """Draw rows that several units together move beyond the kink of their loss."""
    loss = make_loss(loss_name, {"hinge_width": 0.2})
    for number in range(40):
        rng = np.random.default_rng([62, number, n_groups])
        counts = rng.integers(1, 9, size=rng.integers(1, 4))
        n_units, n = int(counts.sum()), len(counts)
        d = n_units + n
        w, rows = np.ones(d), np.zeros((n, d))
        w[:n_units] = rng.choice([0.2, 1.0, 2.0], size=n_units)
        rows[np.arange(n), n_units + np.arange(n)] = 1.0 - rng.uniform(0.0, 0.7, size=n) * np.array(
            [part.sum() for part in np.split(w[:n_units], np.cumsum(counts)[:-1])]
        )
        none = np.full(n_units, -1)
        group = rng.integers(0, n_groups, size=n_units)
        units = Units(
            np.repeat(np.arange(n), counts),
            np.arange(n_units),
            none,
            none,
            group,
            np.zeros(n_units),
            np.ones(n_units),
            (),
        )
        budget = tuple(int(k) for k in rng.integers(0, 9, size=n_groups))
        yield rng, table_of_units(rows, np.ones(n), units, budget, w, loss)


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("loss_name", ["hinge", "smoothed_hinge"])
def test_no_choice_of_units_that_budgets_allow_gains_more(loss_name, n_groups):
    """Also where several units gain more together than one by one; at a point the bound is nearly attained."""
    attained, count = 0, 0
    for rng, table in kinked_tables(loss_name, n_groups):
        d = len(table.w)
        pulls = table.incomplete.sum(axis=0)
        Y = rng.normal(size=(3, d)) * rng.choice([1e-3, 0.1, 1.0], size=(3, 1)) + rng.choice([-1.0, 1.0]) * pulls
        still = {"chord": np.zeros(len(table.incomplete)), "slope_at_w": np.zeros(len(table.incomplete))}
        still["grid_scale"] = np.zeros(len(table.incomplete))
        for advice in ({}, still):
            found = sums_of(at_point(table), Y, advice)
            for y, u, bound in zip(Y, found.u, found.bound, strict=True):
                worst = y @ table.w - u @ (table.lam * table.w) + worst_of_all(table, u)
                size = 1.0 + np.abs(y) @ table.w + np.abs(u) @ table.w
                assert bound >= worst - 1e-11 * size
                attained += bound <= worst + 1e-9 * size
                count += 1
    assert attained > 0.1 * count


def test_what_groups_gain_together_holds_for_every_number_of_units():
    """Alone five units of the first group cross a kink, with one of the second three do: the others gain elsewhere."""
    d = 16
    w, u, rows = np.zeros(d), np.zeros(d), np.zeros((2, d))
    w[:8], w[8], w[9] = 1.0, 2.0, 1.0
    u[:8], u[9], u[10:15] = -1e-6, 1.0 / 3.5, 0.5
    rows[0, 9], rows[1, 15] = -3.5, 1.0
    none, group = np.full(14, -1), np.array([0] * 8 + [1] + [0] * 5)
    columns = np.array([*range(9), *range(10, 15)])
    units = Units(np.repeat([0, 1], [9, 5]), columns, none, none, group, np.zeros(14), np.ones(14), ())
    table = table_of_units(rows, np.ones(2), units, (8, 1), w, LOSSES["hinge"])
    still = {name: np.zeros(2) for name in ("chord", "slope_at_w", "grid_scale")}
    found = sums_of(at_point(table), u[None], still)
    np.testing.assert_array_equal(found.u[0], u)
    assert found.bound[0] >= u @ w - u @ w + worst_of_all(table, u) - 1e-12


# --- representatives --------------------------------------------------------------------------------------------------


def test_ranges_of_representatives_hold_for_all_directions_exactly():
    """Whatever w has the representatives' products in their ranges, it has all others' in those that follow."""
    count = few = 0
    for number in range(60):
        rng = np.random.default_rng([63, number])
        table = draw_table(rng, "log_loss")
        d = len(table.w)
        scale = 10.0 ** rng.choice([-8.0, 0.0, 8.0], size=d)
        n = 30
        middles = rng.normal(size=(3, d)) * scale
        Y = np.vstack(
            [middles[rng.integers(3, size=n)] * (1.0 + rng.choice([0.0, 1e-9, 0.1]) * rng.normal(size=(n, d)))]
        )
        Y = np.unique(np.concatenate([Y, np.eye(d)]), axis=0)
        weights_at = np.array([int(np.flatnonzero((e == Y).all(axis=1))[0]) for e in np.eye(d)])
        some = np.arange(len(Y))
        table = replace(
            table, directions=Y, weights_at=weights_at, complete_at=some[:1], incomplete_at=some[:1],
            complete_weight=np.ones(1), incomplete_weight=np.ones(1),
        )  # fmt: skip
        W = rng.normal(size=(3, d)) / scale * 10.0 ** rng.uniform(-4.0, 4.0, size=d)
        change = 10.0 ** rng.uniform(-2.0, 0.0, size=2 * len(Y)) * np.tile(np.abs(Y) @ np.abs(W).max(axis=0), 2)
        chosen = Representatives.choose(table, change, rng.choice([0.05, 1.0, 100.0]))
        few += len(chosen.index) < len(Y)
        exact = [[exact_dot(rationals(y), rationals(w)) for w in W] for y in Y]
        ends = np.array([[_below(min(values)), -_below(-max(values))] for values in exact])
        lower, upper = chosen.spread(*ends[chosen.index].T)
        for values, low, high in zip(exact, lower, upper, strict=True):
            assert rational(low) <= min(values)
            assert rational(high) >= max(values)
            count += len(values)
        np.testing.assert_array_equal(lower[chosen.index], ends[chosen.index, 0])
    assert few > 15
    assert count > 4000


def test_ranges_go_to_their_own_directions_where_each_stands_for_itself():
    nothing = np.zeros((3, 2))
    all_of_them = Representatives(np.array([2, 0, 1]), np.array([1, 2, 0]), np.array([1, 2]), *[nothing] * 3)
    lower, upper = all_of_them.spread(np.array([0.0, 1.0, 2.0]), np.array([10.0, 11.0, 12.0]))
    np.testing.assert_array_equal(lower, [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(upper, [11.0, 12.0, 10.0])


def test_ranges_of_directions_whose_products_cancel_are_rounded_outward():
    rng = np.random.default_rng(68)
    for _ in range(50):
        w = rng.uniform(1.0, 2.0, size=2)
        a = rng.random()
        b = (1.0 + a) * w[0] / w[1]
        positive, negative, size = (np.array([[0.0, 0.0]] * 2 + [last]) for last in ([a, 0.0], [0.0, b], [2.0 + a, b]))
        few = Representatives(np.arange(2), np.array([0, 1, 0]), np.arange(2), positive, negative, size)
        lower, upper = few.spread(w, w)
        exact = rational(w[0]) + rational(a) * rational(w[0]) - rational(b) * rational(w[1])
        assert rational(lower[2]) <= exact <= rational(upper[2])


def _below(value) -> float:
    """Return the greatest float that is not above a rational."""
    guess = float(int(value.p) / int(value.q)) if value else 0.0
    while rational(guess) > value:
        guess = float(np.nextafter(guess, -np.inf))
    return guess


# --- tables at the edge -----------------------------------------------------------------------------------------------


def one_row(n_levels: tuple[int, ...], labels: str, loss_name: str = "log_loss", n_numbers: int = 2) -> RowTable:
    """Return a table of one row of which all is missing."""
    starts = n_numbers + np.cumsum([0, *n_levels])
    levels = tuple(np.arange(a, b) for a, b in pairwise(starts))
    d, m = int(starts[-1]), n_numbers + len(levels)
    row = np.ones((1, d))
    for columns in levels:
        row[0, columns] = 1.0 / len(columns)
    category = np.array([-1] * n_numbers + list(range(len(levels))))
    column = np.array([*range(n_numbers), *[0] * len(levels)])
    width = np.where(category < 0, 2.0, 0.0)
    units = Units(np.zeros(m, dtype=int), column, category, np.full(m, -1), np.full(m, -1), -width, width, levels)
    w = np.random.default_rng(d).normal(size=d)
    table = table_of_units(row, np.ones(1), units, (), w, LOSSES[loss_name])
    if labels == "certain":
        return table
    first, second = (LossGraph(LOSSES[loss_name], np.ones(1), np.array([factor])) for factor in (2.0, 0.0))
    return replace(table, labels=LabelPair(first, second), label_group=np.array([-1]))


@pytest.mark.parametrize("labels", ["certain", "uncertain"])
@pytest.mark.parametrize(
    "n_levels",
    [(64,), (32,), (31,), (16, 2), (2, 2, 2, 2, 2), (2,) * 10, (8, 4), (4, 4, 4), (3, 3, 3, 3), (1,), (1, 2)],
)
def test_no_row_has_more_variants_than_the_kernel_takes(n_levels, labels):
    table = one_row(n_levels, labels)
    for on_path in (False, True):
        scores = table.directions @ table.w
        ranges = Ranges.of(table, scores - 0.1, scores + 0.1, on_path=on_path)
        assert len(ranges.variants.row) <= variants_module.MOST_VARIANTS
        assert np.isfinite(largest_scores(ranges, np.eye(len(table.w)))).all()


def test_the_center_of_a_row_whose_label_is_uncertain_counts_with_either_label():
    table = one_row((3,), "uncertain", n_numbers=0)
    scores = table.directions @ table.w
    variants = Ranges.of(table, scores - 0.1, scores + 0.1, on_path=True).variants
    is_center = variants.level[variants.units[:-1]] == variants_module.Level.BASE
    assert sorted(variants.label[is_center]) == [0, 1]


def test_rows_of_several_groups_have_no_more_variants_than_the_kernel_takes():
    for n_units, labels in product((3, 9, 40, 80), ("certain", "wrong")):
        d, none = n_units + 1, np.full(n_units, -1)
        group = np.arange(n_units) % 2
        units = Units(none * 0, np.arange(n_units), none, none, group, -np.ones(n_units), np.ones(n_units), ())
        w = np.full(d, 0.1)
        table = table_of_units(np.ones((1, d)), np.ones(1), units, (n_units, n_units), w, LOSSES["log_loss"])
        if labels == "wrong":
            second = LossGraph(LOSSES["log_loss"], -np.ones(1))
            table = replace(
                table,
                labels=LabelPair(table.labels.first, second),
                label_group=np.array([2]),
                budget=(*table.budget, 1),
            )
        ranges = at_point(table)
        assert len(ranges.variants.row) <= variants_module.MOST_VARIANTS
        found, exactly = sums_of(ranges, np.eye(d)[:2]), Completion.of(table.incomplete + units_all(d))
        F = forces(table, exactly, w[None], high=False)
        assert (found.bound >= np.eye(d)[:2] @ w - found.u @ F[0] - 1e-12).all()


def units_all(d: int) -> np.ndarray:
    """Return a change of all cells but the last, as all of them may differ."""
    return np.append(np.ones(d - 1), 0.0)


def with_shape(table: RowTable, complete: int, incomplete: int) -> RowTable:
    """Return a table with so many complete and uncertain rows at most."""
    complete_graph = table.complete_graph.of_rows(np.arange(len(table.complete)) < complete)
    kept, units = np.arange(len(table.incomplete)) < incomplete, table.units.row < incomplete
    return replace(
        table,
        complete=table.complete[:complete],
        complete_weight=table.complete_weight[:complete],
        complete_graph=complete_graph,
        complete_at=table.complete_at[:complete],
        incomplete=table.incomplete[kept],
        incomplete_weight=table.incomplete_weight[kept],
        incomplete_graph=table.incomplete_graph.of_rows(kept),
        incomplete_at=table.incomplete_at[kept],
        units=table.units.some(units),
        labels=table.labels.of_rows(kept),
        label_group=table.label_group[kept],
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 1), (1, 0), (1, 1), (9, 0), (0, 9)])
@each_kind
def test_tables_with_few_rows_have_the_bounds_of_the_formula(loss_name, labels, shape):
    rng, table = drawn(64, shape[0] + 10 * shape[1], loss_name, labels)
    table = with_shape(table, *shape)
    with np.errstate(all="ignore"):
        ranges = draw_ranges(rng, table, on_path=True, width=0.1)[0]
        Y = rng.normal(size=(1, len(table.w)))
        found = sums_of(ranges, Y)
    exact = ExactSums(ranges).bounds(Y[0], found, 0)
    assert exact.best <= rational(found.bound[0]) <= exact.first + rational(1e-11) * exact.size
    assert len(largest_scores(ranges, Y[:0])) == 0


@each_kind
def test_what_is_not_finite_bounds_nothing_and_numbers_of_any_size_bound_from_above(loss_name, labels):
    """A range that is not known makes every bound infinite; so does what overflows; nothing is NaN."""
    n_finite = 0
    for number in range(6):
        rng, table = drawn(65, number, loss_name, labels)
        with np.errstate(all="ignore"):
            ranges, W = draw_ranges(rng, table, on_path=False, width=0.1)
            Y = rng.normal(size=(3, len(table.w)))
            for value in (np.inf, np.nan):
                k = int(rng.integers(len(ranges.lower)))
                lower, upper = ranges.lower.copy(), ranges.upper.copy()
                lower[k], upper[k] = (-value, upper[k]) if rng.random() < 0.5 else (lower[k], value)
                assert (largest_scores(ranges.with_ends(lower, upper), Y) == np.inf).all()
            for scale in (1e-150, 1e-100, 1e100, 1e150, 1e300):
                bound, u = sums_of(ranges, scale * Y)[:2]
                assert not np.isnan(bound).any()
                assert (bound > -np.inf).all()
                for completion in completions(rng, table, 2, with_centers=False):
                    value = Y @ W.T - (u / scale) @ forces(table, completion, W, high=True).T
                    size = np.abs(Y) @ np.abs(W).T + np.abs(u / scale) @ np.abs(table.lam * W).T
                    is_finite = np.isfinite(bound) & np.isfinite(value).all(axis=1)
                    n_finite += is_finite.sum()
                    room = 1e-10 * (np.abs(value) + size)
                    assert (bound[:, None] / scale >= value - room)[is_finite].all()
    assert n_finite > 20


@pytest.mark.parametrize("scale", [1e-150, 1e-75, 1e75, 1e150])
def test_columns_of_any_size_are_bounded_or_left_alone(scale):
    for number in range(10):
        rng = np.random.default_rng([66, number])
        table = draw_table(rng, LOSS_NAMES[number % len(LOSS_NAMES)], scale=scale)
        with np.errstate(all="ignore"):
            ranges, W = draw_ranges(rng, table, on_path=False, width=0.1)
            Y = rng.normal(size=(3, len(table.w))) * np.where(np.arange(len(table.w)) % 2, scale, 1.0)
            bound, u = sums_of(ranges, Y)[:2]
            assert not np.isnan(bound).any()
            for completion in completions(rng, table, 2, with_centers=False):
                F = forces(table, completion, W, high=True)
                value = Y @ W.T - u @ F.T
                size = np.abs(Y) @ np.abs(W).T + np.abs(u) @ (np.abs(F) + np.abs(table.lam * W)).T
                is_known = np.isfinite(value) & np.isfinite(size)
                assert (bound[:, None] >= value - 1e-10 * size)[is_known].all()
