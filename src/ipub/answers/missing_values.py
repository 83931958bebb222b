"""The missing values of a training table, one by one, in the words and units of the user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipub.certificates import TrainedModel
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, engine_of, on_engine
from ipub.rows.completions import Positions
from ipub.tables.frames import is_frame
from ipub.tables.interval_matrix import Indices, IntervalMatrix, completed_cells
from ipub.tables.missing_category import MissingCategories
from ipub.tables.movable_units import HOLES, MovableRows
from ipub.tables.new_frames import frame_of
from ipub.training import Training
from ipub.training.imputing.fillings import named_filling
from ipub.training.imputing.holes import Holes, holes_in


@dataclass(frozen=True, eq=False)
class MissingValues:
    """The missing values of a training table that may vary: numbers row by row, then categories row by row.

    A *position* of a number is where it is in its interval, from -1 at the lower end to 1 at the upper end; that of a
    category is the number of its level. Numbers whose interval is a point, and observed values with a precision, are
    none of them.
    """

    holes: Holes
    """The training table as numbers, in the units of the user."""
    matrix: IntervalMatrix
    """Its intervals as the models see them, scaled."""
    filled_in: Array
    """Shape (len(self),): what is filled in: by the `Budget` of the fit, or the middle and the commonest level."""

    @classmethod
    def of(cls, training: Training) -> MissingValues:
        """Find the missing values of a training; what they are filled in with too.

        Raises IpubError if the training table is not at hand.
        """
        if training.given is None or not training.models:
            raise IpubError(
                "This needs the training table in memory. A model that was loaded from a file, unpickled or copied, "
                "or trained on files, a cluster, a device or a sparse table, has none: fit an array or a DataFrame."
            )
        training.unchanged_models()
        engine = engine_of(training.models[0].problem.rows)
        if not isinstance(engine, MemoryRows):
            raise IpubError("This needs the training table in memory: fit numpy.array(X).")
        X, lower, upper = training.given
        holes = holes_in(training.table, X, lower, upper, engine.weight[: _n_rows(X)] > 0.0)
        scaling = training.table.scaling
        matrix = holes.matrix if scaling is None else scaling.intervals(holes.matrix)
        filled_in = named_filling("middle", holes)
        positions = np.concatenate([np.zeros(len(holes.cells)), filled_in.levels])
        if training.around is not None:
            positions = _positions_in(holes, matrix, np.asarray(engine.matrix.table, dtype=float))
        return cls(holes, matrix, positions)

    def __len__(self) -> int:
        return len(self.holes)

    @property
    def n_numbers(self) -> int:
        """How many of them are numbers."""
        return len(self.holes.cells)

    @cached_property
    def rows(self) -> Indices:
        """Shape (len(self),): position of the row of each in the training table."""
        return np.concatenate([self.holes.rows, self.holes.missing_categories.rows]).astype(np.intp)

    @cached_property
    def columns(self) -> Indices:
        """Shape (len(self),): position of the column of each in the training table."""
        return self._columns_of(self.encoded_columns)

    def _columns_of(self, encoded: Indices) -> Indices:
        encoder = self.holes.learnt.columns.encoder
        if encoder is None:
            return np.asarray(encoded)
        return np.searchsorted(encoder.starts, encoded, side="right").astype(np.intp) - 1

    @cached_property
    def encoded_columns(self) -> Indices:
        """Shape (len(self),): the column of each in the encoded table; of a category that of its first level."""
        missing = self.holes.missing_categories
        first = np.array([levels.columns[0] for levels in missing.levels], dtype=np.intp)
        return np.concatenate([self.holes.columns, first[missing.categories] if len(missing) else missing.rows])

    def row_labels(self, which: NDArray[Any] | slice = slice(None)) -> list[Any]:
        """Return the rows as users know them: labels of a pandas index, else positions."""
        rows = self.rows[which]
        index = getattr(self.holes.X, "index", None) if hasattr(self.holes.X, "iloc") else None
        return rows.tolist() if index is None else [index[row] for row in rows]

    def column_labels(self, which: NDArray[Any] | slice = slice(None)) -> list[Any]:
        """Return the columns as users know them: names, or numbers of an array."""
        learnt = self.holes.learnt.columns
        names: Any = learnt.feature_names_in if learnt.encoder is None else learnt.encoder.columns
        columns = self.columns[which]
        return columns.tolist() if names is None else [names[column] for column in columns]

    def frame(self, which: NDArray[Any] | slice = slice(None), **columns: Any) -> Any:
        """Return the rows and columns of missing values, and other columns, as a frame like the training table."""
        places = {"row": self.row_labels(which), "column": self.column_labels(which)}
        return frame_of({**places, **columns}, like=self.holes.X)

    def frame_by(self, by: str, which: NDArray[Any], **columns: Any) -> Any:
        """Return rows, or columns, that have missing values, and other columns: `which` of them, in ascending order."""
        _, first = np.unique(self.rows if by == "row" else self.columns, return_index=True)
        labels = self.row_labels(first[which]) if by == "row" else self.column_labels(first[which])
        return frame_of({by: labels, **columns}, like=self.holes.X)

    def in_units(self, k: int, position: float) -> Any:
        """Return a missing value at a position, as users know it: a number in the units of X, or a level."""
        holes = self.holes
        if k < self.n_numbers:
            cell = holes.cells[k]
            return float(completed_cells(holes.matrix.centers[[cell]], holes.matrix.radii[[cell]], [position])[0]) + 0.0
        return self.levels_of(k)[int(position)]

    def levels_of(self, k: int) -> tuple[Any, ...]:
        """Return the levels that a missing category may have; none for a number."""
        encoder = self.holes.learnt.columns.encoder
        if k < self.n_numbers or encoder is None:
            return ()
        return encoder.levels[int(self.columns[k])] or ()

    def table(self, positions: ArrayLike) -> Any:
        """Return the training table as it was given to `fit`, filled in: an array, or a frame of the same library."""
        positions, X = np.asarray(positions, dtype=float), self.holes.X
        given = self._with_one_value
        rows, columns = np.concatenate([self.rows, given[0]]), np.concatenate([self.columns, given[1]])
        values = [*(self.in_units(k, position) for k, position in enumerate(positions)), *given[2].tolist()]
        if not is_frame(X):
            filled = np.array(self.holes.table)
            filled[rows, columns] = values
            return filled
        frame = nw.from_native(X, eager_only=True)
        for column in np.unique(columns):
            which = np.flatnonzero(columns == column)
            series = frame[:, int(column)]
            found = _with_values(series, rows[which].tolist(), [values[k] for k in which])
            frame = frame.with_columns(found.alias(frame.columns[column]))
        return frame.to_native()

    @property
    def _with_one_value(self) -> tuple[Indices, Indices, Array]:
        """Rows, columns and values of numbers that are missing and have one possible value."""
        in_row, columns, centers, radii = self.holes.matrix.cells(slice(0, self.holes.matrix.shape[0]))
        which = np.flatnonzero(np.isnan(self.holes.table[in_row, columns]) & (radii == 0.0))
        return in_row[which], self._columns_of(columns[which]), centers[which]

    # --- what the models see -----------------------------------------------------------------------

    def layout_positions(self, training: Training, positions: ArrayLike) -> Positions:
        """Return the positions of a whole completion, as `ipub.rows.completions.PositionLayout` orders them.

        Observed values with a precision are at their middle; a row of unknown class, which is in the rows of a model
        twice, has the same values both times.
        """
        positions, matrix = np.asarray(positions, dtype=np.float32), self.matrix
        cells = np.zeros(matrix.n_uncertain, dtype=np.float32)
        cells[self.holes.cells] = positions[: self.n_numbers]
        varying = matrix.radii > 0.0
        numbers, levels = [cells[varying]], [positions[self.n_numbers :]]
        for row in rows_that_follow(training, matrix.shape[0]):
            here = slice(matrix.row_starts[row], matrix.row_starts[row + 1])
            numbers.append(cells[here][varying[here]])
            levels.append(positions[self.n_numbers :][matrix.missing_categories.rows == row])
        return np.concatenate([*numbers, *levels])

    def positions_of(self, layout_positions: ArrayLike) -> Array:
        """Return the positions of the missing values in a whole completion, as `layout_positions` gives them."""
        whole, varying = np.asarray(layout_positions, dtype=float), self.matrix.radii > 0.0
        cells = np.zeros(self.matrix.n_uncertain)
        cells[varying] = whole[: np.count_nonzero(varying)]
        n_levels = len(self) - self.n_numbers
        return np.concatenate([cells[self.holes.cells], whole[len(whole) - n_levels :]])

    def with_known(self, which: NDArray[np.bool_], positions: ArrayLike) -> IntervalMatrix:
        """Return the scaled training table in which some missing values are known: those where `which` is true.

        `positions` has a position for each of them all; those of unknown ones are not used.
        """
        positions, matrix, missing = np.asarray(positions, dtype=float), self.matrix, self.matrix.missing_categories
        cells = self.holes.cells[which[: self.n_numbers]]
        places = positions[: self.n_numbers][which[: self.n_numbers]]
        radii, centers = matrix.radii.copy(), matrix.centers.copy()
        centers[cells], radii[cells] = completed_cells(centers[cells], radii[cells], places), 0.0
        is_known = which[self.n_numbers :]
        table = np.array(matrix.table, dtype=float)
        if is_known.any():
            chosen = np.where(is_known, positions[self.n_numbers :], -1).astype(np.intp)
            missing.put(table, chosen)
            left = ~is_known
            missing = MissingCategories(missing.rows[left], missing.categories[left], missing.levels)
        return replace(matrix, table=table, centers=centers, radii=radii, missing_categories=missing)

    def filled_in_table(self, positions: ArrayLike) -> Array:
        """Return the scaled training table with all missing values at some positions; observed ones at their middle."""
        everything = slice(0, self.matrix.shape[0])
        return np.array(self.with_known(np.ones(len(self), dtype=bool), positions).center_rows(everything))

    def known(
        self, training: Training, which: NDArray[np.bool_], positions: ArrayLike, *, trains: bool = True
    ) -> tuple[TrainedModel, ...]:
        """Return the models of a training of which some missing values are known, as `with_known`; for any filling.

        They are trained at the new center, or keep their weights, which certificates hold for as well.
        """
        if training.around is not None:
            raise IpubError("Around a filled-in table missing values are units of its budget: leave these out instead.")
        matrix, models = self.with_known(which, positions), []
        again = rows_that_follow(training, matrix.shape[0])
        if len(again):
            matrix = matrix.take(np.concatenate([np.arange(matrix.shape[0]), again]))
        for problem, solution in training.models:
            engine = engine_of(problem.rows)
            assert isinstance(engine, MemoryRows)
            rows = MemoryRows(matrix, engine.y, engine.weight, engine.label_uncertainty)
            changed = replace(problem, rows=on_engine(problem.rows, rows))
            models.append(TrainedModel(changed, solve(changed, start=solution.w) if trains else solution))
        return tuple(models)

    def units(self, training: Training) -> Indices:
        """Return for each missing value its unit among those that may differ from a filled-in table; -1: none."""
        assert training.around is not None
        return self.units_in(training.around.movable)

    def units_in(self, movable: MovableRows) -> Indices:
        """Return for each missing value its unit among some that may differ from a filled-in table; -1: none."""
        first = movable.option_columns[movable.option_starts].min(axis=1, initial=1 << 60)
        starts = np.sort(np.concatenate([self.encoded_columns, [0]]))
        is_number, width = movable.is_number, movable.option_columns[movable.option_starts, 0]
        column = np.where(is_number, width, starts[np.searchsorted(starts, first, side="right") - 1])
        found = {
            (int(row), int(col)): k
            for k, (row, col) in enumerate(zip(movable.rows[movable.unit_row], column, strict=True))
            if movable.unit_group[k] == HOLES
        }
        places = zip(self.rows.tolist(), self.encoded_columns.tolist(), strict=True)
        return np.array([found.get(place, -1) for place in places], dtype=np.intp)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def rows_that_follow(training: Training, n_rows: int) -> Indices:
    """Return the rows that follow those of the table: rows of unknown class, which are in the rows of a model twice."""
    engine = engine_of(training.models[0].problem.rows)
    if engine.n_rows == n_rows:
        return np.zeros(0, dtype=np.intp)
    assert isinstance(engine, MemoryRows)
    assert engine.label_uncertainty is not None
    return np.asarray(engine.label_uncertainty.pairs[:, 0], dtype=np.intp)


def _positions_in(holes: Holes, matrix: IntervalMatrix, table: Array) -> Array:
    """Return the positions of the missing values in a filled-in table, as the models see it."""
    centers, radii = matrix.centers[holes.cells], matrix.radii[holes.cells]
    numbers = np.clip((table[holes.rows, holes.columns] - centers) / radii, -1.0, 1.0)
    missing = holes.missing_categories
    levels = np.zeros(len(missing))
    for which, each in missing.by_category():
        levels[which] = table[np.ix_(missing.rows[which], each.columns)].argmax(axis=1)
    return np.concatenate([numbers, levels])


def _with_values(series: nw.Series[Any], rows: list[int], values: list[Any]) -> nw.Series[Any]:
    """Return a column of a frame with values in some rows; whole numbers become floats where that is needed."""
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean or isinstance(values[0], float):
        return series.cast(nw.Float64).scatter(rows, values)
    is_coded = dtype == nw.Categorical or dtype == nw.Enum
    text = series.cast(nw.String) if is_coded else series
    found = text.scatter(rows, values)
    return found.cast(dtype) if is_coded else found
