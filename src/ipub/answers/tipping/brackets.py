"""For each row, how many units must differ from a filled-in table before it is on another side: proved, and found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certainty import is_certain
from ipub.answers.status import CERTAIN, OPEN, UNPROVED, prediction_status
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.budget_bounds import NumberSearch
from ipub.answers.tipping.filled_in import FilledIn
from ipub.answers.tipping.flipping import Aim, Flip, FlipSearch, aims_of
from ipub.certificates import EFFORT
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.movable_units import HOLES
from ipub.training import Training


@dataclass(frozen=True, eq=False)
class Brackets:
    """The rows of a question, and for each of them the fillings that take it to another side."""

    filled: FilledIn
    asked: AskedRows
    threshold: float
    anyway: Array
    """Bounds of the scores that hold however many units differ, shape (m, 2) or (m, K, 2)."""
    at_least: Array
    """No fewer units can take a row to another side: proved. Infinite if all of them together cannot."""
    at_most: Array
    """So many do: a filling was found and retrained. Infinite if none was found."""
    aims: list[list[Aim]]
    flips: list[Flip | None]
    """For each row a filling that takes it to another side; None if none was found, or a value of its own does."""
    status: NDArray[np.str_]
    """Whether each row is certain, open or unproved, as `predict_status` says of classes."""

    @cached_property
    def search(self) -> FlipSearch:
        """What finds fillings for these rows."""
        return FlipSearch(self.filled, self.asked)


def brackets_of(
    training: Training,
    rows: IntervalMatrix,
    threshold: float = 0.0,
    *,
    group: int = HOLES,
    effort: float = EFFORT,
    verbose: int = 0,
) -> Brackets:
    """Bracket for each row the number of units that must differ before its class changes, or it crosses a threshold.

    Missing values of the rows themselves may be anything in their intervals, whatever differs. What is proved is kept
    for later calls, and does not depend on the other rows, nor on what was asked before.
    """
    if not np.isfinite(threshold):
        raise IpubError(f"threshold is {threshold!r}: give a finite number, in the units of the target.")
    training.check_certified()
    training.check_search()
    filled, asked = FilledIn.of(training, group), AskedRows.of(training, rows)
    m = len(asked)
    covered = training.score_bounds(rows, effort=effort)
    anyway = covered if filled.covered == filled.count else np.broadcast_to([-np.inf, np.inf], covered.shape)
    certain = np.where(is_certain(covered, threshold), filled.covered, -1)
    if filled.covered < filled.count:
        certain[filled.budgets.is_certain(filled.count, asked, anyway, threshold)] = filled.count
    aims = list(aims_of(filled, asked, threshold))
    search, at_most = FlipSearch(filled, asked), np.full(m, np.inf)
    flips: list[Flip | None] = [None] * m
    guess = np.full(m, filled.count)
    with progress("Searching for fillings that tip", m, bool(verbose)) as report:
        for number in np.flatnonzero(certain < filled.count).tolist():
            at_most[number], flips[number] = search.found(number, aims[number])
            guess[number] = search.about(number, aims[number])
            report(number + 1)
    status = np.where(certain >= filled.covered, CERTAIN, np.where(at_most <= filled.covered, OPEN, UNPROVED))
    left = np.flatnonzero(status == UNPROVED)
    if training.classes is not None and group == HOLES and len(left):
        status[left] = prediction_status(training, rows.take(left), effort, verbose, tries_flips=False)
        certain[status == CERTAIN] = np.maximum(certain, filled.covered)[status == CERTAIN]
    # The status says which rows all of them together cannot change, if it is about all of them.
    limit = np.where((filled.covered == filled.count) & (certain < filled.count), filled.count, np.inf)

    def is_certain_at(k: int, ranges_of: int, which: Indices) -> np.ndarray:
        known = covered if k <= filled.covered else anyway
        return filled.budgets.is_certain(k, asked.take(which), known[which], threshold, ranges_of)

    numbers = NumberSearch(is_certain_at, filled.count)
    with progress("Certifying budgets", numbers.most_reports, bool(verbose)) as report:
        largest = numbers.largest(certain, np.minimum(at_most, limit), guess, report)
    at_least = np.where(largest >= filled.count, np.inf, largest + 1.0)
    return Brackets(filled, asked, threshold, anyway, at_least, at_most, aims, flips, status)
