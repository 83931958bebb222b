"""What the user gave becomes rows of intervals: the tables of `fit`, and the rows whose predictions are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ipub.data.blocks import Block, MemoryRows, Rows, Sums
from ipub.data.frames import array_to_table, column_labels, frame_to_table, is_frame, is_missing
from ipub.data.holes import column_ranges
from ipub.data.intervals import IntervalMatrix, check_values
from ipub.data.mapped import MappedRows
from ipub.data.scaling import Scaling
from ipub.rounding import LARGEST, Array

Table = NDArray[np.generic]


class TableReader(BaseEstimator):
    """Base of the estimators: reads tables, and turns their holes into intervals."""

    intervals: Any
    interval_level: float
    scale: str | None

    scaling_: Scaling | None = None

    # --- the training table ------------------------------------------------------------------------

    def _rows(self, X: Any, data: Table | IntervalMatrix, y: Array, weight: Array) -> Rows:
        """Turn holes into intervals, scale, and choose the engine; remember both for the rows of `predict`."""
        counted = None if (weight > 0.0).all() else weight > 0.0
        if isinstance(data, IntervalMatrix):
            (total,) = MemoryRows(data, y, weight).reduce(_center_sums)
            self.hole_ranges_ = np.clip(data.hull(counted), -LARGEST, LARGEST)
            self.fill_values_ = np.asarray(total / MemoryRows(data, y, weight).total_weight)
            matrix = data
        else:
            labels = column_labels(X) if is_frame(X) else None
            self.hole_ranges_ = column_ranges(data, self.intervals, self.interval_level, labels, counted)
            self.fill_values_ = 0.5 * self.hole_ranges_[:, 0] + 0.5 * self.hole_ranges_[:, 1]
            if isinstance(data, np.memmap) and self.scaling_ is None:
                return MappedRows(data, y, self.hole_ranges_, weight)
            matrix = IntervalMatrix.from_table(data, self.hole_ranges_)
        return MemoryRows(matrix if self.scaling_ is None else self.scaling_.intervals(matrix), y, weight)

    def _read_training_data(
        self, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None, reset: bool
    ) -> Table | IntervalMatrix:
        """Check parameters and training data; remember the features, or with `reset` False compare them."""
        if reset:
            self.scaling_ = None
        self._refuse_what_does_not_exist_yet()
        self._penalty()
        has_bounds = X_lower is not None or isinstance(X, IntervalMatrix)
        if has_bounds and not (isinstance(self.intervals, str) and self.intervals == "quantile"):
            raise ValueError("Bounds of the cells are given, so intervals has no say: leave it at its default.")
        if (X_lower is None) != (X_upper is None):
            raise ValueError("X_lower and X_upper go together: give both or neither.")
        if isinstance(X, IntervalMatrix):
            if X_lower is not None:
                raise ValueError("X is an IntervalMatrix and has its own bounds: leave out X_lower and X_upper.")
            validate_data(self, X.table, reset=reset, dtype="numeric", ensure_all_finite=False)
            X.check()
            return X
        table = self._read_table(X, reset=reset)
        if X_lower is None or X_upper is None:
            return table
        for bound, what in ((X_lower, "X_lower"), (X_upper, "X_upper")):
            if is_frame(X) and is_frame(bound) and column_labels(bound) != column_labels(X):
                raise ValueError(f"The columns of {what} are not those of X in the same order: rename or reorder them.")
        lower, upper = (frame_to_table(bound) if is_frame(bound) else bound for bound in (X_lower, X_upper))
        return IntervalMatrix.from_table_and_bounds(table, lower, upper, self._names())

    def _refuse_what_does_not_exist_yet(self) -> None:
        if self.scale is not None:
            raise ValueError(
                f"scale={self.scale!r} is not available yet. Put a scaler before this estimator: "
                "make_pipeline(StandardScaler(), ...) leaves holes as they are."
            )

    def _read_table(self, X: Any, *, reset: bool) -> Table:
        """Return the values of X as a numeric array, NaN where missing, checked and not copied if possible."""
        if is_frame(X):
            table: Table = frame_to_table(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            check_array(table, ensure_all_finite=False)
        else:
            X = array_to_table(X)
            table = validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite=False)
            if isinstance(X, np.memmap) and table is not X:
                table = table.view(np.memmap)
        check_values(table, self._names())
        return table

    def _names(self) -> Sequence[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _read_labels(self, y: Any, n_rows: int) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        # Before scikit-learn looks at them: it fails on None and NA in words of its own.
        values = np.asarray(y)
        if values.ndim == 1 and values.dtype.kind in "fO":
            known = values == values if values.dtype.kind == "f" else [not is_missing(value) for value in values]
            missing = np.flatnonzero(~np.asarray(known, dtype=bool))
            if len(missing):
                raise ValueError(
                    f"Input y contains NaN: row {missing[0]} has no label ({len(missing)} row(s) in all). "
                    "Drop these rows."
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
            table = np.ascontiguousarray(self._read_table(X, reset=False), dtype=float)
            rows = IntervalMatrix.from_table(table, self.hole_ranges_)
        if self.scaling_ is None:
            return rows
        self._scaled(rows.center_rows(slice(0, rows.shape[0])))  # names a cell that is too large
        return self.scaling_.intervals(rows)

    def _check_intervals(self, X: IntervalMatrix) -> None:
        """Refuse rows of intervals that do not fit the model."""
        X.check()
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input."
            )


def _center_sums(block: Block) -> Sums:
    return (block.weight @ block.center,)
