"""Tables for row sums that are drawn as such, with everything that may vary, and their completions.

No training problem is behind them: thm-row-sums holds for every w, whatever the force of a completion at w is. Units of
all kinds occur together, free or in up to two groups with a budget each; labels are certain, uncertain, or some of them
may be wrong, and any of the uncertain rows may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ipub.certificates.row_sums.constant_derivatives import ConstantDerivativeRows
from ipub.certificates.row_sums.graphs import JoinedGraphs, LossGraph, SignGraph
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group, LabelPair, Units
from ipub.losses import Loss, make_loss
from support.cases import Generator

LABELS = ("certain", "uncertain", "wrong", "dropped", "wrong or dropped")
"""What is uncertain of the labels; or rows may be absent, with certain labels or wrong ones."""


@dataclass
class _Cells:
    """The units of rows, as they are drawn."""

    row: list[int]
    column: list[int]
    category: list[int]
    base: list[int]
    group: list[int]
    lower: list[float]
    upper: list[float]


def draw_table(
    rng: Generator, loss_name: str, labels: str = "certain", *, n_groups: int = 2, scale: float = 1.0
) -> RowTable:
    """Draw a table with complete rows, an l1 penalty or none, and uncertain rows."""
    loss = make_loss(loss_name, {"hinge_width": 0.4, "huber_delta": 0.6})
    n_numbers, sizes = int(rng.integers(1, 5)), rng.integers(2, 5, size=rng.integers(0, 3))
    levels = tuple(
        np.arange(start, start + size) for start, size in zip(n_numbers + np.cumsum(sizes) - sizes, sizes, strict=True)
    )
    d, n, m = n_numbers + int(sizes.sum()), int(rng.integers(0, 7)), int(rng.integers(1, 6))
    rows = rng.normal(size=(n + m, d)) * scale
    for columns in levels:
        rows[:, columns] = np.eye(len(columns))[rng.integers(0, len(columns), size=n + m)]
    is_regression = loss.task == "regression"
    y = rng.normal(size=n + m) if is_regression else rng.choice([-1.0, 1.0], size=n + m)
    weight = rng.choice([0.25, 1.0, 3.0], size=n + m)
    weight /= weight.sum()
    complete, uncertain = rows[:n], rows[n:]
    units = _draw_units(rng, uncertain, n_numbers, levels, n_groups, scale)
    budget = tuple(int(k) for k in rng.integers(0, 5, size=n_groups))
    pair, label_group, budget = _draw_labels(rng, loss, y[n:], labels, budget)
    dropped_group = int(Group.CERTAIN)
    if labels.endswith("dropped"):
        dropped_group, budget = len(budget), (*budget, int(rng.integers(1, 4)))
    kappa = rng.uniform(0.05, 0.3, size=d) * (rng.random(d) < 0.5) if rng.random() < 0.4 else np.zeros(d)
    penalised = np.flatnonzero(kappa)
    graph: LossGraph | JoinedGraphs = LossGraph(loss, y[:n])
    if len(penalised):
        graph = JoinedGraphs(LossGraph(loss, y[:n]), SignGraph(kappa[penalised]), n)
    complete = np.concatenate([complete, np.eye(d)[penalised]])
    directions, at = np.unique(np.concatenate([complete, uncertain, np.eye(d)]), axis=0, return_inverse=True)
    at, n_complete = at.ravel(), len(complete)
    settled = ConstantDerivativeRows.nothing(d)
    if rng.random() < 0.3:
        settled = ConstantDerivativeRows(0.3 * rng.normal(size=d), 0.1 * rng.random(d))
    return RowTable(
        10.0 ** rng.uniform(-2.0, 0.0, size=d) * scale**2,
        complete,
        np.concatenate([weight[:n], np.ones(len(penalised))]),
        graph,
        uncertain,
        weight[n:],
        LossGraph(loss, y[n:]),
        units,
        pair,
        label_group,
        budget,
        directions,
        complete_at=at[:n_complete],
        incomplete_at=at[n_complete : n_complete + m],
        weights_at=at[n_complete + m :],
        gradient_upper=np.zeros(d),
        w=rng.normal(size=d) / scale,
        settled=settled,
        kappa=kappa,
        dropped_group=dropped_group,
    )


def _draw_units(
    rng: Generator, rows: np.ndarray, n_numbers: int, levels: tuple[np.ndarray, ...], n_groups: int, scale: float
) -> Units:
    """Draw units; where a category is free its row gets the mean of the levels."""
    drawn = _Cells([], [], [], [], [], [], [])

    def add(row: int, column: int, category: int, base: int, group: int, lower: float, upper: float) -> None:
        for name, value in zip(vars(drawn), (row, column, category, base, group, lower, upper), strict=True):
            getattr(drawn, name).append(value)

    for i, row in enumerate(rows):
        share = rng.choice([0.0, 0.4, 1.0])
        for j in np.flatnonzero(rng.random(n_numbers) < share):
            group = int(rng.integers(Group.FREE, n_groups))
            lower, upper = -rng.uniform(0.0, 1.0) * scale, rng.uniform(0.0, 1.5) * scale
            if rng.random() < 0.2:
                lower, upper = (0.0, upper) if rng.random() < 0.5 else (lower, 0.0)
            add(i, int(j), -1, -1, group, lower, upper)
        for c, columns in enumerate(levels):
            if rng.random() < 0.5:
                group = int(rng.integers(Group.FREE, n_groups))
                is_mean = group == Group.FREE and rng.random() < 0.8
                base = -1 if is_mean else int(row[columns].argmax())
                add(i, 0, c, base, group, 0.0, 0.0)
                if is_mean:
                    row[columns] = 1.0 / len(columns)
    row, column, category, base, group_of = (
        np.array(values, dtype=np.intp) for values in list(vars(drawn).values())[:5]
    )
    return Units(
        row,
        column,
        category,
        base,
        group_of,
        np.array(drawn.lower, dtype=float),
        np.array(drawn.upper, dtype=float),
        levels,
    )


def _draw_labels(
    rng: Generator, loss: Loss, y: np.ndarray, kind: str, budget: tuple[int, ...]
) -> tuple[LabelPair, np.ndarray, tuple[int, ...]]:
    """Draw which labels are uncertain: all others are certain."""
    center, m = LossGraph(loss, y), len(y)
    if kind in ("certain", "dropped"):
        return LabelPair(center, center), np.full(m, Group.CERTAIN), budget
    is_uncertain = rng.random(m) < 0.6
    if kind.startswith("wrong"):
        pair = LabelPair(center, LossGraph(loss, np.where(is_uncertain, -y, y)))
        return pair, np.where(is_uncertain, len(budget), Group.CERTAIN), (*budget, int(rng.integers(1, 4)))
    group = np.where(is_uncertain, Group.FREE, Group.CERTAIN)
    if loss.task == "regression":
        radius = np.where(is_uncertain, 0.5, 0.0)
        return LabelPair(LossGraph(loss, y + radius), LossGraph(loss, y - radius)), group, budget
    factor = np.where(is_uncertain, 1.0, 0.0)
    return LabelPair(LossGraph(loss, y, 1.0 + factor), LossGraph(loss, y, 1.0 - factor)), group, budget


# --- what is in the ranges --------------------------------------------------------------------------------------------


def draw_ranges(rng: Generator, table: RowTable, *, on_path: bool, width: float) -> tuple[Ranges, np.ndarray]:
    """Draw ranges, and vectors in them: those of a box, or the least ranges that hold some vectors."""
    d, Y = len(table.w), table.directions
    size = width * (np.abs(table.w) + 0.3 * np.abs(table.w).max())
    if rng.random() < 0.5:
        radius = size * rng.random(d)
        reach = np.abs(Y) @ radius
        middle = Y @ table.w
        room = 1e-13 * (np.abs(Y) @ (np.abs(table.w) + radius))
        ends = middle - reach - room, middle + reach + room
        corners = rng.uniform(-1.0, 1.0, size=(5, d))
        W = table.w + radius * np.where(rng.random((5, d)) < 0.7, np.sign(corners), corners)
    else:
        W = table.w + size * rng.normal(size=(4, d))
        scores, room = Y @ W.T, 1e-13 * (np.abs(Y) @ np.abs(W).max(axis=0))
        ends = scores.min(axis=1) - room, scores.max(axis=1) + room
        W = np.concatenate([W, rng.dirichlet(np.ones(4), size=2) @ W])
    return Ranges.of(table, *ends, on_path=on_path), W


# --- completions ------------------------------------------------------------------------------------------------------


@dataclass
class Completion:
    """What stands in place of the uncertain rows, how much of the second label each has, and which are absent."""

    rows: np.ndarray
    second: np.ndarray
    dropped: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> Completion:
        """Return one with the first labels and all rows."""
        return cls(rows, np.zeros(len(rows)), np.zeros(len(rows), dtype=bool))


@dataclass
class _Options:
    """What each unit is changed to: a number's change, or a category's level (-1: as the table has it)."""

    change: np.ndarray
    level: np.ndarray
    second: np.ndarray
    dropped: np.ndarray

    def copy(self) -> _Options:
        return _Options(self.change.copy(), self.level.copy(), self.second.copy(), self.dropped.copy())


def completions(rng: Generator, table: RowTable, count: int, *, with_centers: bool) -> Iterator[Completion]:
    """Yield completions as budgets allow: vertices, interior points, mixed; with some rows at their centers or none."""
    for k in range(count):
        options = _random_options(rng, table, at_ends=(1.0, 0.5, 0.0)[k % 3])
        completion = _completed(table, options)
        if with_centers and k % 2:
            is_center = rng.random(len(table.incomplete)) < 0.5
            completion.rows[is_center] = table.incomplete[is_center]
            free = is_center & (table.label_group == Group.FREE)
            completion.second[is_center] = np.where(free, rng.random(len(free)), 0.0)[is_center]
            completion.dropped[is_center] = False
        yield completion


def worst_completion(table: RowTable, u: np.ndarray, w: np.ndarray) -> Completion:
    """Look for the completion whose force at w has the least product with u: unit by unit, then what gains most."""
    none, m = np.zeros(len(table.units)), len(table.incomplete)
    options = _Options(none.copy(), np.full(len(none), -1), np.zeros(m), np.zeros(m, dtype=bool))
    for number in np.flatnonzero(table.units.category >= 0):  # where the table has a mean, some level
        if table.units.base[number] < 0:
            options.level[number] = 0
    pulls = _pulls(table, options, u, w)

    def trial(place: int, value: float, *, is_label: bool) -> tuple[float, _Options]:
        tried = options.copy()
        if is_label:
            tried.second[place] = value
            row = place
        else:
            tried.change[place], tried.level[place], row = value, int(value), int(table.units.row[place])
            if table.units.category[place] < 0:
                tried.level[place] = -1
        return pulls[row] - _pulls(table, tried, u, w)[row], tried

    def best(place: int, *, is_label: bool) -> tuple[float, _Options]:
        values: list[float] = [0.0, 1.0] if is_label else list(_values(table.units, place))
        return max((trial(place, value, is_label=is_label) for value in values), key=lambda found: found[0])

    free = [(int(k), False) for k in np.flatnonzero(table.units.group == Group.FREE)]
    free += [(int(k), True) for k in np.flatnonzero(table.label_group == Group.FREE)]
    for _ in range(2):
        for place, is_label in free:
            gain, tried = best(place, is_label=is_label)
            if gain > 0.0:
                options = tried
                pulls = _pulls(table, options, u, w)
    for group, most in enumerate(table.budget):
        places = [(int(k), False) for k in np.flatnonzero(table.units.group == group)]
        places += [(int(k), True) for k in np.flatnonzero(table.label_group == group)]
        for _ in range(most):
            found = [(*best(place, is_label=is_label), (place, is_label)) for place, is_label in places]
            if not found or (gained := max(found, key=lambda each: each[0]))[0] <= 0.0:
                break
            options = gained[1]
            pulls = _pulls(table, options, u, w)
            places.remove(gained[2])
    if table.dropped_group != Group.CERTAIN:
        of_penalty = table.incomplete_weight * (penalty_slope(table, w[None], high=False)[0] @ u)
        ranked = np.argsort(-(pulls + of_penalty))[: table.budget[table.dropped_group]]
        options.dropped[ranked[(pulls + of_penalty)[ranked] > 0.0]] = True
    return _completed(table, options)


def _values(units: Units, place: int) -> Iterator[float]:
    if units.category[place] < 0:
        yield from (float(units.lower[place]), float(units.upper[place]))
    else:
        yield from range(len(units.levels[units.category[place]]))


def _pulls(table: RowTable, options: _Options, u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return what each uncertain row adds to ``u.F``."""
    completion = _completed(table, options)
    p = derivatives(table, completion, w[None], high=False)[0]
    return table.incomplete_weight * p * (completion.rows @ u)


