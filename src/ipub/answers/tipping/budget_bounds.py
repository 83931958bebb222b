"""Bounds of scores if at most k units differ from a filled-in table, for many k: ranges of few budgets are looked for.

The models of a budget are among those of each larger one, and often among those that the model's own certificate is
about. So ranges that hold for a number of units bound the scores for all smaller numbers too, with the sums of these
(lem-smaller-budget): one pass, and nothing to prove.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certainty import is_certain
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.certificates import Certificate, RowSumBounds, TrainedModel
from ipub.certificates.row_sums.bounds import (
    CertifiedEnds,
    bounds_around_filling,
    bounds_of_smaller_budget,
    budget_bounds_within,
    has_proved_ranges,
)
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices
from ipub.tables.movable_units import BudgetMoves, MovableRows

RATIO = 2.0**0.5
"""Of one number with ranges of its own to the next, from 8 on: width against time. At 2 some of mammographic masses
were a quarter smaller."""


class BudgetBounds:
    """What is proved of tables in which at most k units differ.

    Which numbers have ranges for k, and from where these start, depends on k and the table alone, so bounds do not
    depend on what was asked before. What is proved is kept for later calls.
    """

    def __init__(
        self,
        models: tuple[TrainedModel, ...],
        movable: MovableRows,
        moves: Callable[[int], BudgetMoves],
        count: int,
        wider: tuple[Certificate, ...] = (),
        covered: int = -1,
    ) -> None:
        """Bound up to `count` units.

        `wider` are certificates, one for each model, of a set of tables that holds all those in which at most `covered`
        units differ.
        """
        self._models, self._movable, self._moves, self.count = models, movable, moves, count
        self._wider, self._covered = [(each, CertifiedEnds(each)) for each in wider], covered
        self._proved: list[dict[int, RowSumBounds | None]] = [{} for _ in models]
        """For each model what was proved of numbers; None where nothing could be."""

    def is_certain(
        self, k: int, asked: AskedRows, known: Array, threshold: float, ranges_of: int | None = None
    ) -> NDArray[np.bool_]:
        """Return which rows have the same class, or are on one side of the threshold, if at most k units differ.

        `known` has bounds of their scores that hold anyway. With `ranges_of` over the ranges of that larger number.
        """
        return is_certain(self.bounds(k, asked, known, ranges_of), threshold)

    def bounds(self, k: int, asked: AskedRows, known: Array, ranges_of: int | None = None) -> Array:
        """Bound the scores of rows if at most k units differ."""
        low, high = np.array(known[..., 0]), np.array(known[..., 1])
        for model in range(len(self._models)):
            found = self._at(model, k, ranges_of)
            if found is not None:
                below, above = asked.bounds(Certificate("filling", (found,), 0.0)).T
                part = (slice(None), model) if known.ndim == 3 else slice(None)
                low[part], high[part] = np.maximum(low[part], below), np.minimum(high[part], above)
        return np.stack([low, high], axis=-1)

    def _at(self, model: int, k: int, ranges_of: int | None) -> RowSumBounds | None:
        """Return bounds of one model by a number that is at least k and has ranges; None if none has."""
        problem, solution = self._models[model]
        for number in larger_numbers(k, self.count, ranges_of):
            found = self._of(model, number)
            if found is not None and number > k:
                return bounds_of_smaller_budget(found, problem, solution, self._movable, self._moves(k))
            if found is not None:
                return found
        return None

    def _of(self, model: int, number: int) -> RowSumBounds | None:
        """Find ranges of a number of units for one model, or return what was found.

        What a certificate with row sums says of all rows is narrowed, which always ends in ranges. Without it they have
        to prove themselves, which takes longer where much differs, most of all where it is in vain.
        """
        proved, (problem, solution) = self._proved[model], self._models[model]
        if number not in proved:
            is_covered, found = number <= self._covered, None
            if not (is_covered and has_proved_ranges(self._wider[model][0])):
                found = bounds_around_filling(problem, solution, self._movable, self._moves(number)).found
            if found is None and is_covered:
                known = self._wider[model][1]
                found = budget_bounds_within(problem, solution, self._movable, self._moves(number), known)
            proved[number] = found
        return proved[number]


def larger_numbers(k: int, count: int, ranges_of: int | None = None) -> list[int]:
    """Return the numbers, k or larger, whose ranges serve for k: the next of a few, or if it has none a nearer one.

    With `ranges_of`, which is k or larger, the next from there.

    Examples
    --------
    >>> larger_numbers(5, 100), larger_numbers(12, 100), larger_numbers(92, 100)
    ([8, 5], [16, 13], [100, 94])
    """
    steps = _steps(count)
    place = bisect_left(steps, k if ranges_of is None else ranges_of)
    step = steps[place]
    between = int(np.sqrt(steps[max(place - 1, 0)] * step))
    return [step, between] if k <= between < step else [step]


def _steps(count: int) -> list[int]:
    """Return the numbers up to `count` that have ranges of their own, `count` among them."""
    steps = [0, 1, 2, 4, *(int(8 * RATIO**j) for j in range(64))]
    return [*(step for step in steps if step < count), count]


FINE = 0.05
"""Numbers are settled to this share of themselves; those up to 20 exactly."""


class NumberSearch:
    """For each row, the largest number of units of which it is proved that so many change nothing.

    Ranges of a number cost most, so a row asks for those of as few numbers as possible: it begins at a guess, and goes
    on to the next larger or smaller number with ranges of its own. Its way depends on nothing but the row.
    """

    def __init__(self, is_certain_at: Callable[[int, int, Indices], NDArray[np.bool_]], count: int) -> None:
        """Take a callable that says of a number of units, and of the number whose ranges are used, which rows stay."""
        self._is_certain_at = is_certain_at
        self._steps = _steps(count)
        self._numbers = sorted({*_looked_at(count), *self._steps})
        self.most_reports = 2 * len(self._steps)

    def largest(
        self, certain: Indices, found: Array, guess: Indices, report: Callable[[float], None] = lambda _: None
    ) -> Indices:
        """Return the numbers, shape (m,), -1 for a row that nothing is proved of.

        Parameters
        ----------
        certain : array of int, shape (m,)
            Numbers of units that are proved to change nothing; -1 where none is.
        found : array of shape (m,)
            Numbers that are known to change the row; infinite where none is.
        guess : array of int, shape (m,)
            About what will be found.
        report : callable
            Takes how many of `most_reports` steps are done.
        """
        steps, largest = np.array(self._steps), np.array(certain)
        limit = np.minimum(found - 1.0, steps[-1]).astype(int)
        begin = np.maximum(np.clip(guess, 0, np.maximum(limit, 0)), np.minimum(largest + 1, steps[-1]))
        at = np.searchsorted(steps, begin)
        is_open, falls = largest < limit, np.zeros(len(largest), dtype=bool)
        places = range(len(steps))
        for number, place in enumerate([*places, *reversed(places)]):
            rows = np.flatnonzero(is_open & (at == place))
            if len(rows):
                self._look(place, rows, largest, limit)
                is_all = largest[rows] >= np.minimum(limit[rows], steps[place])
                is_own = largest[rows] >= (steps[place - 1] if place else -1)
                rises = is_all & ~falls[rows] & (largest[rows] < limit[rows])
                sinks = ~is_all & ~is_own
                at[rows] += rises.astype(int) - sinks
                falls[rows] |= sinks
                is_open[rows] = rises | sinks
            report(number + 1)
        return largest

    def _look(self, place: int, rows: Indices, largest: Indices, limit: Indices) -> None:
        """Raise the numbers of some rows as far as the ranges of one number prove it: all of it first, then halves."""
        numbers = np.array(self._numbers)
        top = np.minimum(limit[rows], self._steps[place])
        below, above = (np.searchsorted(numbers, each, side="right") for each in (largest[rows], top))
        middle = above - 1  # numbers[below - 1] is proved, numbers[above] is not looked at
        while (below < above).any():
            for here in np.unique(middle[below < above]).tolist():
                which = np.flatnonzero((below < above) & (middle == here))
                is_certain_here = self._is_certain_at(int(numbers[here]), self._steps[place], rows[which])
                largest[rows[which[is_certain_here]]] = numbers[here]
                below[which[is_certain_here]] = here + 1
                above[which[~is_certain_here]] = here
            middle = (below + above) // 2


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
