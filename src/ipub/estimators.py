"""What a user calls: scikit-learn estimators whose predictions come with certified bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils import Tags, check_array, check_consistent_length, column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ipub.certificates import CERTIFICATES, Certificate
from ipub.data.blocks import MemoryRows, Rows
from ipub.data.frames import frame_to_table, is_frame
from ipub.data.holes import column_ranges
from ipub.data.intervals import IntervalMatrix, check_values, column_name
from ipub.data.mapped import MappedRows
from ipub.losses import LOSSES, Loss
from ipub.penalties import ElasticNet
from ipub.problem import Problem
from ipub.rounding import LARGEST, Array
from ipub.solvers import solve


class _BoundedLinearModel(BaseEstimator):
    """Training, certificate and score bounds, whatever the loss."""

    _task: ClassVar[str]
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_lower": True, "X_upper": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="left")],
        "fit_intercept": ["boolean"],
        "certificate": [StrOptions(set(CERTIFICATES))],
        "intervals": [str, Mapping, "array-like"],
        "interval_level": [Interval(Real, 0, 1, closed="both")],
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

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    # --- fit ---------------------------------------------------------------------------------------

    def _fit(
        self, X: Any, y: Array, weight: Array, X_lower: ArrayLike | None, X_upper: ArrayLike | None
    ) -> Array:
        """Train at the center and certify; return the weights."""
        self._refuse_what_does_not_exist_yet()
        rows = self._rows(X, y, weight, X_lower, X_upper)
        lam, kappa = self.alpha * (1.0 - self.l1_ratio), self.alpha * self.l1_ratio
        problem = Problem(rows, self._loss, ElasticNet(lam, kappa))
        solution = solve(problem, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
        self.certificate_: Certificate = CERTIFICATES[self.certificate](problem, solution)
        self.n_iter_ = solution.n_iter
        self.dual_gap_ = solution.gap
        self.coef_bounds_ = self.certificate_.score_bounds(np.eye(rows.n_features))
        self.intercept_bounds_ = np.zeros(2)
        return solution.w

    def _rows(
        self, X: Any, y: Array, weight: Array, X_lower: ArrayLike | None, X_upper: ArrayLike | None
    ) -> Rows:
        if (X_lower is None) != (X_upper is None):
            raise ValueError("X_lower and X_upper go together: give both or neither.")
        if isinstance(X, IntervalMatrix):
            if X_lower is not None:
                raise ValueError("X is an IntervalMatrix and has its own bounds: leave out X_lower and X_upper.")
            self._remember_features(X)
            self.fill_values_ = _column_means(X, weight)
            return MemoryRows(X, y, weight)
        table = self._table(X, reset=True)
        names = self._names()
        if X_lower is not None and X_upper is not None:
            lower, upper = (_bound_table(bound) for bound in (X_lower, X_upper))
            matrix = IntervalMatrix.from_table_and_bounds(table, lower, upper, names)
            self.fill_values_ = _column_means(matrix, weight)
            return MemoryRows(matrix, y, weight)
        counted = table if (weight > 0.0).all() else table[weight > 0.0]
        ranges = column_ranges(counted, self.intervals, self.interval_level, names)
        self.fill_values_ = ranges.mean(axis=1)
        if isinstance(X, np.memmap):
            return MappedRows(table, y, ranges, weight)
        return MemoryRows(IntervalMatrix.from_table(table, ranges), y, weight)

    def _refuse_what_does_not_exist_yet(self) -> None:
        if self.fit_intercept:
            raise ValueError(
                "fit_intercept=True is not available yet: the bounds proved so far need every weight to be "
                "penalised. Use fit_intercept=False; center the data, or add a constant column (penalised like "
                "the others)."
            )
        if self.scale is not None:
            raise ValueError(
                f"scale={self.scale!r} is not available yet. Put a scaler before this estimator: "
                "make_pipeline(StandardScaler(), ...) leaves holes as they are."
            )

    def _remember_features(self, X: IntervalMatrix) -> None:
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"Found array with shape {X.shape}: at least one row and one column are required.")
        check_center = X.center_rows(slice(0, 1))
        validate_data(self, check_center, reset=True, ensure_all_finite=False)

    def _table(self, X: Any, *, reset: bool) -> NDArray[np.generic]:
        """Return the values of X as a numeric array, NaN where missing, checked and not copied if possible."""
        if is_frame(X):
            table: NDArray[np.generic] = frame_to_table(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            check_array(table, ensure_all_finite=False)
        else:
            table = validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite=False)
        check_values(table, self._names())
        return table

    def _names(self) -> Sequence[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _weights(self, sample_weight: ArrayLike | None, n_rows: int) -> Array:
        if sample_weight is None:
            return np.ones(n_rows)
        if np.ndim(sample_weight) == 0:
            return np.full(n_rows, float(sample_weight))  # type: ignore[arg-type]
        weight = np.array(column_or_1d(sample_weight), dtype=float)
        if len(weight) != n_rows:
            raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}!")
        bad = ~((weight >= 0.0) & (weight <= LARGEST))
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"sample_weight is {weight[i]} in row {i}. Negative values in data passed to `sample_weight`, NaN and "
                "values beyond 1e150 are not allowed."
            )
        if not weight.any():
            raise ValueError("sample_weight is 0 in every row: at least one row must count.")
        return weight

    def _check_y_given(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )

    # --- predict -----------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """Score rows with the model trained at the center; holes take the center of their column."""
        check_is_fitted(self)
        table = np.asarray(self._table(X, reset=False), dtype=float)
        holes = np.isnan(table)
        if holes.any():
            table = np.where(holes, self.fill_values_, table)
        return table @ np.ravel(self.coef_)

    def _score_bounds(self, X: Any) -> Array:
        check_is_fitted(self)
        table = np.asarray(self._table(X, reset=False), dtype=float)
        holes = np.isnan(table)
        if holes.any():
            i, j = np.argwhere(holes)[0]
            n_rows = int(holes.any(axis=1).sum())
            raise ValueError(
                f"Row {i} has a missing value in column {column_name(j, self._names())} ({n_rows} row(s) have one). "
                "Bounds for rows with holes are not available yet: fill or leave out these rows. `predict` accepts them."
            )
        return self.certificate_.score_bounds(table)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _bound_table(bound: Any) -> Any:
    return frame_to_table(bound) if is_frame(bound) else bound


def _column_means(matrix: IntervalMatrix, weight: Array) -> Array:
    """Mean of each column of the center: what a hole of a test row takes if there are no column ranges."""
    (total,) = MemoryRows(matrix, weight, weight).reduce(lambda block: (block.weight @ block.center,))
    return np.asarray(total / weight.sum())


def _has_probability(estimator: BoundedClassifier) -> bool:
    if not LOSSES[estimator.loss].has_probability:
        raise AttributeError(f"probabilities are not available for loss={estimator.loss!r}; use loss='log_loss'.")
    return True


class BoundedClassifier(ClassifierMixin, _BoundedLinearModel):  # type: ignore[misc]
    """Linear classifier with certified bounds over all fillings of the holes in its training table.

    Minimises ``sum_i s_i loss(y_i, x_i.w) / sum_i s_i + alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``
    with every hole at the middle of its interval, and computes for the price of about one training bounds
    that hold for the model trained on *any* filling of the holes inside their intervals.

    Parameters
    ----------
    loss : {"log_loss", "hinge"}, default="log_loss"
        ``log(1 + exp(-y t))`` or ``max(0, 1 - y t)``.
    alpha : float, default=0.1
        Strength of the penalty. ``LogisticRegression(C=C)`` has ``alpha = 1 / (n C)``, as has
        ``LinearSVC(loss="hinge", C=C)``.
    l1_ratio : float, default=0.0
        Share of the l1 part, below 1.
    fit_intercept : bool, default=False
        Not available yet.
    certificate : {"tight", "sphere", "ball"}, default="tight"
        How bounds are proved: the paper's sphere, the half-ball, or the intersection of all.
    intervals : "quantile", "observed", mapping or array of shape (n_features, 2), default="quantile"
        Where missing values lie; see `ipub.data.holes.column_ranges`. A mapping gives ``{column: (low, high)}``.
    interval_level : float, default=0.9
        Share of the observed values inside a quantile interval.
    scale : None
        Not available yet.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with `sample_weight`.
    tol : float, default=1e-8
        Relative duality gap at which training stops. Bounds are valid whatever it is.
    max_iter : int, default=1000
        Greatest number of Newton steps.
    random_state : int, RandomState or None, default=None
        For certificates that draw numbers; those that exist do not.
    verbose : int, default=0
        If positive, print the progress of training.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_ : array of shape (1, n_features)
        The model trained at the center.
    coef_bounds_ : array of shape (n_features, 2)
        Bounds of each weight over all completions.
    intercept_, intercept_bounds_ : zeros
    certificate_ : Certificate
        What was certified, and how.
    fill_values_ : array of shape (n_features,)
        What holes of a test row take in `predict`.
    dual_gap_ : float
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from ipub import BoundedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> X[:5, 2] = np.nan
    >>> clf = BoundedClassifier().fit(X, y)
    >>> clf.predict_set([[2.0, 1.0, 0.0], [0.01, 0.0, 0.0]])
    array([[False,  True],
           [ True,  True]])
    """

    _task = "classification"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BoundedLinearModel._parameter_constraints,
        "loss": [StrOptions({name for name, loss in LOSSES.items() if loss.task == "classification"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        alpha: float = 0.1,
        l1_ratio: float = 0.0,
        fit_intercept: bool = False,
        certificate: str = "tight",
        intervals: Any = "quantile",
        interval_level: float = 0.9,
        scale: str | None = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.certificate = certificate
        self.intervals = intervals
        self.interval_level = interval_level
        self.scale = scale
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_lower: ArrayLike | None = None,
        X_upper: ArrayLike | None = None,
    ) -> Self:
        """Train at the center of the intervals and certify.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (n_rows, n_features)
            NaN are the holes. A ``numpy.memmap`` is streamed from its file.
        y : array of shape (n_rows,)
            Labels of two classes.
        sample_weight : array of shape (n_rows,), optional
        X_lower, X_upper : arrays of shape (n_rows, n_features), optional
            Bounds of each cell; equal to X where X is observed.
        """
        self._check_y_given(y)
        if not isinstance(X, IntervalMatrix):
            check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
        _refuse_nan_labels(y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        weight = self._weights(sample_weight, len(y))
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has the "
                f"{len(self.classes_)} classes {', '.join(map(str, self.classes_[:5]))}"
                f"{', ...' if len(self.classes_) > 5 else ''}. Fit one class against the others."
            )
        counted = np.unique(numbers[weight > 0.0])
        if len(counted) < 2:
            raise ValueError(
                f"y must have two classes, but all rows that count are of one class, {self.classes_[counted[0]]!r}."
            )
        if self.class_weight is not None:
            weight = weight * compute_class_weight(self.class_weight, classes=self.classes_, y=y)[numbers]
        self.coef_ = self._fit(X, 2.0 * numbers - 1.0, weight, X_lower, X_upper)[None, :]
        self.intercept_ = np.zeros(1)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row under the model trained at the center; holes take the center."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row under the model trained at the center."""
        positive = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[positive.astype(int)])

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of both classes under the model trained at the center."""
        scores = self.decision_function(X)
        return np.column_stack([self._loss.link(-scores), self._loss.link(scores)])

    def decision_bounds(self, X: Any) -> Array:
        """Return (m, 2): the lowest and highest score over all completions of the training table.

        Guarantee: the exact minimiser w of the training problem of *every* completion has
        ``lower <= x.w <= upper``. It speaks of completions inside the intervals, not of values outside them,
        and not of noise in y.
        """
        return self._score_bounds(X)

    @available_if(_has_probability)
    def predict_proba_bounds(self, X: Any) -> Array:
        """Return (m, 2): bounds of the probability of ``classes_[1]`` over all completions."""
        scores = self.decision_bounds(X)
        return np.column_stack(self._loss.link_range(scores[:, 0], scores[:, 1]))

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Return (m, 2): whether some completion may give the label; one True in a row means certain."""
        scores = self.decision_bounds(X)
        return np.column_stack([scores[:, 0] <= 0.0, scores[:, 1] >= 0.0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class BoundedRegressor(RegressorMixin, _BoundedLinearModel):  # type: ignore[misc]
    """Linear regression with certified bounds over all fillings of the holes in its training table.

    Minimises ``sum_i s_i (y_i - x_i.w)^2 / sum_i s_i + alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``
    with every hole at the middle of its interval, and bounds the prediction of the model trained on *any*
    filling of the holes inside their intervals.

    Parameters
    ----------
    loss : {"squared_error"}, default="squared_error"
        ``(y - t)^2``.
    alpha : float, default=0.1
        Strength of the penalty. ``Ridge(alpha=a)`` has ``alpha = 2 a / n``; ``ElasticNet(alpha=a)`` has
        ``alpha = 2 a``, with the same `l1_ratio`.
    l1_ratio, fit_intercept, certificate, intervals, interval_level, scale, tol, max_iter, random_state, verbose
        As in `BoundedClassifier`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The model trained at the center.
    coef_bounds_ : array of shape (n_features, 2)
        Bounds of each weight over all completions.
    intercept_, intercept_bounds_ : zeros
    certificate_ : Certificate
        What was certified, and how.
    fill_values_ : array of shape (n_features,)
        What holes of a test row take in `predict`.
    dual_gap_ : float
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from ipub import BoundedRegressor
    >>> X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]])
    >>> reg = BoundedRegressor(alpha=1.0, intervals={1: (0.5, 1.5)}).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> low, high = reg.predict_bounds([[1.5, 1.0]])[0]
    >>> bool(low < reg.predict([[1.5, 1.0]])[0] < high)
    True
    """

    _task = "regression"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BoundedLinearModel._parameter_constraints,
        "loss": [StrOptions({name for name, loss in LOSSES.items() if loss.task == "regression"})],
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        alpha: float = 0.1,
        l1_ratio: float = 0.0,
        fit_intercept: bool = False,
        certificate: str = "tight",
        intervals: Any = "quantile",
        interval_level: float = 0.9,
        scale: str | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.certificate = certificate
        self.intervals = intervals
        self.interval_level = interval_level
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_lower: ArrayLike | None = None,
        X_upper: ArrayLike | None = None,
    ) -> Self:
        """Train at the center of the intervals and certify.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (n_rows, n_features)
            NaN are the holes. A ``numpy.memmap`` is streamed from its file.
        y : array of shape (n_rows,)
            Targets.
        sample_weight : array of shape (n_rows,), optional
        X_lower, X_upper : arrays of shape (n_rows, n_features), optional
            Bounds of each cell; equal to X where X is observed.
        """
        self._check_y_given(y)
        if not isinstance(X, IntervalMatrix):
            check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
        _refuse_nan_labels(y)
        targets = check_array(y, dtype=float, ensure_2d=False, input_name="y")
        check_values(targets[:, None], ["y"], what="y")
        self.coef_ = self._fit(X, targets, self._weights(sample_weight, len(targets)), X_lower, X_upper)
        self.intercept_ = 0.0
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction of the model trained at the center; holes take the center."""
        return self._scores(X)

    def predict_bounds(self, X: Any) -> Array:
        """Return (m, 2): the lowest and highest prediction over all completions of the training table.

        Guarantee: the exact minimiser w of the training problem of *every* completion has
        ``lower <= x.w <= upper``. It speaks of completions inside the intervals, not of values outside them,
        and not of noise in y.
        """
        return self._score_bounds(X)


def _refuse_nan_labels(y: NDArray[Any]) -> None:
    missing = np.array([value is None or value != value for value in y.tolist()], dtype=bool)
    if missing.any():
        rows = np.flatnonzero(missing)
        raise ValueError(
            f"Input y contains NaN: row {rows[0]} has no label ({len(rows)} row(s) in all). Drop these rows."
        )
