"""Missing values of a column shifted from the filled-in ones: the points of a grid, and what lies between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipub.answers.missing_values import MissingValues
from ipub.answers.tipping.filled_in import FilledIn
from ipub.errors import IpubError
from ipub.numeric.rounding import Array, down, midpoint_and_radius, up
from ipub.tables.interval_matrix import Indices, IntervalMatrix

ADD, MULTIPLY = "add", "multiply"


@dataclass(frozen=True, eq=False)
class Shift:
    """Missing values of one column that are shifted together, and by how much."""

    column: Any
    which: Indices
    """Numbers of the missing values."""
    deltas: tuple[Any, ...]
    """What is added to the filled-in values, increasing; factors of them; or of categories levels, and None for what is
    filled in."""
    how: str
    """``add`` or ``multiply``; ``""`` of a category."""
    levels: tuple[Any, ...] = ()
    """Of a category."""

    @classmethod
    def of(cls, missing: MissingValues, column: Any, deltas: Any, how: str, among: ArrayLike | None) -> Shift:
        """Check what was asked for; `among` are the training rows whose missing values are shifted."""
        which = _values_of(missing, column, among)
        deltas = deltas.tolist() if hasattr(deltas, "tolist") else deltas
        if not isinstance(deltas, list | tuple) or not deltas:
            raise IpubError(f"deltas of column {column!r} are {deltas!r}: give a list of at least one for each column.")
        given = tuple(deltas)
        levels = missing.levels_of(int(which[0]))
        if levels:
            unknown = [value for value in given if value is not None and value not in levels]
            if unknown or len(set(given)) < len(given):
                raise IpubError(
                    f"Column {column!r} is a category: its deltas are levels, {', '.join(map(repr, levels))}, each "
                    "once, or None for what is filled in."
                )
            return cls(column, which, given, "", levels)
        if how not in (ADD, MULTIPLY):
            raise IpubError(f"how is {how!r}: use {ADD!r} or {MULTIPLY!r}.")
        try:
            numbers = np.array(given, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if numbers.ndim != 1 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0.0).any():
            raise IpubError(f"deltas of column {column!r} must be finite numbers that increase.")
        return cls(column, which, tuple(numbers.tolist()), how)

    @property
    def is_number(self) -> bool:
        """Whether the column has numbers."""
        return not self.levels

    @property
    def neutral(self) -> int | None:
        """Which of the deltas changes nothing; None if none does."""
        nothing = {ADD: 0.0, MULTIPLY: 1.0}.get(self.how)
        return self.deltas.index(nothing) if nothing in self.deltas else None

    def around(self, number: int) -> tuple[Any, Any]:
        """Return the ends of what is halfway to the neighbours of a delta, which itself ends the grid."""
        here = self.deltas[number]
        if not self.is_number:
            return here, here
        before, after = self.deltas[max(0, number - 1)], self.deltas[min(number + 1, len(self.deltas) - 1)]
        return 0.5 * (before + here), 0.5 * (here + after)

    def shifted(self, values: Array, delta: float) -> Array:
        """Return filled-in values after a shift, in floats."""
        return np.asarray(values + delta if self.how == ADD else values * delta)


Box = tuple[tuple[Any, Any], ...]
"""The least and the greatest shift of each column; of a category the same level twice."""


def _values_of(missing: MissingValues, column: Any, among: ArrayLike | None) -> Indices:
    names = dict(zip(missing.columns.tolist(), missing.column_labels(), strict=True))
    known = ", ".join(repr(names[number]) for number in sorted(names))
    if not names:
        raise IpubError("No value of the training table is missing: there is nothing to shift.")
    if column not in names.values():
        raise IpubError(f"Column {column!r} has no missing value in the training table: choose of {known}.")
    is_here = np.array([names[number] == column for number in missing.columns.tolist()])
    if among is not None:
        is_here &= _mask(among, missing.matrix.shape[0])[missing.rows]
        if not is_here.any():
            raise IpubError(f"Column {column!r} has no missing value in the training rows that were chosen.")
    return np.flatnonzero(is_here)


def _mask(among: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    chosen = np.asarray(among)
    if chosen.dtype == bool and chosen.shape == (n_rows,):
        return chosen
    if chosen.dtype.kind in "iu" and chosen.ndim == 1 and ((chosen >= 0) & (chosen < n_rows)).all():
        mask = np.zeros(n_rows, dtype=bool)
        mask[chosen] = True
        return mask
    raise IpubError(f"training_rows must be {n_rows:,} booleans, one for each training row, or positions of rows.")


class ShiftedTables:
    """Training tables with some missing values shifted, and all others as filled in; as the models see them."""

    def __init__(self, filled: FilledIn, shifts: tuple[Shift, ...]) -> None:
        missing, self.shifts = filled.missing, shifts
        self._missing, self._base = missing, missing.filled_in_table(missing.filled_in)
        self._values = [
            np.array([missing.in_units(int(k), missing.filled_in[k]) for k in shift.which]) if shift.is_number else None
            for shift in shifts
        ]

    def at(self, point: tuple[int, ...]) -> Array:
        """Return the table at a point of the grid, scaled in floats, as `fit` does."""
        table = self._base.copy()
        for shift, values, number in zip(self.shifts, self._values, point, strict=True):
            delta = shift.deltas[number]
            if values is None:
                self._put(table, shift, delta)
                continue
            shifted = shift.shifted(values, delta)
            rows, columns = self._places(shift)
            table[rows, columns] = self._scaled(shifted, np.zeros(len(shifted)), columns)[0]
        return table

    def within(self, box: Box) -> IntervalMatrix:
        """Return the tables with every shifted value anywhere in a box of shifts, rounded outward."""
        lower, upper = self._base.copy(), self._base.copy()
        for shift, values, (first, last) in zip(self.shifts, self._values, box, strict=True):
            if values is None:
                self._put(lower, shift, first)
                self._put(upper, shift, first)
                continue
            ends = np.stack([shift.shifted(values, first), shift.shifted(values, last)])
            rows, columns = self._places(shift)
            middles, halves = midpoint_and_radius(down(ends.min(axis=0)), up(ends.max(axis=0)))
            centers, radii = self._scaled(middles, halves, columns)
            lower[rows, columns], upper[rows, columns] = down(centers - radii), up(centers + radii)
        return IntervalMatrix.from_bounds(lower, upper)

    def _places(self, shift: Shift) -> tuple[Indices, Indices]:
        return self._missing.rows[shift.which], self._missing.encoded_columns[shift.which]

    def _scaled(self, centers: Array, radii: Array, columns: Indices) -> tuple[Array, Array]:
        scaling = self._missing.holes.learnt.scaling
        return (centers, radii) if scaling is None else scaling.cells(centers, radii, columns)

    def _put(self, table: Array, shift: Shift, level: Any) -> None:
        """Set the missing categories of a shift to a level, or leave what is filled in."""
        if level is None:
            return
        rows, first = self._places(shift)
        for k in range(len(shift.levels)):
            table[rows, first + k] = float(shift.levels[k] == level)