def _random_options(rng: Generator, table: RowTable, at_ends: float) -> _Options:
    units, m = table.units, len(table.incomplete)
    differs, second = (
        units.group == Group.FREE,
        np.where(table.label_group == Group.FREE, rng.choice([0.0, 1.0], size=m), 0.0),
    )
    second = np.where((table.label_group == Group.FREE) & (rng.random(m) < 0.3), rng.random(m), second)
    dropped = np.zeros(m, dtype=bool)
    for group, most in enumerate(table.budget):
        if group == table.dropped_group:
            dropped[rng.permutation(m)[: rng.integers(0, most + 1)]] = True
            continue
        places = np.concatenate([np.flatnonzero(units.group == group), -1 - np.flatnonzero(table.label_group == group)])
        for place in rng.permutation(places)[: rng.integers(0, most + 1) if rng.random() < 0.3 else most]:
            if place >= 0:
                differs[place] = True
            else:
                second[-1 - place] = 1.0
    share = rng.random(len(units))
    share = np.where(rng.random(len(units)) < at_ends, np.round(share), share)
    change = np.where(differs, units.lower + share * (units.upper - units.lower), 0.0)
    level = np.full(len(units), -1)
    for k in np.flatnonzero(differs & (units.category >= 0)):
        level[k] = rng.integers(len(units.levels[units.category[k]]))
    return _Options(change, level, second, dropped)


