"""What the user gave becomes rows of intervals: the tables of `fit`, and the rows whose predictions are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ipub.data.categories import TableEncoder
from ipub.data.frames import array_to_table, column_labels, frame_to_table, is_frame, is_missing
from ipub.data.holes import column_precision, column_ranges
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.scaling import Scaling
from ipub.data.validation import check_values
from ipub.engine.memmap import MemmapRows
from ipub.engine.rows import Block, MemoryRows, Rows, Sums
from ipub.rounding import LARGEST, Array

Table = NDArray[np.generic]


class TableReader(BaseEstimator):
    """Base of the estimators: reads tables, and turns their holes into intervals."""

    intervals: Any
    interval_level: float
    scale: str | None
    precision: Any
    handle_unknown: str

    scaling_: Scaling | None = None
    encoder_: TableEncoder | None = None

    # --- the training table ------------------------------------------------------------------------

    def _rows(self, X: Any, data: Table | IntervalMatrix, y: Array, weight: Array) -> Rows:
        """Turn holes into intervals, scale, and choose the engine; remember both for the rows of `predict`."""
        counted = None if (weight > 0.0).all() else weight > 0.0
        if isinstance(data, IntervalMatrix):
            rows = MemoryRows(data, y, weight)
            (total,) = rows.reduce(center_sums)
            self.fill_values_ = np.asarray(total / rows.total_weight)
            self.hole_ranges_ = np.clip(data.hull(counted), -LARGEST, LARGEST)
            self.precision_ = np.zeros(data.shape[1])
        else:
            self._learn_intervals(column_labels(X) if is_frame(X) else None, data, counted)
            if isinstance(data, np.memmap) and self.scale is None and self.scaling_ is None and self.precision is None:
                return MemmapRows(data, y, self.hole_ranges_, weight)
        matrix = self._uncertain(data)
        if self.scale is not None:
            observed = matrix.observed() if counted is None else matrix.observed()[counted]
            self.scaling_ = Scaling.learn(self.scale, observed, self.hole_ranges_, ~self._is_number())
        return MemoryRows(matrix if self.scaling_ is None else self.scaling_.intervals(matrix), y, weight)

    def _learn_intervals(self, labels: Sequence[Any] | None, table: Table, counted: NDArray[np.bool_] | None) -> None:
        """Learn where the holes of each column lie, what they take in `predict`, and how precise the others are."""
        encoder, intervals, precision = self.encoder_, self.intervals, self.precision
        if encoder is None:
            self.hole_ranges_ = column_ranges(table, intervals, self.interval_level, labels, counted)
            self.fill_values_ = 0.5 * self.hole_ranges_[:, 0] + 0.5 * self.hole_ranges_[:, 1]
            self.precision_ = column_precision(precision, table.shape[1], labels)
            return
        intervals, precision = encoder.by_name(intervals, "intervals"), encoder.by_name(precision, "precision")
        numbers, names = encoder.numbers, encoder.names_of_numbers
        self.hole_ranges_ = np.tile([0.0, 1.0], (table.shape[1], 1))
        self.precision_ = np.zeros(table.shape[1])
        some = np.asarray(table if counted is None else table[counted], dtype=float)
        self.fill_values_ = encoder.column_means(some)
        if len(numbers):
            ranges = column_ranges(table[:, numbers], intervals, self.interval_level, names, counted)
            self.hole_ranges_[numbers] = ranges
            self.fill_values_[numbers] = 0.5 * ranges[:, 0] + 0.5 * ranges[:, 1]
            self.precision_[numbers] = column_precision(precision, len(numbers), names)

    def _is_number(self) -> NDArray[np.bool_]:
        """Return which columns hold numbers, and not a level of a category."""
        is_number = np.full(len(self.fill_values_), self.encoder_ is None)
        if self.encoder_ is not None:
            is_number[self.encoder_.numbers] = True
        return is_number

    def _uncertain(self, data: Table | IntervalMatrix) -> IntervalMatrix:
        """Return the intervals of a table: its holes, and its observed cells if they are not precise."""
        if isinstance(data, IntervalMatrix):
            matrix = data
        elif self.encoder_ is None:
            matrix = IntervalMatrix.from_table(data, self.hole_ranges_, self._names())
        else:
            table, choices = self.encoder_.with_choices(np.asarray(data, dtype=float))
            matrix = IntervalMatrix.from_table(table, self.hole_ranges_, self._names())
            matrix = replace(matrix, choices=choices)
        return matrix.blurred(self.precision_) if self.precision_.any() else matrix

    def _read_training_data(
        self, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None, reset: bool
    ) -> Table | IntervalMatrix:
        """Check parameters and training data; remember the features, or with `reset` False compare them."""
        if reset:
            self.scaling_ = None
        self._penalty()
        has_bounds = X_lower is not None or isinstance(X, IntervalMatrix)
        if has_bounds and not (isinstance(self.intervals, str) and self.intervals == "quantile"):
            raise ValueError("Bounds of the cells are given, so intervals has no say: leave it at its default.")
        if has_bounds and self.precision is not None:
            raise ValueError("Bounds of the cells are given, so precision has no say: leave it out.")
        if (X_lower is None) != (X_upper is None):
            raise ValueError("X_lower and X_upper go together: give both or neither.")
        if isinstance(X, IntervalMatrix):
            if X_lower is not None:
                raise ValueError("X is an IntervalMatrix and has its own bounds: leave out X_lower and X_upper.")
            self.encoder_ = None
            validate_data(self, X.table, reset=reset, dtype="numeric", ensure_all_finite=False)
            X.check()
            return X
        # Where nothing is learnt from the values, they are looked at once: when holes become intervals.
        is_given = not isinstance(self.intervals, (str, Mapping)) and not isinstance(X, np.memmap)
        table = self._read_table(X, reset=reset, is_checked_later=is_given and X_lower is None)
        if X_lower is None or X_upper is None:
            return table
        for bound, what in ((X_lower, "X_lower"), (X_upper, "X_upper")):
            if is_frame(X) and is_frame(bound) and column_labels(bound) != column_labels(X):
                raise ValueError(f"The columns of {what} are not those of X in the same order: rename or reorder them.")
        if self.encoder_ is not None:
            labels = ", ".join(self.encoder_.labels)
            what = f"categories ({labels})" if labels else "columns that are not used"
            raise ValueError(
                f"X_lower and X_upper bound numbers, and X has {what}: give ranges with intervals={{column: (low, "
                "high)}."
            )
        lower, upper = (frame_to_table(bound) if is_frame(bound) else bound for bound in (X_lower, X_upper))
        return IntervalMatrix.from_table_and_bounds(table, lower, upper, self._names())

    def _read_table(self, X: Any, *, reset: bool, is_checked_later: bool = False) -> Table:
        """Return the values of X as a numeric array, NaN where missing, checked and not copied if possible."""
        if reset:
            self.encoder_ = TableEncoder.learn(X) if is_frame(X) else None
        encoder = self.encoder_
        if encoder is not None:
            if not is_frame(X):
                categories = f" with categories ({', '.join(encoder.labels)})" if encoder.labels else ""
                raise ValueError(
                    f"{type(self).__name__} was fitted on a DataFrame{categories}: give a DataFrame with the same "
                    "columns."
                )
            validate_data(self, X, reset=reset, skip_check_array=True)
            table: Table = encoder.encode(X, self.handle_unknown == "any")
            check_array(table, ensure_all_finite=False)
        elif is_frame(X):
            is_trained = not reset and hasattr(self, "fill_values_")
            table = frame_to_table(X, "unexpected text" if is_trained else "text")
            validate_data(self, X, reset=reset, skip_check_array=True)
            check_array(table, ensure_all_finite=False)
        else:
            X = array_to_table(X)
            table = validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite=False)
            if isinstance(X, np.memmap) and table is not X:
                table = table.view(np.memmap)
        if not is_checked_later:
            check_values(table, self._names())
        return table

    def _names(self) -> Sequence[str] | None:
        """Return the names of the columns of an encoded table."""
        if self.encoder_ is not None:
            return self.encoder_.names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 (as in scikit-learn)
        """Return the names of the columns that weights belong to: of `coef_` and `coef_bounds_`.

        A column of categories has one for each level, ``column_level``.
        """
        check_is_fitted(self, "certificate_")
        return np.array(self._names() or [f"x{j}" for j in range(len(self.fill_values_))], dtype=object)

    def _read_labels(self, y: Any, n_rows: int, advice: str = "Drop these rows.") -> NDArray[Any]:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        # Before scikit-learn looks at them: it fails on None and NA in words of its own.
        values = labels_of(y)
        if values.ndim == 1 and values.dtype.kind in "fO":
            known = values == values if values.dtype.kind == "f" else [not is_missing(value) for value in values]
            missing = np.flatnonzero(~np.asarray(known, dtype=bool))
            if len(missing):
                raise ValueError(
                    f"Input y contains NaN: row {missing[0]} has no label ({len(missing)} row(s) in all). {advice}"
                )
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if len(labels) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(labels)}."
            )
        return labels

    def _read_weights(self, sample_weight: ArrayLike | None, n_rows: int) -> Array:
        if sample_weight is None:
            return np.ones(n_rows)
        if isinstance(sample_weight, Real):
            sample_weight = np.full(n_rows, float(sample_weight))
        weight = np.array(column_or_1d(sample_weight), dtype=float)
        if len(weight) != n_rows:
            raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}!")
        bad = np.flatnonzero(~((weight >= 0.0) & (weight <= LARGEST)))
        if len(bad):
            raise ValueError(
                f"sample_weight is {weight[bad[0]]} in row {bad[0]}. Negative values in data passed to `sample_weight`"
                f", NaN and values beyond {LARGEST:g} are not allowed."
            )
        if not weight.any():
            raise ValueError("Every sample_weight is zero: at least one row must have a positive weight.")
        return weight

    # --- rows to predict ---------------------------------------------------------------------------

    def _read_filled_rows(self, X: Any) -> Array:
        """Read rows to predict, scaled; holes take the value of their column, intervals their middle."""
        check_is_fitted(self, "certificate_")
        if isinstance(X, IntervalMatrix):
            self._check_intervals(X)
            return self._scaled(X.center_rows(slice(0, X.shape[0])))
        table = np.ascontiguousarray(self._read_table(X, reset=False), dtype=float)
        return self._scaled(np.where(np.isnan(table), self.fill_values_, table))

    def _scaled(self, table: Array) -> Array:
        if self.scaling_ is None:
            return table
        table = self.scaling_.rows(table)
        check_values(table, self._names(), what="X, scaled,")
        return table

    def _read_uncertain_rows(self, X: Any) -> IntervalMatrix:
        """Read rows to bound, scaled; holes lie in the interval of their column."""
        check_is_fitted(self, "certificate_")
        if isinstance(X, IntervalMatrix):
            self._check_intervals(X)
            rows = X
        else:
            table = self._read_table(X, reset=False, is_checked_later=True)
            rows = self._uncertain(np.ascontiguousarray(table, dtype=float))
        if self.scaling_ is None:
            return rows
        self._scaled(rows.center_rows(slice(0, rows.shape[0])))  # names a cell that is too large
        return self.scaling_.intervals(rows)

    def _check_intervals(self, X: IntervalMatrix) -> None:
        """Refuse rows of intervals that do not fit the model."""
        X.check()
        expected = len(self.fill_values_)
        if X.shape[1] != expected:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {expected} features as input."
            )


def labels_of(y: Any) -> NDArray[Any]:
    """Return labels as an array; a list keeps each as it is: NumPy would turn NaN among words into a word.

    Raises
    ------
    ValueError
        If words and numbers are mixed: they would become words.
    """
    if not isinstance(y, (list, tuple)):
        return np.asarray(y)
    kinds = {isinstance(label, str) for label in y if not is_missing(label)}
    if len(kinds) > 1:
        raise ValueError("y mixes text and numbers: make all labels text, or all numbers.")
    return np.array(y, dtype=object) if True in kinds else np.asarray(y)


def center_sums(block: Block) -> Sums:
    """Return the sum of a block's rows, each times its weight."""
    return (block.weight @ block.center,)
