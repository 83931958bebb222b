"""A filled-in training table, its models, and the missing values that may differ from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ipub.answers.attained import BudgetSearch
from ipub.answers.missing_values import MissingValues
from ipub.answers.tipping.budget_bounds import BudgetBounds
from ipub.certificates import DrawBounds, TrainedModel
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, engine_of, on_engine
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from ipub.training import Training
from ipub.training.filled import count_missing
from ipub.training.movable import movable_holes

NO_FILLING = (
    "How many values must differ is counted from a filled-in table with labels that are certain: fit without "
    "unknown_labels, max_label_errors, y_lower and y_upper, with uncertainty='worst' or a Budget."
)


UNDER_DRAWS = (
    "Under Draws nothing is counted, since there is no single filled-in table: fit with uncertainty='worst' or a "
    "Budget."
)


def why_without_filling(training: Training) -> str | None:
    """Say why there is no single filled-in table with certain labels to count from; None if there is one."""
    if any(each.part(DrawBounds) is not None for each in training.certificates):
        return UNDER_DRAWS
    has_uncertain_labels = training.models and training.models[0].problem.rows.uncertain_labels
    return NO_FILLING if has_uncertain_labels else None


def can_fill_in(training: Training) -> bool:
    """Whether there is a filled-in table to count from, in memory."""
    if not training.can_search or training.given is None or why_without_filling(training) is not None:
        return False
    return isinstance(engine_of(training.models[0].problem.rows), MemoryRows)


@dataclass(frozen=True, eq=False)
class FilledIn:
    """The models of a filled-in training table, and what may differ from it: units of one group.

    The table is what the `Budget` of the fit has filled in; without one missing values are at the middle of their
    intervals and at the commonest level. Observed values are what they are, whatever their precision.
    """

    training: Training
    missing: MissingValues
    models: tuple[TrainedModel, ...]
    movable: MovableRows
    group: int
    n_missing: int
    """Number of missing values, those that have one possible value alone included."""

    @classmethod
    def of(cls, training: Training, group: int = HOLES) -> FilledIn:
        """Fill in the table of a training; the same object at every call.

        Raises IpubError if the training table is not at hand, labels are uncertain, or the bounds are around draws.
        """
        training.unchanged_models()
        if group not in training.kept:
            training.kept[group] = cls._of(training, group)
        found: FilledIn = training.kept[group]
        return found

    @classmethod
    def _of(cls, training: Training, group: int) -> FilledIn:
        around = training.around
        if group == WRONG_CELLS and (around is None or not (around.movable.unit_group == WRONG_CELLS).any()):
            raise IpubError(
                "How wrong an observed cell may be is not known: fit with uncertainty=Budget(wrong_cells=1, "
                "precision=...)."
            )
        missing = MissingValues.of(training)
        if around is not None:
            return cls(training, missing, training.models, around.movable, group, around.n_holes)
        why_not = why_without_filling(training)
        if why_not is not None:
            raise IpubError(why_not)
        table = missing.filled_in_table(missing.filled_in)
        matrix = missing.matrix
        is_missing = np.zeros(matrix.n_uncertain, dtype=bool)
        is_missing[missing.holes.cells] = True
        movable = movable_holes(replace(matrix, radii=np.where(is_missing, matrix.radii, 0.0)), table)
        n_missing = count_missing(matrix, missing.holes.table, movable)
        return cls(training, missing, trained_on(training.models, table), movable, group, n_missing)

    def moves(self, k: int) -> BudgetMoves:
        """Return the budget of k units of the group, and none of the others."""
        return BudgetMoves((k, 0) if self.group == HOLES else (0, k))

    @cached_property
    def count(self) -> int:
        """How many units may differ."""
        return int(np.count_nonzero(self.movable.unit_group == self.group))

    @cached_property
    def covered(self) -> int:
        """Tables in which at most so many units differ are among those that the model's certificates are about."""
        around = self.training.around
        if around is None:
            return self.count
        return min(around.moves.count(self.group), self.count)

    @cached_property
    def searches(self) -> tuple[BudgetSearch, ...]:
        """What searches for tables that differ a little, of each model."""
        return tuple(BudgetSearch(*model, self.movable) for model in self.models)

    @cached_property
    def budgets(self) -> BudgetBounds:
        """Bounds of the scores if so many units differ."""
        wider = self.training.certificates
        return BudgetBounds(self.models, self.movable, self.moves, self.count, wider, self.covered)

    @cached_property
    def units(self) -> Indices:
        """Shape (len(missing),): the unit of each missing value, -1 if it is none."""
        return self.missing.units_in(self.movable)

    def scores(self, center: Array) -> Array:
        """Return the scores of rows under each model, shape (m, K)."""
        return np.column_stack([center @ search.w for search in self.searches])

    def positions(self, options: Indices) -> Array:
        """Return the positions of all missing values with these options of units taken, as `MissingValues` has them."""
        movable, missing = self.movable, self.missing
        value_of = np.full(movable.n_units, -1)
        value_of[self.units[self.units >= 0]] = np.flatnonzero(self.units >= 0)
        positions = np.array(missing.filled_in, dtype=float)
        for option in options:
            k, column = value_of[movable.option_unit[option]], movable.option_columns[option, 0]
            is_number = k < missing.n_numbers
            side = np.sign(movable.option_amounts[option, 0])
            positions[k] = side if is_number else column - missing.encoded_columns[k]
        return positions

    def models_at(self, positions: ArrayLike, start: list[Array] | None = None) -> list[Array]:
        """Return the weights of the models trained on a filling; NaN where training failed."""
        table = self.missing.filled_in_table(positions)
        if self.training.fit_intercept:
            table = np.column_stack([table, np.ones(len(table))])
        starts = [search.w for search in self.searches] if start is None else start
        return [search.trained_on(table, w) for search, w in zip(self.searches, starts, strict=True)]


def trained_on(models: tuple[TrainedModel, ...], table: Array) -> tuple[TrainedModel, ...]:
    """Return models trained on a table without missing values, in place of that of their rows."""
    found = []
    for problem, solution in models:
        engine = engine_of(problem.rows)
        assert isinstance(engine, MemoryRows)
        rows = MemoryRows(IntervalMatrix.from_bounds(table, table), engine.y, engine.weight)
        filled = replace(problem, rows=on_engine(problem.rows, rows))
        found.append(TrainedModel(filled, solve(filled, start=solution.w)))
    return tuple(found)
