"""When do the predictions of a table tip: row by row, as one share of the missing values, and column by column."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.shown_numbers import share_in_words
from ipub.answers.status import CERTAIN, OPEN, UNPROVED
from ipub.answers.tipping.brackets import Brackets
from ipub.answers.tipping.budget_bounds import BudgetBounds
from ipub.answers.tipping.explanation import column_in_words
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves
from ipub.tables.new_frames import frame_of

MOST_COLUMNS = 10
"""Columns that are looked at, at most, those with most missing values first: each takes a certificate."""


MOST = 0.9
"""The share of the rows of which is also said how much may differ with them unchanged."""


class TippingShare(NamedTuple):
    """The largest share of the missing values that may differ from the filled-in ones with no prediction changed.

    Rows that their own missing values change, whatever the training table is, are left out.
    """

    proved: float
    """It is at least this."""
    found: float
    """And at most this: a filling with one more value that differs changes a prediction."""


class ColumnAlone(NamedTuple):
    """What the missing values of one column alone can change, whatever they are, all others as filled in.

    Rows that their own missing values change, whatever the training table is, are left out.
    """

    column: Any
    missing: int
    """How many values of it are missing."""
    certain: int
    """Rows that are proved to stay as they are."""
    open: int
    """Rows that missing values of the column change: a filling was found."""

    def sentence(self, m: int, n_own: int = 0) -> str:
        """Return what was found of m rows, beside which so many are left out."""
        plural = self.missing > 1
        which = f"All {self.missing:,} missing values" if plural else "The missing value"
        of_column = f"{which} of {column_in_words(self.column)}"
        if self.certain == m:
            return f"{of_column}: no change (proved)."
        rows = f"the {m:,} other rows" if n_own else f"{m:,} rows"
        unproved = m - self.certain - self.open
        changed = f", {_are(self.open)} known to change" if self.open else ""
        neither = f", {_are(unproved)} unproved" if unproved else ""
        return f"{of_column}: {self.certain:,} of {rows} stay (proved){changed}{neither}."


@dataclass(frozen=True, eq=False, repr=False)
class TippingPoints:
    """How many missing values must differ from the filled-in ones before predictions change."""

    rows: Any
    """A frame with a line for each row: ``row``; ``at_least``, the number of missing values that must differ before the
    prediction can change (proved), and ``at_most``, so many do (a filling was found and retrained), infinite where
    none can, or none was found; ``status``, as `predict_status` has it: "certain" if no filling that the promise of the
    model allows can change it, "open" if one is known to, else "unproved"."""
    share: TippingShare
    n_missing: int
    """Number of missing values of the training table."""
    benchmarks: Any
    """A frame with a line for each of the columns with most missing values: ``column``; ``missing``, how many values
    are; ``certain``, how many rows keep their prediction if all of these are anything and all others are as filled in
    (proved); ``open``, how many these values are known to change. Rows that their own missing values change are not
    counted."""
    states: NDArray[np.str_]
    """Shape (m,): the status of each row."""
    what: str
    """What happens to a row that tips, in a few words."""
    at_least: Array
    at_most: Array
    """Shape (m,): those of each row."""
    columns: tuple[ColumnAlone, ...]
    """The benchmarks, one by one."""
    is_about_all: bool
    """Whether all missing values may differ in what the states are about; else no more than a budget allows."""

    @property
    def n_own(self) -> int:
        """How many rows are left out: their own missing values change them, whatever the training table is."""
        return int(np.count_nonzero(self.at_most == 0.0))

    def sentences(self) -> list[str]:
        """Return what was found, in sentences."""
        m, n = len(self.states), self.n_missing
        proved, found = (round(share * n) for share in self.share)
        n_own = self.n_own
        rows = f"{m - n_own:,} {'other ' if n_own else ''}rows"
        if proved >= n:
            always = f"Whatever the {n:,} missing values are, none" if n else "No value is missing: none"
            return [*_left_out(n_own), f"{always} of the {rows} {self.what} (proved)."]
        none = (
            f"None of the {rows} {self.what} while at most {proved:,} of the {n:,} missing values "
            f"({share_in_words(proved / n)}) differ from the filled-in ones (proved)."
        )
        lines = [*_left_out(n_own), none if proved else "One missing value may be enough to change a row."]
        if found < n:
            are = "is" if found == 0 else "are"
            lines.append(
                f"{found + 1:,} of them ({share_in_words((found + 1) / n)}) {are} known to be enough for one row."
            )
        most = float(np.sort(self.at_least)[int((1.0 - MOST) * m)]) - 1.0
        if most > proved:
            so_many = "whatever all of them are" if np.isinf(most) else f"while at most {most:,.0f} differ"
            lines.append(f"{share_in_words(MOST)} of the rows stay as they are {so_many} (proved).")
        counts = [f"{np.count_nonzero(self.states == state):,} {state}" for state in (CERTAIN, OPEN, UNPROVED)]
        which = "If all of them may differ" if self.is_about_all else "Within the budget of the model"
        lines.append(f"{which}: {', '.join(counts)}.")
        return [*lines, *(each.sentence(m - n_own, n_own) for each in self.columns if m > n_own)]

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in self.sentences())


def _are(count: int) -> str:
    return f"{count:,} {'is' if count == 1 else 'are'}"


def _left_out(n_own: int) -> list[str]:
    """Say which rows are not counted."""
    rows = "One row is" if n_own == 1 else f"{n_own:,} rows are"
    return [f"{rows} left out: missing values of their own change them."] if n_own else []


def tipping_points(brackets: Brackets, labels: list[Any], what: str, like: Any, verbose: int) -> TippingPoints:
    """Put together what brackets say of rows and of the table, and look at columns.

    `labels` name the rows, `what` says what they do where they tip, and frames are of the library of `like`.
    """
    at_least, at_most, n = brackets.at_least, brackets.at_most, brackets.filled.n_missing
    states = brackets.status
    counts = at_most > 0.0
    share = TippingShare(*(_share_below(each[counts], n) for each in (at_least, at_most)))
    frame = {"row": labels, "at_least": at_least, "at_most": at_most, "status": states}
    columns = tuple(_columns(brackets, verbose))
    found = {name: [getattr(each, name) for each in columns] for name in ColumnAlone._fields}
    return TippingPoints(
        frame_of(frame, like=like),
        share,
        n,
        frame_of(found, like=like),
        states,
        what,
        at_least,
        at_most,
        columns,
        brackets.filled.covered == brackets.filled.count,
    )


def _share_below(numbers: Array, n: int) -> float:
    """Return the largest share of n missing values that is below all numbers."""
    if not len(numbers):
        return 0.0
    least = float(numbers.min())
    return 1.0 if np.isinf(least) else max(0.0, least - 1.0) / n


def _columns(brackets: Brackets, verbose: int) -> Iterator[ColumnAlone]:
    """Look at the columns with most missing values, each by itself."""
    missing = brackets.filled.missing
    columns, counts = np.unique(missing.columns, return_counts=True)
    chosen = np.sort(np.argsort(-counts, kind="stable")[:MOST_COLUMNS])
    with progress("Looking at columns", len(chosen), bool(verbose)) as report:
        for number, k in enumerate(chosen):
            here = np.flatnonzero(missing.columns == columns[k])
            name = missing.column_labels(here[:1])[0]
            yield ColumnAlone(name, int(counts[k]), *_of_units(brackets, brackets.filled.units[here]))
            report(number + 1)


def _of_units(brackets: Brackets, units: Indices) -> tuple[int, int]:
    """Return how many rows stay, and how many are known to change, if some units are anything.

    Rows that their own missing values change anyway are in neither.
    """
    filled, asked = brackets.filled, brackets.asked
    units = units[units >= 0]
    is_counted = brackets.at_most > 0.0
    # Fewer values than must differ at least change nothing.
    left = np.flatnonzero(is_counted & (brackets.at_least <= len(units)))
    group = np.full(filled.movable.n_units, WRONG_CELLS)
    group[units] = HOLES
    movable = replace(filled.movable, unit_group=group)
    wider = filled.training.certificates
    covered = min(len(units), filled.covered)
    only = BudgetBounds(filled.models, movable, lambda k: BudgetMoves((k, 0)), len(units), wider, covered)
    anyway: Array = brackets.anyway[left]
    is_certain = np.zeros(len(left), dtype=bool)
    if len(left):
        is_certain = only.is_certain(len(units), asked.take(left), anyway, brackets.threshold)
    changed = 0
    for number in left[~is_certain].tolist():
        options = brackets.search.smallest(number, brackets.aims[number], len(units), units)
        if options is not None and len(options):
            changed += brackets.search.flip(number, brackets.aims[number], options) is not None
    return int(is_counted.sum()) - len(left) + int(is_certain.sum()), changed
