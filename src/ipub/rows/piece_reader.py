"""How a piece of a long table becomes blocks: columns encoded and scaled, holes as intervals, labels as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import Array, midpoint_and_radius
from ipub.rows.block import Block, Reads
from ipub.tables.decoded_rows import DecodedColumn, DecodedRows, TextColumn, decode, decode_labels
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.levels import Level
from ipub.tables.missing_category import NOTHING_MISSING, Levels, MissingCategories
from ipub.tables.scaling import Scaling

LabelColumn = NDArray[Any] | TextColumn


class PieceValues(NamedTuple):
    """The cells of consecutive rows as they were given, without their library."""

    rows: DecodedRows
    labels: LabelColumn
    weight: Array | None
    """None if no column has weights."""

    def take(self, rows: Indices) -> PieceValues:
        """Return some of the rows."""
        return PieceValues(self.rows.take(rows), self.labels[rows], None if self.weight is None else self.weight[rows])


def piece_values(frame: Any, features: Sequence[str], label: str, weight: str | None) -> PieceValues:
    """Decode the columns of a piece."""
    return PieceValues(decode(frame, features), decode_labels(frame, label), decode_weight(frame, weight))


def decode_weight(frame: Any, name: str | None) -> Array | None:
    """Return the column of weights as floats, nulls as NaN; None if there is none."""
    if name is None:
        return None
    column = decode(frame, [name]).columns[name]
    if isinstance(column, TextColumn):
        raise IpubError("sample_weight names the column {column}, which holds text: give numbers.", column=name)
    return np.full(len(frame), np.nan) if column is None else column


@dataclass(frozen=True, eq=False)
class LabelReader:
    """How labels and weights of a piece are read."""

    name: str
    """Column of the labels or targets."""
    classes: NDArray[Any] | None
    """The labels, sorted; None in a regression."""
    weight: str | None = None
    """Column of the weights; None if every row has the weight 1."""
    factors: Array | None = None
    """Shape (n_classes,): by which the weights of each class are multiplied."""
    exponent: int = 0
    """Weights are multiplied by this power of two, so that the largest is between 1/2 and 1 (fp-underflow)."""

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [self.name] if self.weight is None else [self.name, self.weight]

    def read(self, labels: LabelColumn, weight: Array | None) -> tuple[Array, Array]:
        """Return labels (-1 and 1 for two classes, else numbers of classes) or targets, and weights."""
        weight = np.ones(len(labels)) if weight is None else weight
        if self.classes is None:
            y = _targets(labels, self.name)
        else:
            numbers = _class_numbers(labels, self.classes, self.name)
            if self.factors is not None:
                weight = weight * self.factors[numbers]
            y = np.asarray(2 * numbers - 1 if len(self.classes) == 2 else numbers, dtype=float)
        return y, np.ldexp(weight, self.exponent) if self.exponent else weight


def _targets(labels: LabelColumn, name: str) -> Array:
    """Return targets; numbers may be written as text."""
    if not isinstance(labels, TextColumn):
        return np.asarray(labels, dtype=float)
    try:
        return np.array(labels.values, dtype=float)[labels.codes]
    except ValueError as error:
        raise IpubError("{column} has changed since it was first read: it holds text now.", column=name) from error


def _class_numbers(labels: LabelColumn, classes: NDArray[Any], name: str) -> Indices:
    if isinstance(labels, TextColumn):
        numbers = labels.codes_among(classes.tolist())
        wrong = numbers < 0
    else:
        numbers = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        wrong = classes[numbers] != labels
    if wrong.any():
        raise IpubError(
            "The label {column} in {row} was not there when the table was first read: the table has changed. Call fit "
            "again.",
            column=name,
            row=int(np.argmax(wrong)),
        )
    return numbers


@dataclass(frozen=True, eq=False)
class RowReader:
    """How the rows of a piece are read. It is small and can be pickled."""

    features: tuple[str, ...]
    """Columns of the features, in order."""
    levels: tuple[tuple[Level, ...] | None, ...]
    """For each of them the levels of its categories; None for numbers."""
    centers: Array
    radii: Array
    """Shape (n_columns,): middle and radius of the interval of the holes in each column of numbers, after encoding and
    scaling."""
    precision: Array
    """Shape (n_columns,): by how much observed values may be off."""
    scaling: Scaling | None
    categories: tuple[Levels, ...]
    """Categories of which some are missing anywhere in the table."""
    holed: tuple[str, ...]
    """Columns with holes."""
    labels: LabelReader

    @classmethod
    def of(
        cls,
        features: Sequence[str],
        levels: Sequence[tuple[Level, ...] | None],
        ranges: Array,
        precision: Array,
        scaling: Scaling | None,
        holed: Sequence[str],
        labels: LabelReader,
    ) -> RowReader:
        """Make a reader; `ranges`, in the units of the table, says where the holes of each encoded column lie."""
        centers, radii = midpoint_and_radius(ranges[:, 0], ranges[:, 1])
        if scaling is not None:
            centers, radii = scaling.cells(centers, radii, np.arange(len(centers)))
        starts = np.concatenate([[0], np.cumsum([1 if each is None else len(each) for each in levels])])
        categories = tuple(
            Levels(np.arange(start, start + len(each)))
            for name, each, start in zip(features, levels, starts, strict=False)
            if each is not None and len(each) > 1 and name in holed
        )
        return cls(tuple(features), tuple(levels), centers, radii, precision, scaling, categories, tuple(holed), labels)

    @property
    def n_features(self) -> int:
        """Number of columns after encoding."""
        return len(self.centers)

    def columns(self, what: Reads) -> list[str]:
        """Return the columns of the table that must be read for a kernel."""
        return [*dict.fromkeys([*self._features(what), *self.labels.columns])]

    def _features(self, what: Reads) -> Sequence[str]:
        if what >= Reads.ROWS or (what >= Reads.CELLS and self.precision.any()):
            return self.features
        return self.holed if what >= Reads.CELLS else ()

    def count_uncertain(self, holes: Mapping[str, int], n_rows: int) -> int:
        """Count the uncertain cells, and the levels of missing categories, by the number of holes of each feature."""
        total = start = 0
        for name, levels in zip(self.features, self.levels, strict=True):
            width = 1 if levels is None else len(levels)
            if levels is None:
                total += holes[name] * bool(self.radii[start] > 0.0)
                total += (n_rows - holes[name]) * bool(self.precision[start] > 0.0)
            elif width > 1:
                total += holes[name] * width
            start += width
        return total

    def values(self, frame: Any, what: Reads = Reads.ROWS) -> PieceValues:
        """Decode what a kernel reads of a piece."""
        return piece_values(frame, self._features(what), self.labels.name, self.labels.weight)

    def block(self, values: PieceValues, what: Reads = Reads.ROWS) -> Block:
        """Return rows as a block with at least what is declared in `what`."""
        y, weight = self.labels.read(values.labels, values.weight)
        if what < Reads.CELLS:
            return Block.of_labels(self.n_features, y, weight)
        center, cells, radii, missing = self._intervals(values.rows)
        return Block.of(center if what >= Reads.ROWS else center[:0], cells, radii, y, weight, missing)

    def matrix(self, values: PieceValues) -> tuple[IntervalMatrix, Array, Array]:
        """Return rows as a table of intervals, with their labels and weights."""
        y, weight = self.labels.read(values.labels, values.weight)
        center, (i, j), radii, missing = self._intervals(values.rows)
        starts = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(center)))]).astype(np.intp)
        return IntervalMatrix(center, starts, j, center[i, j], radii, missing), y, weight

    def _intervals(self, rows: DecodedRows) -> tuple[Array, tuple[Indices, Indices], Array, MissingCategories]:
        """Return the center, row and column of each interval, its radius, and the missing categories."""
        table, missing = self._encoded(rows)
        # Faster than the places of a table of two dimensions, and in the same order.
        i, j = np.divmod(np.flatnonzero(np.isnan(table)), self.n_features)
        if self.precision.any():
            return *self._blurred(table, i, j), missing
        center = table if self.scaling is None else self.scaling.rows(table)
        center[i, j] = self.centers[j]
        return center, (i, j), self.radii[j], missing

    def _blurred(self, table: Array, i: Indices, j: Indices) -> tuple[Array, tuple[Indices, Indices], Array]:
        """Return the same of rows whose observed cells are not precise."""
        uncertain = np.tile(self.precision > 0.0, (len(table), 1))
        uncertain[i, j] = True
        center = table if self.scaling is None else self.scaling.rows(table)
        rows, columns = np.nonzero(uncertain)
        centers, radii = table[rows, columns], self.precision[columns]
        holes = np.isnan(centers)
        if self.scaling is not None:
            # Holes have their scaled interval already.
            centers, radii = self.scaling.cells(np.where(holes, 0.0, centers), radii, columns)
        center[rows, columns] = np.where(holes, self.centers[columns], centers)
        return center, (rows, columns), np.where(holes, self.radii[columns], radii)

    def _encoded(self, rows: DecodedRows) -> tuple[Array, MissingCategories]:
        """Return rows of numbers, NaN in the holes of numbers; a missing category has the mean of its levels."""
        table = np.zeros((rows.n_rows, self.n_features))
        missing: list[NDArray[np.bool_]] = []
        start = 0
        for name, levels in zip(self.features, self.levels, strict=True):
            width = 1 if levels is None else len(levels)
            if levels is None:
                if name in rows.columns:
                    table[:, start] = _numbers(name, rows.columns[name])
            elif levels:
                holes = self._put_levels(table[:, start : start + width], name, rows, levels)
                if width > 1 and name in self.holed:
                    missing.append(holes)
            start += width
        if not missing:
            return table, NOTHING_MISSING
        return table, MissingCategories.of(np.column_stack(missing), self.categories)

    def _put_levels(self, part: Array, name: str, rows: DecodedRows, levels: Sequence[Level]) -> NDArray[np.bool_]:
        """Write 0 and 1 into the columns of a category; return where it is missing."""
        column = rows.columns.get(name)
        if column is None:
            holes = np.full(len(part), name in rows.columns)
        elif isinstance(column, TextColumn):
            codes = column.codes_among(levels)
            if (codes < -1).any():
                raise _changed(name, int(np.argmax(codes < -1)))
            holes = codes < 0
            seen = np.flatnonzero(~holes)
            part[seen, codes[seen]] = 1.0
        else:
            raise _changed(name, 0)
        part[holes] = 1.0 / len(levels)
        return holes


def _numbers(name: str, column: DecodedColumn) -> Array | float:
    if isinstance(column, TextColumn):
        raise _changed(name, 0)
    return np.nan if column is None else column


def _changed(name: str, row: int) -> IpubError:
    return IpubError(
        "Column {column} has a value in {row} that was not there when the table was first read: the table has changed. "
        "Call fit again.",
        column=name,
        row=row,
    )
