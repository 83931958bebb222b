"""What both estimators share: reading the user's data, training, certifying."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.progress import Progress
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_array, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ipub.attained import attained_bounds
from ipub.certificates import CERTIFICATES, Certificate, pointwise_bounds
from ipub.data.blocks import Block, InterceptRows, MemoryRows, Rows, Sums
from ipub.data.frames import array_to_table, column_labels, frame_to_table, is_frame, is_missing
from ipub.data.holes import column_ranges
from ipub.data.intervals import IntervalMatrix, check_values, column_name
from ipub.data.mapped import MappedRows
from ipub.data.scaling import Scaling
from ipub.losses import LOSSES, Loss
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from ipub.rounding import LARGEST, Array, check_arithmetic
from ipub.solvers import Solution, solve

Table = NDArray[np.generic]

RETRAINING_ERROR = 1e-7
"""What rounding may add to the score of a retrained model, at most."""


class BoundedLinearModel(BaseEstimator):
    """Base of the estimators: training at the center and the certificate, whatever the loss."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_lower": True, "X_upper": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="left")],
        "fit_intercept": ["boolean"],
        "certificate": [StrOptions(set(CERTIFICATES))],
        "intervals": [str, Mapping, "array-like"],
        "interval_level": [Interval(Real, 0, 1, closed="right")],
        "scale": [str, None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    loss: str
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    certificate: str
    intervals: Any
    interval_level: float
    scale: str | None
    tol: float
    max_iter: int
    verbose: int

    scaling_: Scaling | None = None

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _penalty(self) -> ElasticNet:
        alpha, l1_ratio = float(self.alpha), float(self.l1_ratio)
        return ElasticNet(alpha * (1.0 - l1_ratio), alpha * l1_ratio, n_free=int(self.fit_intercept))

    def _problem(self, rows: Rows) -> Problem:
        return Problem(InterceptRows(rows) if self.fit_intercept else rows, self._loss, self._penalty())

    def _train(self, problem: Problem) -> Solution:
        return solve(problem, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)

    def _certify(self, problem: Problem, solution: Solution) -> tuple[Array, float]:
        """Certify from a solution; return its weights and its intercept."""
        check_arithmetic()
        self.certificate_: Certificate = CERTIFICATES[self.certificate](problem, solution)
        self._training: tuple[Problem, Solution] = problem, solution
        self.n_iter_ = solution.n_iter
        self.dual_gap_ = solution.gap
        d = self.n_features_in_
        bounds = self.certificate_.score_bounds(np.eye(problem.rows.n_features))
        self.coef_bounds_ = bounds[:d]
        self.intercept_bounds_ = bounds[d] if self.fit_intercept else np.zeros(2)
        return solution.w[:d], float(solution.w[d]) if self.fit_intercept else 0.0

    def _rows(self, X: Any, data: Table | IntervalMatrix, y: Array, weight: Array) -> Rows:
        """Turn holes into intervals, scale, and choose the engine."""
        if isinstance(data, IntervalMatrix):
            rows = MemoryRows(data, y, weight)
            (total,) = rows.reduce(_center_sums)
            self.fill_values_ = np.asarray(total / rows.total_weight)
            return rows if self.scaling_ is None else MemoryRows(self.scaling_.intervals(data), y, weight)
        counted = None if (weight > 0.0).all() else weight > 0.0
        labels = column_labels(X) if is_frame(X) else None
        ranges = column_ranges(data, self.intervals, self.interval_level, labels, counted)
        self.fill_values_ = 0.5 * ranges[:, 0] + 0.5 * ranges[:, 1]
        if isinstance(data, np.memmap) and self.scaling_ is None:
            return MappedRows(data, y, ranges, weight)
        matrix = IntervalMatrix.from_table(data, ranges)
        return MemoryRows(matrix if self.scaling_ is None else self.scaling_.intervals(matrix), y, weight)

    # --- reading what the user gave ----------------------------------------------------------------

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

    def _read_filled_rows(self, X: Any) -> Array:
        """Read rows to predict, scaled; holes take the center of their column."""
        check_is_fitted(self, "certificate_")
        table = np.ascontiguousarray(self._read_table(X, reset=False), dtype=float)
        return self._scaled(np.where(np.isnan(table), self.fill_values_, table))

    def _scaled(self, table: Array) -> Array:
        if self.scaling_ is None:
            return table
        table = self.scaling_.rows(table)
        check_values(table, self._names(), what="X, scaled,")
        return table

    def _read_complete_rows(self, X: Any) -> Array:
        """Read rows to bound, scaled, which must have no holes; an intercept sees a last column of ones."""
        check_is_fitted(self, "certificate_")
        table = np.ascontiguousarray(self._read_table(X, reset=False), dtype=float)
        holes = np.isnan(table)
        if holes.any():
            i, j = np.argwhere(holes)[0]
            n_rows = int(holes.any(axis=1).sum())
            raise ValueError(
                f"Row {i} has a missing value in column {column_name(j, self._names())} ({n_rows} row(s) have one). "
                "Bounds for rows with holes are not available yet: fill or leave out these rows. `predict` takes them."
            )
        table = self._scaled(table)
        return np.column_stack([table, np.ones(len(table))]) if self.fit_intercept else table

    def _score_bounds(self, X: Any) -> Array:
        """Bound the score of rows without holes."""
        table = self._read_complete_rows(X)
        if self.certificate_.name != "pointwise" or self.certificate_.note:
            return self.certificate_.score_bounds(table)
        if not hasattr(self, "_training"):
            warnings.warn(
                "Pointwise bounds need the training table; a model that was loaded from a file, unpickled or copied "
                "has none, so these are the bounds of 'tight'. Call fit again for pointwise bounds.",
                UserWarning,
                stacklevel=3,
            )
            return self.certificate_.score_bounds(table)
        problem, solution = self._same_training()
        with Progress(disable=not self.verbose) as bar:
            task = bar.add_task("Retraining for each row", total=len(table))
            return pointwise_bounds(
                problem, solution, self.certificate_, table, lambda done, _: bar.update(task, completed=done)
            )

    # --- what completions attain -------------------------------------------------------------------

    def attained_bounds(self, X: Any, *, return_completions: bool = False) -> Any:
        """Return (m, 2): a lowest and a highest score that fillings of the training table really give.

        Each end is the score of a model trained on one filling, found by a search. So the exact range of the score
        contains these bounds, and is contained in the certified ones: where both are close, both are nearly exact.
        With at most 12 holes in a small table all fillings with every hole at an end of its interval are looked at.

        It retrains many times, and needs the training table: it looks at the one given to `fit`, not at a copy. A
        model that was pickled or comes from a model file has none. Progress is shown if `verbose` is positive.

        Parameters
        ----------
        X : array or DataFrame of shape (m, n_features)
            Rows without holes.
        return_completions : bool, default=False
            Whether to return the fillings too.

        Returns
        -------
        bounds : array of shape (m, 2)
        completions : list of m pairs
            Only if asked for: the fillings that give the lower and the upper end of each row. ``table()`` of one is
            the filled training table, ``positions`` is -1, 0 or 1 for each hole, row by row: at the lower end, the
            middle or the upper end of its interval. If there is a `scaling_`, the table is scaled.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedRegressor
        >>> X, y = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]]), [1.0, 2.0, 3.0, 4.0]
        >>> reg = BoundedRegressor(alpha=1.0, intervals={1: (0.5, 1.5)}).fit(X, y)
        >>> bounds, completions = reg.attained_bounds([[1.5, 1.0]], return_completions=True)
        >>> lowest, highest = completions[0]
        >>> highest.table()[1]
        array([1. , 1.5])
        >>> again = BoundedRegressor(alpha=1.0).fit(highest.table(), y)
        >>> bool(np.isclose(again.predict([[1.5, 1.0]])[0], bounds[0, 1]))
        True
        """
        table = self._read_complete_rows(X)
        problem, solution = self._same_training()
        with Progress(disable=not self.verbose) as bar:
            task = bar.add_task("Retraining on completions", total=1.0)
            attained = attained_bounds(
                problem,
                solution,
                table,
                keep_completions=return_completions,
                progress=lambda share: bar.update(task, completed=share),
            )
        # The exact score of each completion is inside the certified bounds; retraining is exact up to rounding only.
        low, high = self.certificate_.score_bounds(table).T
        inside = np.clip(attained.bounds, low[:, None], high[:, None])
        rounding = np.abs(attained.bounds - inside) <= RETRAINING_ERROR * (1.0 + np.abs(inside))
        bounds = np.where(rounding, inside, attained.bounds)
        return (bounds, attained.completions) if return_completions else bounds

    def _same_training(self) -> tuple[Problem, Solution]:
        """Return what `fit` trained on and found, if it is still there as it was."""
        if not hasattr(self, "_training"):
            raise NotFittedError(
                "attained_bounds needs the training table, and a model that was loaded from a file, unpickled or "
                "copied has none: call fit again."
            )
        problem, solution = self._training
        now = problem.evaluate(solution.w, solution.dual_loss, solution.dual_w).primal
        if not np.isclose(now, solution.primal, rtol=1e-9, atol=0.0, equal_nan=True):
            raise ValueError(
                "The training table has been changed since fit, which keeps no copy of it: call fit again."
            )
        return problem, solution

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training table out of pickles, as out of model files."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _center_sums(block: Block) -> Sums:
    return (block.weight @ block.center,)
