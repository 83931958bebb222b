"""A small training table in one place: complete rows, rows in which something may vary, and directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.constant_derivatives import ConstantDerivativeRows, sum_constant_rows
from ipub.certificates.row_sums.graphs import JoinedGraphs, LossGraph, SignGraph
from ipub.certificates.row_sums.units import Group, LabelPair, Units, label_pair
from ipub.model_sets.certificate import Certificate
from ipub.numeric.rounding import (
    EPS,
    Array,
    dot_bounds,
    down,
    midpoint_and_radius,
    norm_upper,
    sum_error,
    sum_upper,
    up,
)
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows import Rows
from ipub.rows.completions import WholeTable, whole_table
from ipub.tables.interval_matrix import Indices
from ipub.tables.movable_units import DROPPED_ROWS, N_CELL_GROUPS, WRONG_LABELS, BudgetMoves, MovableRows

MOST_ROWS = 5_000
"""Rows of a table whose scores are all bounded by sums over all rows, at most: width against time and memory."""

MOST_WORK = 1 << 32
"""Rows times directions times columns squared, at most, about what one round of all ranges costs: width against
time."""

MOST_WORK_OF_BUDGETS = 1 << 34
"""The same for a budget, where nothing else bounds as closely: 3,500 rows x 27 columns take about ten seconds, against
no bounds at all."""

MOST_ASKED_NUMBERS = 1 << 22
"""Numbers in a longer table whose rows are added up for the scores that are asked for, at most: memory, 32 MiB."""

MOST_LEVELS = 64
"""Levels of a category, at most, as each level of a missing one is tried: width against time."""

NO_BUDGET = BudgetMoves(())
"""That of a table in which all that is uncertain is free."""


@dataclass(frozen=True, eq=False)
class RowTable:
    """All rows of a small table, as the row sums see them."""

    lam: Array
    """Shape (d,): strength of the l2 penalty of each coordinate."""
    complete: Array
    """Shape (n_complete, d): rows in which nothing varies, equal ones merged; with an l1 penalty also the unit vectors
    of its coordinates, whose derivative is that of the penalty."""
    complete_weight: Array
    complete_graph: LossGraph | JoinedGraphs
    """The derivatives of these rows."""
    incomplete: Array
    """Shape (n_incomplete, d): centers of the other rows, or what is filled in there."""
    incomplete_weight: Array
    incomplete_graph: LossGraph
    """Their derivatives, with the labels of the center."""
    units: Units
    """What varies in their cells."""
    labels: LabelPair
    """Their derivatives with either of two labels; the same where labels are certain."""
    label_group: Indices
    """Shape (n_incomplete,): `Group.CERTAIN`, `Group.FREE`, or the group of budget in which a row's second label
    counts."""
    budget: tuple[int, ...]
    """How many units of each group may differ."""
    directions: Array
    """Shape (k, d): rows and unit vectors, each once: their products with a model are what ranges are about."""
    complete_at: Indices
    incomplete_at: Indices
    weights_at: Indices
    """Which direction each row, and each weight, is."""
    gradient_upper: Array
    """Shape (d,): bounds of the size of the center's gradient at w (with the best subgradient of an l1 penalty)."""
    w: Array
    settled: ConstantDerivativeRows
    """Of the rows that are left out of this table, as their derivatives are known."""
    dropped_group: int = int(Group.CERTAIN)
    """The group of budget in which a row counts that is absent from the training table, as any of the uncertain rows
    may be (lem-absent-row); `Group.CERTAIN` if none may."""
    kappa: Array | None = None
    """Shape (d,): strength of the l1 penalty of each coordinate; None if no row may be absent, which alone needs it."""

    @classmethod
    def of(cls, problem: Problem, solution: Solution) -> RowTable | None:
        """Gather a table; None if it is too long, or its labels are uncertain in a way that is not looked at."""
        rows, d = problem.rows, problem.rows.n_features
        if _has_many_levels(rows) or not is_small(rows.n_rows, d):
            return None
        table = whole_table(rows)
        return cls._of(problem, solution, table, ConstantDerivativeRows.nothing(d), _gradient(problem, solution, table))

    @classmethod
    def around(cls, problem: Problem, solution: Solution, movable: MovableRows, moves: BudgetMoves) -> RowTable | None:
        """Gather a filled-in table, and what may differ from it; None if it is too long."""
        rows, d = problem.rows, problem.rows.n_features
        if not is_small(rows.n_rows, d, MOST_WORK_OF_BUDGETS):
            return None
        table = whole_table(rows)
        gradient = _gradient(problem, solution, table)
        return cls._of(problem, solution, table, ConstantDerivativeRows.nothing(d), gradient, movable, moves)

    @classmethod
    def within(cls, problem: Problem, solution: Solution, known: Certificate) -> RowTable | None:
        """Gather a table for the models of completions alone, given bounds of their scores.

        Rows whose derivative these bounds leave constant are left out. None if too many rows are left, or labels are
        uncertain in a way that is not looked at.
        """
        rows, d = problem.rows, problem.rows.n_features
        if _has_many_levels(rows) or (problem.loss.is_smooth and not is_small(rows.n_rows, d)):
            return None
        found = sum_constant_rows(problem, known, MOST_ROWS)
        if found is None or not is_small(len(found[1].y), d):
            return None
        settled, table = found
        return cls._of(problem, solution, table, settled, None)

    @classmethod
    def for_asked_rows(cls, problem: Problem, solution: Solution) -> RowTable | None:
        """Gather a table for the models of completions alone, in which rows are no directions of their own.

        None if it is very long, or labels are uncertain in a way that is not looked at.
        """
        rows, d = problem.rows, problem.rows.n_features
        if _has_many_levels(rows) or rows.n_rows * d > MOST_ASKED_NUMBERS:
            return None
        return cls._of(problem, solution, whole_table(rows), ConstantDerivativeRows.nothing(d), None, is_long=True)

    @classmethod
    def _of(
        cls,
        problem: Problem,
        solution: Solution,
        table: WholeTable,
        settled: ConstantDerivativeRows,
        gradient: Array | None,
        movable: MovableRows | None = None,
        moves: BudgetMoves = NO_BUDGET,
        *,
        is_long: bool = False,
    ) -> RowTable | None:
        """Order the rows of a table; without a gradient it is for the models of completions alone.

        Equal rows of a long one are not looked for.
        """
        rows, d, n = problem.rows, problem.rows.n_features, len(table.y)
        weight, center = table.weight / rows.total_weight, LossGraph(problem.loss, table.y)
        pair, group = LabelPair(center, center), np.full(n, Group.CERTAIN)
        budget = () if movable is None else tuple(moves.count(number) for number in range(N_CELL_GROUPS))
        wrong_labels, dropped_group = rows.max_wrong_labels or moves.count(WRONG_LABELS), int(Group.CERTAIN)
        if rows.uncertain_labels or wrong_labels:
            found = label_pair(problem.loss, table, wrong_labels)
            if found is None:
                return None
            pair = found
            group = np.where((table.label_radius > 0.0) | (table.weight_radius > 0.0), Group.FREE, Group.CERTAIN)
            if wrong_labels:
                group, budget = np.full(n, len(budget)), (*budget, wrong_labels)
        varies = (table.cell_counts > 0) | (table.missing_counts > 0) | (group != Group.CERTAIN)
        if dropped_rows := moves.count(DROPPED_ROWS):
            varies[:], dropped_group, budget = True, len(budget), (*budget, dropped_rows)
        if movable is not None:
            varies[movable.rows] = True
        keep = table.weight > 0.0
        plain, numbers = np.flatnonzero(keep & ~varies), np.flatnonzero(keep & varies)
        plain_weight = weight[plain]
        if not is_long:
            plain, plain_weight = _merged(table, plain, rows.total_weight)
        position = np.full(n, -1)
        position[numbers] = np.arange(len(numbers))
        units = Units.of_holes(table, position, rows.categories)
        if movable is not None:
            units = Units.of_movable(movable, moves, position)
            units = units.some(units.row >= 0)
        complete, complete_weight = _with_l1_part(problem, table.center[plain], plain_weight)
        incomplete = table.center[numbers]
        n_complete, n_rows = len(complete), len(complete) + len(incomplete)
        directions = np.concatenate([complete, incomplete, np.eye(d)])
        at = np.arange(len(directions))
        if not is_long:
            directions, at = np.unique(directions, axis=0, return_inverse=True)
            at = at.ravel()
        return cls(
            problem.penalty.lam_vector(d),
            complete,
            complete_weight,
            _with_l1_graph(problem, center.of_rows(plain), d),
            incomplete,
            weight[numbers],
            center.of_rows(numbers),
            units,
            pair.of_rows(numbers),
            group[numbers],
            budget,
            directions,
            complete_at=at[:n_complete],
            incomplete_at=at[n_complete:n_rows],
            weights_at=at[n_rows:],
            gradient_upper=np.zeros(d) if gradient is None else gradient,
            w=solution.w,
            settled=settled,
            dropped_group=dropped_group,
            kappa=problem.penalty.kappa_vector(d) if dropped_rows else None,
        )

    @property
    def is_uncertain(self) -> bool:
        """Whether cells, categories or labels are uncertain."""
        return len(self.incomplete) > 0

    @cached_property
    def unit_starts(self) -> Indices:
        """The first unit of each uncertain row, and the number of all."""
        return np.searchsorted(self.units.row, np.arange(len(self.incomplete) + 1)).astype(np.intp)

    @cached_property
    def norms(self) -> tuple[Array, Array]:
        """Those of complete and of uncertain rows, rounded up."""
        return norm_upper(self.complete), norm_upper(self.incomplete)

    @cached_property
    def has_centers(self) -> bool:
        """Whether the center of some row is no completion of it: a mean of levels of a category."""
        return bool(((self.units.base < 0) & ~self.units.is_number).any())

    @cached_property
    def at_w(self) -> dict[str, Array]:
        """Derivatives of the uncertain rows at w, their slopes, and how far each of two labels moves them."""
        scores, graph = self.incomplete @ self.w, self.incomplete_graph
        value = graph.value(scores)
        first, second = (each.value(scores) - value for each in self.labels)
        return {"value_at_w": value, "slope_at_w": graph.slope(scores), "first_label": first, "second_label": second}

    @cached_property
    def is_sparse(self) -> bool:
        """Whether most numbers of the complete rows are 0: columns of categories."""
        return bool(2 * np.count_nonzero(self.complete) < self.complete.size)

    def derivative_ranges(
        self, complete: tuple[Array, Array], incomplete: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Bound the derivatives of complete and incomplete rows, with either label, given the ends of their scores."""
        first, second = (each.range(*incomplete) for each in self.labels)
        return self.complete_graph.range(*complete), (np.minimum(first[0], second[0]), np.maximum(first[1], second[1]))

    def without(
        self, complete: NDArray[np.bool_], incomplete: NDArray[np.bool_], derivatives: tuple[Array, Array]
    ) -> tuple[RowTable, Indices]:
        """Leave out rows whose derivatives are known, and add them up; return also which directions are left.

        Parameters
        ----------
        complete, incomplete : arrays of shape (n_complete,), (n_incomplete,)
            Which rows are left out; no category varies in these.
        derivatives : tuple of arrays
            Of all complete and incomplete rows; only those of rows that are left out count.
        """
        kept, left = ~complete, ~incomplete
        position = np.cumsum(left) - 1
        used = np.unique(np.concatenate([self.complete_at[kept], self.incomplete_at[left], self.weights_at]))
        place = np.full(len(self.directions), -1)
        place[used] = np.arange(len(used))
        of_units = left[self.units.row]
        smaller = replace(
            self,
            complete=self.complete[kept],
            complete_weight=self.complete_weight[kept],
            complete_graph=self.complete_graph.of_rows(kept),
            incomplete=self.incomplete[left],
            incomplete_weight=self.incomplete_weight[left],
            incomplete_graph=self.incomplete_graph.of_rows(left),
            units=self.units.some(of_units, position[self.units.row[of_units]]),
            labels=self.labels.of_rows(left),
            label_group=self.label_group[left],
            directions=self.directions[used],
            complete_at=place[self.complete_at[kept]],
            incomplete_at=place[self.incomplete_at[left]],
            weights_at=place[self.weights_at],
            settled=self._constant_with(complete, incomplete, derivatives),
        )
        return smaller, used

    def _constant_with(
        self, complete: NDArray[np.bool_], incomplete: NDArray[np.bool_], derivatives: tuple[Array, Array]
    ) -> ConstantDerivativeRows:
        """Add rows to those that are left out already."""
        units = self.units
        rows = np.concatenate([self.complete[complete], self.incomplete[incomplete]])
        coefficients = np.where(incomplete, self.incomplete_weight * derivatives[1], 0.0)
        change = np.maximum(-units.lower, units.upper)
        radius = np.bincount(units.column, np.abs(coefficients)[units.row] * change, minlength=len(self.w))
        coefficients = np.concatenate([(self.complete_weight * derivatives[0])[complete], coefficients[incomplete]])
        size = np.abs(coefficients) @ np.abs(rows) + np.abs(self.settled.middle)
        error = sum_error(size, len(rows) + 8)
        radius = sum_upper(self.settled.radius + radius + error, len(units) + 8)
        return ConstantDerivativeRows(self.settled.middle + coefficients @ rows, radius)

    @property
    def rows_and_weights_at(self) -> Indices:
        """Which direction each complete row, each incomplete one and each weight is."""
        return np.concatenate([self.complete_at, self.incomplete_at, self.weights_at])


def is_small(n: int, d: int, most_work: int | None = None) -> bool:
    """Whether row sums of all rows of a table of n rows and d columns are affordable."""
    return n <= MOST_ROWS and n * (n + d) * d * d <= (most_work or MOST_WORK)


def _has_many_levels(rows: Rows) -> bool:
    """Whether a category has very many levels."""
    return any(len(levels.columns) > MOST_LEVELS for levels in rows.categories)


def _gradient(problem: Problem, solution: Solution, table: WholeTable) -> Array:
    keep = table.weight > 0.0
    weight = table.weight[keep] / problem.rows.total_weight
    return gradient_upper(problem, solution, table.center[keep], table.y[keep], weight)


def gradient_upper(problem: Problem, solution: Solution, X: Array, y: Array, weight: Array) -> Array:
    """Bound the size of the center's gradient at w.

    Where a weight is 0 the subgradient of an l1 penalty is the one that leaves the smallest sum.
    """
    w, penalty, n = solution.w, problem.penalty, len(X)
    low, high = problem.loss.derivative_range(y, *dot_bounds(X, w))
    middle, radius = midpoint_and_radius(low, high)
    size = np.abs(X).T @ (weight * (np.abs(middle) + radius))
    around = sum_upper(np.abs(X).T @ (weight * radius) + (n + 8) * EPS * size, n + 8)
    sums = X.T @ (weight * middle)
    lowest, highest = penalty.subgradient_range(w, down(sums - around), up(sums + around))
    return np.maximum(np.abs(lowest), np.abs(highest))


def _merged(table: WholeTable, numbers: Indices, total: float) -> tuple[Indices, Array]:
    """Return rows among which equal ones, label included, are one, and their weights."""
    weight = table.weight[numbers]
    # Sums of whole numbers are exact up to 1 / EPS.
    if not len(numbers) or not (weight == np.floor(weight)).all() or weight.sum() * EPS > 1.0:
        return numbers, weight / total
    keys = np.column_stack([table.center[numbers], table.y[numbers]]) + 0.0  # a zero has one sign
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return numbers[first], np.bincount(which.ravel(), weight) / total


def _with_l1_part(problem: Problem, X: Array, weight: Array) -> tuple[Array, Array]:
    """Return rows and their weights; each weight of an l1 penalty is one more row."""
    d = X.shape[1]
    penalised = np.flatnonzero(problem.penalty.kappa_vector(d))
    return np.concatenate([X, np.eye(d)[penalised]]), np.concatenate([weight, np.ones(len(penalised))])


def _with_l1_graph(problem: Problem, graph: LossGraph, d: int) -> LossGraph | JoinedGraphs:
    """Return the derivatives of rows, and of the weights of an l1 penalty."""
    kappa = problem.penalty.kappa_vector(d)
    penalised = np.flatnonzero(kappa)
    return JoinedGraphs(graph, SignGraph(kappa[penalised]), len(graph.y)) if len(penalised) else graph
