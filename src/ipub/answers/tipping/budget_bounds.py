"""Bounds of scores if at most k units differ from a filled-in table, for many k: few budgets are proved.

The models of a budget are among those of each larger one. So ranges that were proved for a number of units bound the
scores for all smaller numbers too, with the sums of these (lem-smaller-budget): one pass, and nothing to prove.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certainty import is_certain
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.certificates import Certificate, RowSumBounds, TrainedModel
from ipub.certificates.row_sums.bounds import bounds_around_filling, bounds_of_smaller_budget
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices
from ipub.tables.movable_units import BudgetMoves, MovableRows

RATIO = 2.0**0.5
"""Of one number that is proved to the next, from 8 on: width against time. At 2 some of mammographic masses were a
quarter smaller."""


class BudgetBounds:
    """What is proved of tables in which at most k units differ.

    Which numbers are proved for k, and from where each proof starts, depends on k and the table alone, so bounds do not
    depend on what was asked before. What is proved is kept for later calls.
    """

    def __init__(
        self,
        models: tuple[TrainedModel, ...],
        movable: MovableRows,
        moves: Callable[[int], BudgetMoves],
        count: int,
    ) -> None:
        """Bound up to `count` units."""
        self._models, self._movable, self._moves, self.count = models, movable, moves, count
        self._proved: list[dict[int, RowSumBounds | None]] = [{} for _ in models]
        """For each model what was proved of numbers; None where nothing could be."""

    def is_certain(self, k: int, asked: AskedRows, known: Array, threshold: float) -> NDArray[np.bool_]:
        """Return which rows have the same class, or are on one side of the threshold, if at most k units differ.

        `known` has bounds of their scores that hold anyway.
        """
        return is_certain(self.bounds(k, asked, known), threshold)

    def bounds(self, k: int, asked: AskedRows, known: Array) -> Array:
        """Bound the scores of rows if at most k units differ."""
        low, high = np.array(known[..., 0]), np.array(known[..., 1])
        for model in range(len(self._models)):
            found = self._at(model, k)
            if found is not None:
                below, above = asked.bounds(Certificate("filling", (found,), 0.0)).T
                part = (slice(None), model) if known.ndim == 3 else slice(None)
                low[part], high[part] = np.maximum(low[part], below), np.minimum(high[part], above)
        return np.stack([low, high], axis=-1)

    def _at(self, model: int, k: int) -> RowSumBounds | None:
        """Return bounds of one model by a number that is at least k and can be proved; None if none was."""
        problem, solution = self._models[model]
        for number in larger_numbers(k, self.count):
            found = self._of(model, number)
            if found is not None and number > k:
                return bounds_of_smaller_budget(found, problem, solution, self._movable, self._moves(k))
            if found is not None:
                return found
        return None

    def _of(self, model: int, number: int) -> RowSumBounds | None:
        """Prove a number of units for one model, or return what was proved."""
        proved, (problem, solution) = self._proved[model], self._models[model]
        if number not in proved:
            proved[number] = bounds_around_filling(problem, solution, self._movable, self._moves(number)).found
        return proved[number]


def larger_numbers(k: int, count: int) -> list[int]:
    """Return the numbers, k or larger, that are proved for k: the next of a few, or where that fails a nearer one.

    Examples
    --------
    >>> larger_numbers(5, 100), larger_numbers(12, 100), larger_numbers(92, 100)
    ([8, 5], [16, 13], [100, 94])
    """
    steps = [0, 1, 2, 4, *(int(8 * RATIO**j) for j in range(64))]
    place = next(j for j, number in enumerate(steps) if number >= k)
    step = min(steps[place], count)
    between = int(np.sqrt(steps[max(place - 1, 0)] * step))
    return [step, between] if k <= between < step else [step]


FINE = 0.05
"""Numbers are settled to this share of themselves; those up to 20 exactly."""

MOST_TRIED = 400
"""Numbers that are looked at, at most, for all rows together: what is not settled by then stays a bracket."""


def least_numbers(
    is_certain_at: Callable[[int, Indices], NDArray[np.bool_]],
    count: int,
    is_always: NDArray[np.bool_],
    found: Array,
    report: Callable[[float], None] = lambda _: None,
    most: int = MOST_TRIED,
) -> Array:
    """Return for each row a number of units, as large as is proved, such that fewer cannot change its side.

    Parameters
    ----------
    is_certain_at : callable
        Takes a number of units and some rows, and returns for which of them it is proved that so many change nothing.
    count : int
        How many units there are.
    is_always : array of bool, shape (m,)
        For which rows all of them together are proved to change nothing: these have infinity.
    found : array of shape (m,)
        Numbers that are known to change it; infinite where none is.
    report : callable
        Takes how many numbers were looked at.
    most : int
        Numbers that are looked at.
    """
    numbers = _looked_at(count)
    lowest = np.where(is_always, count, -1)
    below, above = np.where(is_always, len(numbers) - 1, -1), np.full(len(is_always), len(numbers))
    evaluated = 0
    while evaluated < most and (above - below > 1).any():
        middles = np.where(above - below > 1, (below + above) // 2, -1)
        for place in np.unique(middles[middles >= 0])[: most - evaluated].tolist():
            k, rows = numbers[place], np.flatnonzero(middles == place)
            certain = found[rows] > k
            if certain.any():
                certain[certain] = is_certain_at(k, rows[certain])
                evaluated += 1
                report(evaluated)
            lowest[rows[certain]] = k
            below[rows[certain]] = place
            above[rows[~certain]] = place
    report(most)
    return np.where(lowest >= count, np.inf, lowest + 1.0)


def _looked_at(count: int) -> list[int]:
    """Return the numbers that may be looked at: the same for every row, so that what is said of one is its own."""
    numbers = [0]
    while numbers[-1] < count:
        numbers.append(min(count, max(numbers[-1] + 1, int((1.0 + FINE) * numbers[-1]))))
    return numbers
