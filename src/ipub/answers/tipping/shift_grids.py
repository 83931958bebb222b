"""Where predictions tip if missing values are shifted from the filled-in ones: a grid, proved and found."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certainty import is_certain, possible_labels
from ipub.answers.status import UNPROVED
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.explanation import column_in_words
from ipub.answers.tipping.filled_in import FilledIn
from ipub.answers.tipping.flipping import FlipSearch, aims_of
from ipub.answers.tipping.shifts import Shift, ShiftedTables
from ipub.certificates import (
    Certificate,
    OneMatrixBounds,
    TrainedModel,
    certify_ball,
    certify_tight,
    certify_where_little_differs,
)
from ipub.numeric.rounding import Array
from ipub.problem.solvers import solve
from ipub.progress_bars import progress
from ipub.rows import MemoryRows, engine_of, on_engine
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.new_frames import frame_of

SAFE, TIPS = "safe", "tips"

PROMISE = (
    "safe: proved of the model that is trained with the shifted values. whole_cell: proved of every table in which a "
    "shifted value is anywhere halfway to the neighbouring points, not necessarily all at the same place. All other "
    "missing values are the filled-in ones; observed values, labels, rows, scaling and alpha stay as they are."
)


@dataclass(frozen=True, eq=False, repr=False)
class ShiftGrid:
    """What happens to predictions if missing values of one or two columns are shifted from the filled-in ones."""

    shifts: tuple[Shift, ...]
    names: tuple[str, ...]
    """Of the columns, as in `table`."""
    table: Any
    """A frame with a line for each point: the shift of each column; ``state``: "safe" if no prediction changes
    (proved), "tips" if one does (found), else "unproved"; ``whole_cell``: whether the first is proved of everything
    halfway to the neighbouring points too; and how many rows are ``safe``, ``tips`` and ``unproved``."""
    states: NDArray[np.str_]
    """Shape (n_1,) or (n_1, n_2): the states."""
    whole_cell: NDArray[np.bool_]
    """Of the same shape."""
    row_states: NDArray[np.str_]
    """Shape (m, n_1) or (m, n_1, n_2): the state of each row."""
    what: str
    """What happens to a row that tips, in a few words."""
    n_own: int
    """How many rows their own missing values change, whatever is shifted: `states`, `whole_cell` and `table` leave them
    out (if there are others)."""
    promise: str = PROMISE

    def sentences(self) -> list[str]:
        """Return what was found, in sentences."""
        m, n = len(self.row_states), self.states.size
        shifted = " and ".join(f"{len(each.which):,} of {column_in_words(each.column)}" for each in self.shifts)
        counts = [int(np.count_nonzero(self.states == state)) for state in (SAFE, TIPS, UNPROVED)]
        whole = int(self.whole_cell.sum())
        between = "" if not whole else f", at {whole:,} of them everywhere halfway to the next points too"
        rows = "row" if m == 1 else "rows"
        other = "other " if 0 < self.n_own < m else ""
        left_out = "One of them is" if self.n_own == 1 else f"{self.n_own:,} of them are"
        own = [f"{left_out} left out: missing values of their own change them."] if other else []
        lines = [
            f"Missing values shifted from the filled-in ones: {shifted}, at {n:,} points, for {m:,} {rows}.",
            *own,
            f"At {counts[0]:,} points no {other}row {self.what} (proved{between}).",
            f"At {counts[1]:,} points one does (found)" + (f"; {counts[2]:,} are unproved." if counts[2] else "."),
        ]
        return [*lines, *self._about_columns()]

    def _about_columns(self) -> Iterator[str]:
        """Say how far each column alone may be shifted."""
        neutral = [each.neutral for each in self.shifts]
        for axis, shift in enumerate(self.shifts):
            others = [place for other, place in enumerate(neutral) if other != axis]
            if neutral[axis] is None or None in others:
                continue
            at: list[Any] = list(neutral)
            at[axis] = slice(None)
            alone = self.whole_cell[tuple(at)]
            if not shift.is_number:
                safe = [str(level) for level, is_safe in zip(shift.deltas, alone, strict=True) if is_safe and level]
                if safe:
                    yield f"Those of {column_in_words(shift.column)} alone may all be {' or '.join(safe)} (proved)."
                continue
            found = _around(alone, int(neutral[axis] or 0))
            if found is None:
                continue
            low, high = shift.around(found[0])[0], shift.around(found[1])[1]
            verb, signs = ("shifted by", "+") if shift.how == "add" else ("multiplied by", "")
            yield (
                f"Those of {column_in_words(shift.column)} alone may be {verb} {low:{signs}.4g} to {high:{signs}.4g} "
                "(proved)."
            )

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in self.sentences())


def _around(whole: NDArray[np.bool_], at: int) -> tuple[int, int] | None:
    """Return the first and the last place of the run of true ones around a place; None if it is false itself."""
    if not whole[at]:
        return None
    low = high = at
    while low > 0 and whole[low - 1]:
        low -= 1
    while high + 1 < len(whole) and whole[high + 1]:
        high += 1
    return low, high


def grid_of(
    filled: FilledIn, asked: AskedRows, threshold: float, shifts: tuple[Shift, ...], what: str, like: Any, verbose: int
) -> ShiftGrid:
    """Train at every point, and prove what lies around it, for all rows at once."""
    shape = tuple(len(each.deltas) for each in shifts)
    states = np.full((len(asked), *shape), UNPROVED, dtype="<U8")
    whole = np.zeros(shape, dtype=bool)
    search = _Search(filled, asked, threshold, ShiftedTables(filled, shifts))
    with progress("Shifting missing values", float(np.prod(shape)), bool(verbose)) as report:
        for count, point in enumerate(product(*map(range, shape))):
            found, is_whole = search.look(point)
            for k, state in enumerate(found):
                states[(k, *point)] = state
            whole[point] = is_whole
            report(count + 1)
    counted = states[~search.own] if not search.own.all() else states
    is_safe, tips = (counted == SAFE).all(axis=0), (counted == TIPS).any(axis=0)
    of_table = np.where(tips, TIPS, np.where(is_safe, SAFE, UNPROVED))
    labels = [str(each.column) for each in shifts]
    if len(set(labels)) < len(labels):
        labels = [f"{label} ({k + 1})" for k, label in enumerate(labels)]
    names = tuple(labels)
    points = list(product(*(each.deltas for each in shifts)))
    columns: dict[str, Any] = {name: [point[k] for point in points] for k, name in enumerate(names)}
    columns |= {"state": of_table.ravel(), "whole_cell": whole.ravel()}
    columns |= {state: (counted == state).sum(axis=0).ravel() for state in (SAFE, TIPS, UNPROVED)}
    return ShiftGrid(shifts, names, frame_of(columns, like=like), of_table, whole, states, what, int(search.own.sum()))


class _Search:
    """What is proved and found at the points of a grid, each started from the one before."""

    def __init__(self, filled: FilledIn, asked: AskedRows, threshold: float, tables: ShiftedTables) -> None:
        self._filled, self._asked, self._threshold, self._tables = filled, asked, threshold, tables
        scores = filled.scores(asked.center)
        first = scores[:, 0] > threshold if scores.shape[1] == 1 else scores.argmax(axis=1)
        self._label: Indices = np.asarray(first, dtype=np.intp)
        self._aims, self._flips = list(aims_of(filled, asked, threshold)), FlipSearch(filled, asked)
        self._start = [model.solution.w for model in filled.models]
        self.own = np.array([self._tips(k, self._start) for k in range(len(asked))], dtype=bool)
        """Which rows their own missing values change, whatever is shifted."""
        self._like: dict[int, OneMatrixBounds | None] = {}
        """What was proved last for each model."""

    def look(self, point: tuple[int, ...]) -> tuple[NDArray[np.str_], bool]:
        """Return the state of each row at a point, and whether all are proved for all that is halfway to the next."""
        box = tuple(shift.around(number) for shift, number in zip(self._tables.shifts, point, strict=True))
        everyone = np.arange(len(self._asked))
        is_safe = self._is_proved(self._certificates(self._trained(self._tables.within(box))), everyone)
        states = np.where(is_safe, SAFE, UNPROVED).astype("<U8")
        left = np.flatnonzero(~is_safe)
        if len(left):
            table = self._tables.at(point)
            models = self._trained(IntervalMatrix.from_bounds(table, table))
            weights = [model.solution.w for model in models]
            tips = [self._tips(k, weights) for k in left.tolist()]
            states[left[tips]] = TIPS
            left = left[~np.array(tips)]
            certificates: list[Certificate] = [certify_ball(*model) for model in models]
            states[left[self._is_proved(certificates, left)]] = SAFE
        counts = ~self.own if not self.own.all() else np.ones(len(states), dtype=bool)
        return states, bool(is_safe[counts].all())

    def _tips(self, number: int, weights: list[Array]) -> bool:
        return any(self._flips.flips(number, aim, weights) for aim in self._aims[number])

    def _trained(self, matrix: IntervalMatrix) -> list[TrainedModel]:
        found = []
        for k, (problem, _) in enumerate(self._filled.models):
            engine = engine_of(problem.rows)
            assert isinstance(engine, MemoryRows)
            rows = MemoryRows(matrix, engine.y, engine.weight)
            changed = replace(problem, rows=on_engine(problem.rows, rows))
            found.append(TrainedModel(changed, solve(changed, start=self._start[k])))
            self._start[k] = found[-1].solution.w
        return found

    def _certificates(self, models: list[TrainedModel]) -> list[Certificate]:
        """Bound the models of all tables in a box: what is made for little moves, else all theorems."""
        found: list[Certificate] = []
        for k, model in enumerate(models):
            if not model.problem.rows.count_uncertain():
                found.append(certify_ball(*model))
                continue
            certificate = certify_where_little_differs(*model, self._like.get(k))
            if certificate is not None:
                self._like[k] = certificate.part(OneMatrixBounds)
            found.append(certify_tight(*model) if certificate is None else certificate)
        return found

    def _is_proved(self, certificates: list[Certificate], which: Indices) -> NDArray[np.bool_]:
        """Return which rows are proved to have the class that they have with the filled-in table."""
        if not len(which):
            return np.zeros(0, dtype=bool)
        asked = self._asked.take(which)
        bounds: list[Array] = [asked.bounds(each) for each in certificates]
        together = bounds[0] if len(bounds) == 1 else np.stack(bounds, axis=1)
        is_own = possible_labels(together, self._threshold)[np.arange(len(which)), self._label[which]]
        return is_certain(together, self._threshold) & is_own
