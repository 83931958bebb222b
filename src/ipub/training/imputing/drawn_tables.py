"""The training table with every hole near a drawn value: the tables that are trained and certified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.errors import GiveRange, IpubError
from ipub.numeric.rounding import LARGEST, Array, down, midpoint_and_radius, up
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.scaling import Scaling
from ipub.training.imputing.holes import Filling, Holes
from ipub.training.imputing.samplers import Sampler

T = TypeVar("T", np.float64, np.intp)


@dataclass(frozen=True, eq=False)
class DrawnTables:
    """How a filling becomes a table of intervals; all of these share everything but the centers of the cells.

    A missing number is an interval of `radius` half-widths around the drawn value, as far as it is inside the interval
    of the hole. A missing category is the drawn level: its indicator columns are intervals that are points. Observed
    numbers with a precision stay as they are.
    """

    table: Array
    """Shape (n_rows, n_columns): the table as the model sees it, scaled, whose cells at holes are never used."""
    scaling: Scaling | None
    row_starts: Indices
    columns: Indices
    centers: Array
    radii: Array
    """Uncertain cells as in `IntervalMatrix`, before scaling. Centers of holes are those of their intervals, and radii
    those of the neighbourhood."""
    lower: Array
    upper: Array
    """Shape (n_cells,): the interval of each cell."""
    numbers: Indices
    """Shape (n_cells,): for each cell the missing number it is, or -1."""
    categories: Indices
    levels: Indices
    """Shape (n_cells,): for each cell the missing category it belongs to, or -1, and which of its levels it
    indicates."""

    @classmethod
    def of(cls, holes: Holes, scaled: IntervalMatrix, source: Indices, radius: float) -> DrawnTables:
        """Prepare the tables of all draws.

        `scaled` is the training table as the model sees it, and `source` has for each of its rows the row of X that
        it is. The radius is in half-widths of each interval.
        """
        matrix = holes.matrix
        number_of_cell = np.full(matrix.n_uncertain, -1, dtype=np.intp)
        number_of_cell[holes.cells] = np.arange(len(holes.cells))
        radii = matrix.radii.copy()
        radii[holes.cells] = up(float(radius) * radii[holes.cells]) if radius > 0.0 else 0.0
        in_row, cell = _cells_of(np.diff(matrix.row_starts), matrix.row_starts, source)
        missing = holes.missing_categories
        parts = [np.full((len(cell), 6), -1.0)]
        parts[0][:, 0], parts[0][:, 1], parts[0][:, 2] = in_row, matrix.columns[cell], number_of_cell[cell]
        values = [np.column_stack([matrix.centers[cell], radii[cell], matrix.radii[cell]])]
        counts = np.bincount(missing.rows, minlength=matrix.shape[0])
        starts = np.concatenate([[0], np.cumsum(counts)])
        in_row, category = _cells_of(counts, starts, source)
        for row, number in zip(in_row.tolist(), category.tolist(), strict=True):
            columns = missing.levels[missing.categories[number]].columns
            part = np.full((len(columns), 6), -1.0)
            part[:, 0], part[:, 1], part[:, 3], part[:, 4] = row, columns, number, np.arange(len(columns))
            parts.append(part)
            values.append(np.zeros((len(columns), 3)))
        cells, numbers = np.concatenate(parts), np.concatenate(values)
        order = np.argsort(cells[:, 0], kind="stable")
        cells, numbers = cells[order].astype(np.intp), numbers[order]
        row_starts = np.searchsorted(cells[:, 0], np.arange(len(source) + 1))
        return cls(
            np.asarray(scaled.table),
            holes.learnt.scaling,
            row_starts.astype(np.intp),
            cells[:, 1],
            numbers[:, 0],
            numbers[:, 1],
            numbers[:, 0] - numbers[:, 2],
            numbers[:, 0] + numbers[:, 2],
            cells[:, 2],
            cells[:, 3],
            cells[:, 4],
        )

    def matrix(self, filling: Filling) -> IntervalMatrix:
        """Return the table of a filling, with its neighbourhood."""
        drawn = np.where(self.numbers >= 0, _taken(filling.numbers, self.numbers), self.centers)
        lower, upper = np.maximum(down(drawn - self.radii), self.lower), np.minimum(up(drawn + self.radii), self.upper)
        centers, radii = midpoint_and_radius(lower, upper)
        is_free = (self.numbers >= 0) & (self.radii > 0.0)
        centers, radii = np.where(is_free, centers, drawn), np.where(is_free, radii, self.radii)
        is_level = self.levels == _taken(filling.levels, self.categories)
        centers = np.where(self.categories >= 0, is_level.astype(float), centers)
        if self.scaling is not None:
            centers, radii = self.scaling.cells(centers, radii, self.columns)
        too_large = np.flatnonzero(~(np.abs(centers) + radii <= LARGEST))
        if len(too_large):
            column = int(self.columns[too_large[0]])
            raise IpubError(
                "A value drawn for column {column} is too large: rescale the column, or {remedy}.",
                column=column,
                remedy=GiveRange(column),
            )
        return IntervalMatrix(self.table, self.row_starts, self.columns, centers, radii)


def _cells_of(counts: Indices, starts: Indices, source: Indices) -> tuple[Indices, Indices]:
    """Return, for rows taken from others, the row and the original number of each of their cells."""
    taken = counts[source]
    first = np.cumsum(taken) - taken
    in_row = np.repeat(np.arange(len(source)), taken)
    return in_row, np.arange(taken.sum()) - first[in_row] + starts[source][in_row]


def _taken(values: NDArray[T], which: Indices) -> NDArray[T]:
    """Return the values of given numbers; anything for -1."""
    return np.asarray(values[which] if len(values) else np.zeros(len(which), dtype=values.dtype))


def check_not_deterministic(sampler: Sampler, name: str, generators: list[np.random.Generator]) -> None:
    """Raise an error if an imputer draws the same filling with all generators.

    Most differ at the second; that two are the same may be chance where there are few holes.
    """
    first = sampler.draw(generators[0])
    if all(sampler.draw(rng).equals(first) for rng in generators[1:]):
        raise IpubError(
            f"The imputer {name} draws the same filling {len(generators)} times, so its draws say nothing about other "
            "fillings: use an imputer that draws at random, such as IterativeImputer(sample_posterior=True), "
            "'hot_deck' or 'chained'."
        )
