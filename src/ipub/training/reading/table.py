"""Reading of tables as rows of intervals: the table of `fit`, and rows to predict or bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from ipub.errors import DropColumn, GiveRange, IpubError, IpubWarning, warn_user
from ipub.numeric.rounding import LARGEST, Array
from ipub.rows import Block, MemoryRows, Rows
from ipub.rows.device import is_foreign, library_of
from ipub.rows.memory import MemmapRows
from ipub.tables.categories import TableEncoder
from ipub.tables.conditional_intervals import ConditionalIntervals
from ipub.tables.frames import array_to_table, column_labels, frame_to_table, is_frame
from ipub.tables.holes import column_precision, column_ranges, conditional_columns
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.levels import UnknownLevels
from ipub.tables.scaling import Scaling
from ipub.tables.sparse_columns import as_dense
from ipub.tables.validation import check_values, column_label
from ipub.training.reading.parameters import SEEDS, Parameters

Table = NDArray[np.generic]

MOST_EXACT = 1e15
"""Numbers of up to this size may be added to 1 without losing it."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns a table has, and how they become columns of numbers."""

    kind: type[Any]
    """Class of the estimator that reads, named in error messages."""
    n_features_in: int
    feature_names_in: NDArray[Any] | None = None
    """Shape (n_features_in,); None if the table of `fit` had no names."""
    encoder: TableEncoder | None = None
    """How columns of categories become columns of 0 and 1; None if there are no categories."""

    @classmethod
    def learn(cls, kind: type[Any], X: Any, *, is_checked_later: bool = False) -> tuple[Columns, Table]:
        """Learn the columns of a table; return its values too, as `values` does."""
        # scikit-learn's checks write what they learn to an estimator: this private stand-in.
        stand_in = object.__new__(kind)
        encoder = TableEncoder.learn(X) if is_frame(X) else None
        table = _values(stand_in, encoder, X, reset=True)
        columns = cls(kind, stand_in.n_features_in_, getattr(stand_in, "feature_names_in_", None), encoder)
        if not is_checked_later:
            check_values(table, columns.names)
        return columns, table

    @classmethod
    def of_intervals(cls, kind: type[Any], X: IntervalMatrix) -> Columns:
        """Learn the columns of an `IntervalMatrix`."""
        stand_in = object.__new__(kind)
        validate_data(stand_in, X.table, dtype="numeric", ensure_all_finite=False)
        return cls(kind, stand_in.n_features_in_)

    def values(
        self,
        X: Any,
        *,
        unknown: UnknownLevels | None = None,
        text: str = "unexpected text",
        is_checked_later: bool = False,
    ) -> Table:
        """Return the values of X as a numeric array, NaN where missing, checked and not copied if possible.

        An unknown category is counted in `unknown`, and may be any of the known ones; without `unknown` it is an error.
        `text` is the message that a column of text gets, as in `frame_to_table`. With `is_checked_later`, values that
        are infinite or too large are found by who takes the array.
        """
        table = _values(self.stand_in(), self.encoder, X, reset=False, unknown=unknown, text=text)
        if not is_checked_later:
            check_values(table, self.names)
        return table

    def check_intervals(self, X: IntervalMatrix) -> None:
        """Raise an error if an `IntervalMatrix` does not have as many columns."""
        validate_data(self.stand_in(), X.table, reset=False, dtype="numeric", ensure_all_finite=False)

    def stand_in(self) -> Any:
        """Return an estimator for scikit-learn's checks: of the right class, and fitted to these columns."""
        stand_in = object.__new__(self.kind)
        stand_in.n_features_in_ = self.n_features_in
        if self.feature_names_in is not None:
            stand_in.feature_names_in_ = self.feature_names_in
        return stand_in

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the columns of numbers: one for each level of a category; None if the table has no names."""
        if self.encoder is not None:
            return self.encoder.names
        return None if self.feature_names_in is None else [str(name) for name in self.feature_names_in]


def _values(
    stand_in: Any,
    encoder: TableEncoder | None,
    X: Any,
    *,
    reset: bool,
    unknown: UnknownLevels | None = None,
    text: str = "text",
) -> Table:
    if encoder is not None:
        if not is_frame(X):
            categories = f" with categories ({', '.join(encoder.labels)})" if encoder.labels else ""
            raise IpubError(
                f"{type(stand_in).__name__} was fitted on a DataFrame{categories}: give a DataFrame with the same "
                "columns."
            )
        validate_data(stand_in, X, reset=reset, skip_check_array=True)
        table: Table = encoder.encode(X, unknown)
        check_array(table, ensure_all_finite=False)
    elif type(X) is not np.ndarray and is_frame(X):
        table = frame_to_table(X, text)
        validate_data(stand_in, X, reset=reset, skip_check_array=True)
        check_array(table, ensure_all_finite=False)
    else:
        if type(X) is not np.ndarray or X.dtype.kind not in "biuf":
            X = array_to_table(library_of(X).numpy(X) if is_foreign(X) else as_dense(X))
        table = validate_data(stand_in, X, reset=reset, dtype="numeric", ensure_all_finite=False)
        if isinstance(X, np.memmap) and table is not X:
            table = table.view(np.memmap)
    return table


# --- the training table ----------------------------------------------------------------------------


class TrainingTable(NamedTuple):
    """The table of `fit`, checked: its columns, and its values with NaN where missing, or its intervals."""

    columns: Columns
    data: Table | IntervalMatrix
    labels: list[Any] | None
    """Labels of the columns of a DataFrame, by which `intervals` and `precision` name them."""


def read_training_table(
    parameters: Parameters, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None, expected: Columns | None
) -> TrainingTable:
    """Check the table of `fit` and the bounds of its cells; nothing is learnt from its values yet.

    X must have the `expected` columns; else they are learnt from X.
    """
    _ = parameters.penalty  # names an alpha that is too small or too large
    _check_one_source_of_bounds(parameters, X, X_lower, X_upper)
    if isinstance(X, IntervalMatrix):
        if expected is None:
            columns = Columns.of_intervals(parameters.kind, X)
        else:
            expected.check_intervals(X)
            columns = expected
        X.check()
        return TrainingTable(columns, X, None)
    # Where nothing is learnt from the values, they are checked once: when holes become intervals.
    is_given = not isinstance(parameters.intervals, (str, Mapping)) and not isinstance(X, np.memmap)
    is_checked_later = is_given and X_lower is None
    if expected is None:
        columns, table = Columns.learn(parameters.kind, X, is_checked_later=is_checked_later)
    else:
        columns, table = expected, expected.values(X, text="text", is_checked_later=is_checked_later)
    labels = column_labels(X) if is_frame(X) else None
    if X_lower is None or X_upper is None:
        return TrainingTable(columns, table, labels)
    return TrainingTable(columns, _with_bounds(columns, X, table, X_lower, X_upper), labels)


def _check_one_source_of_bounds(
    parameters: Parameters, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None
) -> None:
    has_bounds = X_lower is not None or isinstance(X, IntervalMatrix)
    if has_bounds and not (isinstance(parameters.intervals, str) and parameters.intervals == "quantile"):
        raise IpubError("Bounds of the cells are given, so intervals is not used: leave it at its default.")
    if has_bounds and parameters.precision is not None:
        raise IpubError("Bounds of the cells are given, so precision is not used: leave it out.")
    if (X_lower is None) != (X_upper is None):
        raise IpubError("Give both X_lower and X_upper, or neither.")
    if isinstance(X, IntervalMatrix) and X_lower is not None:
        raise IpubError("X is an IntervalMatrix and has its own bounds: leave out X_lower and X_upper.")


def _with_bounds(columns: Columns, X: Any, table: Table, X_lower: ArrayLike, X_upper: ArrayLike) -> IntervalMatrix:
    """Return a table with the bounds of its cells."""
    for bound, what in ((X_lower, "X_lower"), (X_upper, "X_upper")):
        if is_frame(X) and is_frame(bound) and column_labels(bound) != column_labels(X):
            raise IpubError(f"The columns of {what} are not those of X in the same order: rename or reorder them.")
    if columns.encoder is not None:
        labels = ", ".join(columns.encoder.labels)
        what = f"categories ({labels})" if labels else "columns that are not used"
        raise IpubError(
            "X_lower and X_upper bound numbers, and X has {what}: give ranges with {remedy}.",
            what=what,
            remedy=GiveRange(),
        )
    lower, upper = (frame_to_table(bound) if is_frame(bound) else bound for bound in (X_lower, X_upper))
    return IntervalMatrix.from_table_and_bounds(table, lower, upper, columns.names)


def learn_table(
    parameters: Parameters, read: TrainingTable, y: Array, weight: Array, scaling: Scaling | None = None
) -> tuple[LearntTable, Rows]:
    """Learn what later rows are read with, and return the training rows, scaled, on the engine that fits them.

    Rows of weight 0 do not count in what is learnt. Without a scaling, one is learnt as the parameter `scale` says.
    """
    counted = None if (weight > 0.0).all() else weight > 0.0
    if isinstance(read.data, IntervalMatrix):
        rows = MemoryRows(read.data, y, weight)
        fill_values = np.asarray(rows.reduce(center_sums)[0] / rows.total_weight)
        ranges = np.clip(read.data.hull(counted), -LARGEST, LARGEST)
        learnt = LearntTable(read.columns, ranges, fill_values, np.zeros(rows.n_features), scaling)
    else:
        learnt = replace(_learn_intervals(parameters, read, read.data, counted), scaling=scaling)
        is_as_given = parameters.precision is None and parameters.scale is None and scaling is None
        if isinstance(read.data, np.memmap) and is_as_given:
            return learnt, MemmapRows(read.data, y, learnt.hole_ranges, weight)
    matrix = learnt.intervals(read.data)
    if parameters.scale is not None:
        observed = matrix.observed() if counted is None else matrix.observed()[counted]
        scaling = Scaling.learn(parameters.scale, observed, learnt.hole_ranges, ~learnt.is_number)
        learnt = replace(learnt, scaling=scaling)
    matrix = matrix if scaling is None else scaling.intervals(matrix)
    _warn_of_large_columns(matrix, learnt.names)
    return learnt, MemoryRows(matrix, y, weight)


def _warn_of_large_columns(matrix: IntervalMatrix, names: Sequence[str] | None) -> None:
    """Warn of a column beside whose size most others, or the intercept if there are none, are lost in rounding."""
    highest, lowest = (end.reduce(matrix.table, axis=0).astype(float) for end in (np.fmax, np.fmin))
    largest = np.fmax(highest, -lowest)
    np.fmax.at(largest, matrix.columns, np.abs(matrix.centers) + matrix.radii)
    j = int(np.nanargmax(np.fmax(largest, 0.0)))
    others = np.delete(largest, j)
    others = others[others > 0.0]
    if largest[j] > MOST_EXACT * (np.median(others) if len(others) else 1.0):
        warn_user(
            IpubWarning(
                "Column {column} goes up to {value:.3g}: beside it other columns are lost in rounding, and "
                "bounds are wide. Correct it, rescale it, or {remedy}.",
                column=column_label(j, names),
                value=float(largest[j]),
                remedy=DropColumn(column_label(j, names)),
            )
        )


def _learn_intervals(
    parameters: Parameters, read: TrainingTable, table: Table, counted: NDArray[np.bool_] | None
) -> LearntTable:
    """Learn where the holes of each column lie, what they take in `predict`, and how precise the other cells are."""
    encoder, means = read.columns.encoder, None
    numbers, names, of_numbers = np.arange(table.shape[1]), read.labels, table
    if encoder is not None:
        parameters = parameters.by_name(encoder)
        numbers, names = encoder.numbers, encoder.names_of_numbers
        of_numbers = table[:, numbers]
        means = encoder.column_means(np.asarray(table if counted is None else table[counted], dtype=float))
    ranges = column_ranges(of_numbers, parameters.intervals, parameters.interval_level, names, counted)
    precisions = column_precision(parameters.precision, len(numbers), names)
    learnt = LearntTable.of(read.columns, ranges, precisions, means)
    conditional = _learn_conditional(parameters, table, learnt.hole_ranges, numbers, names, counted)
    return replace(learnt, conditional=conditional)


def _learn_conditional(
    parameters: Parameters,
    table: Table,
    ranges: Array,
    numbers: Indices,
    names: Sequence[Any] | None,
    counted: NDArray[np.bool_] | None,
) -> ConditionalIntervals | None:
    """Learn intervals from other columns where `intervals` asks for them; None if it does not.

    `numbers` are the columns of the table that hold numbers, and `names` their labels.
    """
    chosen = conditional_columns(parameters.intervals, len(numbers), names)
    if not chosen:
        return None
    from ipub.tables.quantile_regression import learn_conditional

    if isinstance(table, np.memmap):
        parameters.refuse_conditional("a memory-mapped file", "give np.array(X), or use intervals='quantile'")
    state = parameters.random_state
    seed = 0 if state is None else int(check_random_state(state).randint(SEEDS))
    labels, level = [column_label(j, names) for j in chosen], float(parameters.interval_level)
    return learn_conditional(table, numbers[chosen].tolist(), ranges, level, labels, counted, seed)


def center_sums(block: Block) -> tuple[Array]:
    """Return the sum of a block's rows, each times its weight."""
    return (block.weight @ block.center,)