def _completed(table: RowTable, options: _Options) -> Completion:
    units, rows = table.units, table.incomplete.copy()
    for k, i in enumerate(units.row):
        if units.category[k] < 0:
            rows[i, units.column[k]] += options.change[k]
        elif options.level[k] >= 0:
            columns = units.levels[units.category[k]]
            rows[i, columns] = np.eye(len(columns))[options.level[k]]
    return Completion(rows, options.second.copy(), options.dropped.copy())


# --- forces -----------------------------------------------------------------------------------------------------------


def derivatives(table: RowTable, completion: Completion, W: np.ndarray, *, high: bool) -> np.ndarray:
    """Return derivatives of the uncertain rows at each row of W; at a jump the greatest or the least."""
    scores, side = W @ completion.rows.T, int(high)
    first, second = (graph.range(scores, scores)[side] for graph in table.labels)
    return (1.0 - completion.second) * first + completion.second * second


def forces(
    table: RowTable, completion: Completion, W: np.ndarray, *, high: bool, settled: np.ndarray | None = None
) -> np.ndarray:
    """Return ``F = c g + sum_i m_i p_i x''_i`` at each row of W, about, g the gradient of the penalty.

    The sum is over the rows that are there, and c is 1 less the weights of those that are not: so F is c times the
    gradient of the mean over the rows that are there. `settled` is in [-1, 1] of its radius.
    """
    n = table.complete_graph.n_first if isinstance(table.complete_graph, JoinedGraphs) else len(table.complete)
    scores = W @ table.complete.T
    p = table.complete_graph.range(scores, scores)[int(high)][:, :n]
    weight = np.where(completion.dropped, 0.0, table.incomplete_weight)
    pulled = derivatives(table, completion, W, high=high) * weight
    rest = table.settled.middle + (0.0 if settled is None else settled * table.settled.radius)
    left = 1.0 - table.incomplete_weight[completion.dropped].sum()
    of_rows = (p * table.complete_weight[:n]) @ table.complete[:n] + pulled @ completion.rows
    return left * penalty_slope(table, W, high=high) + of_rows + rest


def penalty_slope(table: RowTable, W: np.ndarray, *, high: bool) -> np.ndarray:
    """Return a subgradient of the penalty at each row of W; at 0 the greatest or the least."""
    if table.kappa is None:
        return table.lam * W
    return table.lam * W + SignGraph(table.kappa).range(W, W)[int(high)]
