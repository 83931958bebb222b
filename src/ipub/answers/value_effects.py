"""What each missing value, by itself, does to scores to first order: an estimate, for all of them in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipub.answers.attained.first_order import KINK_WIDTH, center_hessian, inverse_times
from ipub.answers.missing_values import MissingValues, rows_that_follow
from ipub.certificates import TrainedModel
from ipub.numeric.rounding import Array
from ipub.rows import MemoryRows, engine_of
from ipub.rows.completions import Positions
from ipub.tables.interval_matrix import Indices
from ipub.training import Training

MOST_NUMBERS = 65_536
"""Numbers in the effects that are looked at at a time: they fit into the cache."""


@dataclass(frozen=True, eq=False)
class ValueEffects:
    """How far each missing value by itself moves scores under one model, to first order in the change of the model.

    An *option* is a missing value at a place: a number at an end of its interval, a category at a level. With ``u =
    H^-1 x`` and H the Hessian of the objective, an option that turns training row ``x_i`` into ``x_i'`` moves ``x.w``
    by ``-m_i (psi(x_i'.w) x_i'.u - psi(x_i.w) x_i.u)``, all other values staying where they are. That is not a bound.
    """

    missing: MissingValues
    model: TrainedModel
    """The model whose scores are moved: of the center, of what a budget starts from, or of a given filling."""
    value: Indices
    """Shape (n_options,): number of each option's missing value. First come the lower ends of all numbers, then their
    upper ends, then the levels of each category."""
    position: Positions
    """Shape (n_options,): where the option puts it, as in `MissingValues`."""
    _table: Array
    """Rows with missing values, as the model sees them before the option."""
    _row: Indices
    """Shape (n_missing,): the row of each missing value in `_table`."""
    _column: Indices
    """Shape (n_options,): the column that the option raises."""
    _along_row: Array
    """Shape (n_options,): the gradient of the objective changes by so much times the row ..."""
    _along_change: Array
    """... and so much times the column that the option raises, for a category less what was there before."""
    _hessian: Array

    @classmethod
    def of(
        cls, training: Training, missing: MissingValues, model: int = 0, positions: ArrayLike | None = None
    ) -> ValueEffects:
        """Look at each missing value around the model of a training, or around that of a filling, which is trained.

        `positions` are those of the filling, as in `MissingValues`; without them numbers are in the middle, and of a
        category with the mean of all levels the options are what its levels change, or all are as the budget of the
        fit has filled them in.
        """
        everything = np.ones(len(missing), dtype=bool)
        models = training.models if positions is None else missing.known(training, everything, positions)
        problem, solution = models[model]
        engine, w, loss = engine_of(problem.rows), solution.w, problem.loss.smoothed(KINK_WIDTH)
        assert isinstance(engine, MemoryRows)
        used, row = np.unique(missing.rows, return_inverse=True)
        table = np.array(engine.matrix.take(used).center_rows(slice(0, len(used))))
        if training.fit_intercept:
            table = np.column_stack([table, np.ones(len(table))])

        n, cells, levels_of = missing.n_numbers, missing.holes.cells, missing.matrix.missing_categories
        columns = missing.encoded_columns[:n]
        ends = [missing.matrix.centers[cells] + side * missing.matrix.radii[cells] for side in (-1.0, 1.0)]
        raised = [end - table[row[:n], columns] for end in ends]
        numbers = np.arange(n)
        counts = np.array([len(levels_of.levels[k].columns) for k in levels_of.categories], dtype=np.intp)
        of_category = np.repeat(np.arange(n, len(missing)), counts)
        levels = [levels_of.levels[k].columns for k in levels_of.categories]
        value = np.concatenate([numbers, numbers, of_category]).astype(np.intp)
        column = np.concatenate([columns, columns, *levels]).astype(np.intp)
        position = np.concatenate([-np.ones(n), np.ones(n), *map(np.arange, counts)]).astype(np.float32)

        change = np.concatenate([*(by * w[columns] for by in raised), *(w[each] for each in levels)])
        for which, each in levels_of.by_category():
            before = table[np.ix_(row[n + which], each.columns)] @ w[each.columns]
            options = np.isin(of_category - n, which)
            change[2 * n :][options] -= np.repeat(before, len(each.columns))
        along_row, along_change = np.zeros(len(value)), np.zeros(len(value))
        amount = np.concatenate([*raised, np.ones(len(of_category))])
        (y, weight), score = problem.rows.labels(), (table @ w)[row[value]]
        for i, counted in _occurrences(training, missing, value):
            before = loss.derivative(y[i], score[counted])
            after = loss.derivative(y[i], score[counted] + change[counted])
            share = weight[i] / problem.rows.total_weight
            along_row[counted] += share * (after - before)
            along_change[counted] += share * after * amount[counted]
        hessian = center_hessian(problem, loss, w)
        parts = table, np.asarray(row, dtype=np.intp), column, along_row, along_change, hessian
        return cls(missing, models[model], value, position, *parts)

    def of_rows(self, rows: Array) -> Array:
        """Return by how much each option moves the scores of rows (as `Training.extended`), shape (m, n_options)."""
        return self._effects(self._inverse_times(rows), np.arange(len(self.value)))

    def lowest_and_highest(self, rows: Array) -> tuple[Array, Array]:
        """Return how far each missing value moves scores down and up, each of shape (m, n_missing), signed."""
        parts = list(self.in_parts(rows))
        if not parts:
            return np.zeros((len(rows), 0)), np.zeros((len(rows), 0))
        return np.hstack([low for _, low, _ in parts]), np.hstack([high for _, _, high in parts])

    def in_parts(self, rows: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield slices of the missing values, in order, with their `lowest_and_highest`: for many rows."""
        n, n_missing = self.missing.n_numbers, len(self.missing)
        directions = self._inverse_times(rows)
        step = max(1, MOST_NUMBERS // max(len(rows), directions.shape[1]))
        for start in range(0, n, step):
            here = np.arange(start, min(start + step, n))
            low, high = self._effects(directions, here), self._effects(directions, n + here)
            lower, upper = np.minimum(low, high), np.maximum(low, high)
            yield slice(start, start + len(here)), np.minimum(lower, 0.0), np.maximum(upper, 0.0)
        starts = np.searchsorted(self.value[2 * n :], np.arange(n, n_missing + 1))
        for start in range(n, n_missing, step):
            stop = min(start + step, n_missing)
            first, last = starts[start - n], starts[stop - n]
            effects = self._effects(directions, 2 * n + np.arange(first, last))
            at = starts[start - n : stop - n] - first
            lower, upper = np.minimum.reduceat(effects, at, axis=1), np.maximum.reduceat(effects, at, axis=1)
            yield slice(start, stop), lower, upper

    def _inverse_times(self, rows: Array) -> Array:
        """Return ``H^-1 x`` of each row."""
        problem, solution = self.model
        return inverse_times(problem, self._hessian, solution.w, rows.T).T

    def _effects(self, directions: Array, options: NDArray[np.intp]) -> Array:
        """Return the effects of some options on rows, by what `_inverse_times` returns for these."""
        of_row = self._row[self.value[options]]
        gradients = self._along_row[options, None] * self._table[of_row]
        gradients[np.arange(len(options)), self._column[options]] += self._along_change[options]
        missing, number = self.missing.matrix.missing_categories, self.value[options] - self.missing.n_numbers
        for k, levels in enumerate(missing.levels):
            here: Indices = np.flatnonzero(number >= 0)
            here = here[missing.categories[number[here]] == k]
            if len(here):
                before = self._table[np.ix_(of_row[here], levels.columns)]
                gradients[np.ix_(here, levels.columns)] -= self._along_change[options[here], None] * before
        return np.asarray(-directions @ gradients.T)


def _occurrences(training: Training, missing: MissingValues, value: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield rows of the model and the options whose values are in them: a row of unknown class is there twice."""
    n_rows = missing.matrix.shape[0]
    rows = missing.rows[value]
    yield rows, np.arange(len(value))
    follow = rows_that_follow(training, n_rows)
    place = np.full(n_rows, -1)
    place[follow] = n_rows + np.arange(len(follow))
    again = np.flatnonzero(place[rows] >= 0)
    yield place[rows[again]], again
