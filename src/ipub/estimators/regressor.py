"""Regression with certified bounds."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import check_array, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions

from ipub.data.label_uncertainty import LabelUncertainty
from ipub.data.validation import check_values
from ipub.engine.rows import Rows
from ipub.estimators.linear_model import BoundedLinearModel
from ipub.losses import LOSSES, Huber, Loss
from ipub.rounding import LARGEST, Array, midpoint_and_radius


class BoundedRegressor(RegressorMixin, BoundedLinearModel):
    """Linear regression with certified bounds over all fillings of the holes in its training table.

    Minimises ``sum_i s_i loss(y_i, x_i.w + b) / sum_i s_i + alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``
    with every hole at the middle of its interval, and bounds the prediction of the model trained on *any*
    filling of the holes inside their intervals.

    Parameters
    ----------
    loss : {"squared_error", "huber"}, default="squared_error"
        ``(y - t)^2``; or, with d = abs(y - t), ``d^2 / 2`` for d up to `huber_delta` and
        ``huber_delta (d - huber_delta / 2)`` beyond: a target far off pulls no more than by `huber_delta`.
    alpha : float, default=0.1
        Strength of the penalty. ``Ridge(alpha=a)`` has ``alpha = 2 a / n``; ``ElasticNet(alpha=a)`` has
        ``alpha = 2 a``, with the same `l1_ratio`. ``HuberRegressor`` of scikit-learn estimates a scale of the noise
        as well, so it minimises something else.
    l1_ratio, fit_intercept, certificate, intervals, interval_level, scale, precision, handle_unknown, tol, max_iter,
    random_state, verbose
        As in `BoundedClassifier`.
    huber_delta : float, default=1.0
        Where ``loss="huber"`` turns from a parabola into lines, in units of y; other losses do not use it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The model trained at the center.
    coef_bounds_ : array of shape (n_features, 2)
        Bounds of each weight over all completions.
    intercept_ : float
    intercept_bounds_ : array of shape (2,)
        Bounds of the intercept over all completions.
    certificate_ : Certificate
        What was certified, and how.
    fill_values_ : array of shape (n_features,)
        What holes of a test row take in `predict`.
    hole_ranges_ : array of shape (n_features, 2)
        Where holes lie; as in `BoundedClassifier`.
    precision_, scaling_, encoder_
        As in `BoundedClassifier`.
    dual_gap_ : float
        Duality gap at the center; see `BoundedClassifier`.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoundedLinearModel._parameter_constraints,
        "loss": [StrOptions({name for name, loss in LOSSES.items() if loss.task == "regression"})],
        "huber_delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        alpha: float = 0.1,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        certificate: str = "tight",
        intervals: Any = "quantile",
        interval_level: float = 0.9,
        scale: str | None = None,
        precision: Any = None,
        handle_unknown: str = "error",
        tol: float = 1e-8,
        max_iter: int = 1000,
        huber_delta: float = 1.0,
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
        self.precision = precision
        self.handle_unknown = handle_unknown
        self.tol = tol
        self.max_iter = max_iter
        self.huber_delta = huber_delta
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _loss(self) -> Loss:
        return Huber(self.huber_delta) if self.loss == Huber.name else super()._loss

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"y_lower": True, "y_upper": True}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_lower: ArrayLike | None = None,
        X_upper: ArrayLike | None = None,
        y_lower: ArrayLike | None = None,
        y_upper: ArrayLike | None = None,
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
        y_lower, y_upper : arrays of shape (n_rows,), optional
            Bounds of each target, finite: of a rounded, a censored or an unknown one. y must lie between them, or be
            NaN. The model is trained at their middle, and bounds hold for all targets between them as well.
        """
        self._certify(*map(self._train, self._read_models(X, y, sample_weight, X_lower, X_upper, y_lower, y_upper)))
        return self

    def _read_models(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_lower: ArrayLike | None = None,
        X_upper: ArrayLike | None = None,
        y_lower: ArrayLike | None = None,
        y_upper: ArrayLike | None = None,
    ) -> list[Rows]:
        """Read what `fit` takes; return the rows of the one model to train."""
        y, radius = self._read_target_bounds(y, y_lower, y_upper)
        rows = self._read_rows(X, y, sample_weight, X_lower, X_upper)[0]
        if radius is not None and radius.any():
            rows = rows.with_doubt(LabelUncertainty(radius, np.zeros(len(radius))))
        return [rows]

    def _read_target_bounds(
        self, y: Any, y_lower: ArrayLike | None, y_upper: ArrayLike | None
    ) -> tuple[Any, Array | None]:
        """Return the middle of each target's interval and its radius; y as it is, and None, without intervals."""
        if (y_lower is None) != (y_upper is None):
            raise ValueError("y_lower and y_upper go together: give both or neither.")
        if y_lower is None or y_upper is None:
            return y, None
        low, high = (
            check_array(column_or_1d(end, warn=True), dtype=float, ensure_2d=False, ensure_all_finite=False)
            for end in (y_lower, y_upper)
        )
        if len(low) != len(high):
            raise ValueError(f"y_lower has {len(low)} rows, y_upper {len(high)}.")
        for end, what in ((low, "y_lower"), (high, "y_upper")):
            wrong = np.flatnonzero(~(np.abs(end) <= LARGEST))
            if len(wrong):
                raise ValueError(f"{what} is {end[wrong[0]]} in row {wrong[0]}: give a finite bound for every target.")
        crossed = np.flatnonzero(low > high)
        if len(crossed):
            i = crossed[0]
            raise ValueError(f"y_lower is {low[i]} and y_upper {high[i]} in row {i}: swap them, or correct them.")
        if y is not None:
            given = check_array(column_or_1d(y), dtype=float, ensure_2d=False, ensure_all_finite=False)
            if len(given) != len(low):
                raise ValueError(f"y has {len(given)} rows, y_lower and y_upper {len(low)}.")
            outside = np.flatnonzero((given < low) | (given > high))
            if len(outside):
                i = outside[0]
                raise ValueError(f"y is {given[i]} in row {i}, not between its bounds {low[i]} and {high[i]}.")
        return midpoint_and_radius(low, high)

    def _read_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        X_lower: ArrayLike | None,
        X_upper: ArrayLike | None,
        reset: bool = True,
    ) -> tuple[Rows, Array]:
        """Read what `fit` takes; return the rows and their weights."""
        data = self._read_training_data(X, X_lower, X_upper, reset)
        labels = self._read_labels(y, data.shape[0])
        targets = check_array(labels, dtype=float, ensure_2d=False, input_name="y")
        check_values(targets[:, None], ["y"], what="y")
        weight = self._read_weights(sample_weight, data.shape[0])
        return self._rows(X, data, targets, weight), weight

    def _keep(self, coef: Array, intercept: Array) -> None:
        self.coef_, self.intercept_ = coef[0], float(intercept[0])

    def predict(self, X: Any) -> Array:
        """Return the prediction of the model trained at the center; holes take the center."""
        return np.asarray(self._read_filled_rows(X) @ self.coef_ + self.intercept_)

    def predict_bounds(self, X: Any) -> Any:
        """Return (m, 2): the lowest and highest prediction over all completions of the training table.

        Guarantee: the exact minimiser (w, b) of the training problem of *every* completion has
        ``lower <= x.w + b <= upper``, whatever the holes of the row x itself are: these lie in the intervals of
        their columns too, or in those of an `IntervalMatrix`. It speaks of completions inside the intervals, not of
        values outside them, and of doubt about y only as far as it was stated.
        """
        return self._output(self._score_bounds(X), X)