# --- rows to predict -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearntTable:
    """How later rows are read, learnt from a training table. Columns are those of numbers, after encoding."""

    columns: Columns
    hole_ranges: Array
    """Shape (n_columns, 2): where holes lie, in the units of X."""
    fill_values: Array
    """Shape (n_columns,): what holes take in `predict`."""
    precision: Array
    """Shape (n_columns,): by how much observed values may be off."""
    scaling: Scaling | None = None
    """How rows are scaled before the model sees them."""
    conditional: ConditionalIntervals | None = None
    """Intervals of holes that depend on the other values of their rows; columns without have those of `hole_ranges`."""

    @classmethod
    def of(cls, columns: Columns, ranges: Array, precisions: Array, means: Array | None = None) -> LearntTable:
        """Make one from the ranges and precisions of the columns of numbers, and the means of all columns.

        Missing numbers take the middle of their range; categories, whose columns have `means`, are 0 or 1.
        """
        middle = 0.5 * ranges[:, 0] + 0.5 * ranges[:, 1]
        if columns.encoder is None or means is None:
            return cls(columns, ranges, middle, precisions)
        hole_ranges, fill_values = np.tile([0.0, 1.0], (len(means), 1)), means.copy()
        all_precisions = np.zeros(len(means))
        numbers = columns.encoder.numbers
        hole_ranges[numbers], fill_values[numbers], all_precisions[numbers] = ranges, middle, precisions
        return cls(columns, hole_ranges, fill_values, all_precisions)

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the columns, if the table of `fit` had names."""
        return self.columns.names

    @property
    def is_plain(self) -> bool:
        """Whether rows are used as they are: not scaled, without categories, and with one interval for each column."""
        return self.scaling is None and self.columns.encoder is None and self.conditional is None

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Which columns hold numbers, and not a level of a category."""
        encoder = self.columns.encoder
        is_number = np.full(len(self.fill_values), encoder is None)
        if encoder is not None:
            is_number[encoder.numbers] = True
        return is_number

    def filled_rows(self, X: Any, unknown: UnknownLevels | None = None) -> Array:
        """Read rows to predict, scaled; holes take the fill value of their column or row, intervals their middle."""
        if isinstance(X, IntervalMatrix):
            self._check_intervals(X)
            return self._scaled(X.center_rows(slice(0, X.shape[0])))
        table = np.ascontiguousarray(self.columns.values(X, unknown=unknown), dtype=float)
        if self.conditional is not None:
            table = self.conditional.filled(table)
        return self._scaled(np.where(np.isnan(table), self.fill_values, table))

    def uncertain_rows(self, X: Any, unknown: UnknownLevels | None = None) -> IntervalMatrix:
        """Read rows to bound, scaled; holes lie in the interval of their column, or in that of their row."""
        if isinstance(X, IntervalMatrix):
            self._check_intervals(X)
            rows = X
        else:
            table = self.columns.values(X, unknown=unknown, is_checked_later=True)
            rows = self.intervals(np.ascontiguousarray(table, dtype=float))
        if self.scaling is None:
            return rows
        self._scaled(rows.center_rows(slice(0, rows.shape[0])))  # names a cell that is too large
        return self.scaling.intervals(rows)

    def intervals(self, data: Table | IntervalMatrix) -> IntervalMatrix:
        """Return the intervals of a table, not scaled: its holes, and its observed cells if they are not precise."""
        encoder = self.columns.encoder
        if isinstance(data, IntervalMatrix):
            matrix = data
        elif encoder is None:
            matrix = IntervalMatrix.from_table(data, self.hole_ranges, self.names)
        else:
            table, missing = encoder.with_missing_categories(np.asarray(data, dtype=float))
            matrix = replace(IntervalMatrix.from_table(table, self.hole_ranges, self.names), missing_categories=missing)
        if self.conditional is not None and not isinstance(data, IntervalMatrix):
            matrix = self.conditional.applied(matrix, np.asarray(data, dtype=float))
        return matrix.blurred(self.precision) if self.precision.any() else matrix

    def _scaled(self, table: Array) -> Array:
        if self.scaling is None:
            return table
        table = self.scaling.rows(table)
        check_values(table, self.names, what="X, scaled,")
        return table

    def _check_intervals(self, X: IntervalMatrix) -> None:
        """Raise an error if rows of intervals do not fit the model."""
        X.check()
        expected = len(self.fill_values)
        if X.shape[1] != expected:
            raise IpubError(
                f"X has {X.shape[1]} features, but {self.columns.kind.__name__} is expecting {expected} features as "
                "input."
            )
