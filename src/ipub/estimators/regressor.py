"""Regression with certified bounds."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context

from ipub.estimators.lazy import lazy_on_dask
from ipub.estimators.linear_model import CONSTRAINTS, BoundedLinearModel, loss_constraints, takes_former_parameters
from ipub.estimators.outputs import like_input
from ipub.numeric.rounding import Array
from ipub.training.reading.sources import labels_to_score


class BoundedRegressor(RegressorMixin, BoundedLinearModel):
    """Linear regression with certified bounds for training tables with missing values.

    The missing values ("holes") of the training table are unknown, but each is assumed to lie in an interval. `fit`
    trains one model, with every hole at the middle of its interval ("the center"), by minimising

    ``sum_i s_i loss(y_i, x_i.w + b) / sum_i s_i + alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``

    with weights s of the rows, and computes bounds that hold for the models trained, to their exact optimum, on *every*
    filling of the holes inside their intervals. No other model is trained.

    Parameters
    ----------
    loss : {"squared_error", "huber"}, default="squared_error"
        ``(y - t)^2`` for a prediction t; or, with r = abs(y - t), ``r^2 / 2`` for r up to `huber_delta` and
        ``huber_delta (r - huber_delta / 2)`` above, so that outliers in y have less influence.
    alpha : float, "1se" or "min", default=0.1
        Strength of the penalty. A stronger penalty gives narrower bounds and a less accurate model. Cross-validation
        picks one with ``"1se"`` or ``"min"``, as in `BoundedClassifier`. The same model as
        ``Ridge(alpha=a)`` on n rows has ``alpha = 2 a / n``, the same as ``ElasticNet(alpha=a)`` has ``alpha = 2 a``
        and its `l1_ratio`. ``HuberRegressor`` also estimates a scale of the noise, so it is another model.
    l1_ratio, fit_intercept, certificate, effort, intervals, scale, uncertainty, tol, max_iter,
    random_state, verbose
        As in `BoundedClassifier`.
    huber_delta : float, default=1.0
        Residual at which ``loss="huber"`` turns from quadratic to linear, in units of y. Other losses do not use it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the model trained at the center.
    coef_bounds_ : array of shape (n_features, 2)
        Bounds of each weight over all fillings.
    intercept_ : float
    intercept_bounds_ : array of shape (2,)
        Bounds of the intercept over all fillings.
    certificate_ : Certificate
        What was certified, and how.
    alpha_path_ : DataFrame or None
        As in `BoundedClassifier`, with ``r2`` in place of ``accuracy``.
    fill_values_ : array of shape (n_features,)
        Values that `predict` uses for holes of a test row.
    alpha_, alpha_choice_, hole_ranges_, interval_report_, conditional_intervals_, precision_, scaling_, encoder_,
    training_, dual_gap_, n_iter_, n_features_in_, feature_names_in_
        As in `BoundedClassifier`.

    Notes
    -----
    If `fit` fails or is interrupted, the estimator stays as it was; parameters must not change after it, but for those
    that `BoundedClassifier` names.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**CONSTRAINTS, **loss_constraints("regression")}

    @takes_former_parameters
    def __init__(
        self,
        loss: str = "squared_error",
        *,
        alpha: float | str = 0.1,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        certificate: str | None = "tight",
        effort: float = 1.0,
        intervals: Any = "quantile",
        scale: str | None = None,
        uncertainty: Any = "worst",
        tol: float = 1e-8,
        max_iter: int = 1000,
        huber_delta: float = 1.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss, self.alpha, self.l1_ratio, self.fit_intercept = loss, alpha, l1_ratio, fit_intercept
        self.certificate, self.effort, self.uncertainty = certificate, effort, uncertainty
        self.intervals, self.scale = intervals, scale
        self.tol, self.max_iter, self.huber_delta = tol, max_iter, huber_delta
        self.random_state, self.verbose = random_state, verbose

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
        """Train with every hole at the middle of its interval, and certify.

        Bounds of a table in memory with up to four million numbers are proved at the first request (`certificate_`,
        bounds of weights or rows, a pickle, a file), of a copy of the table: searches for parameters only train.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or IntervalMatrix of shape (n_rows, n_features)
            NaN are the holes; see `BoundedClassifier.fit`.
        y : array of shape (n_rows,)
            Targets.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows; a row of weight 0 counts nowhere.
        X_lower, X_upper : arrays of shape (n_rows, n_features), optional
            Bounds of each cell, equal to X where X is observed.
        y_lower, y_upper : arrays of shape (n_rows,), optional
            Finite bounds of each target, if some are rounded, censored or unknown. y must lie between them, or be NaN.
            The model is trained at their middle, and bounds hold for all targets between them.

        Returns
        -------
        BoundedRegressor
            The estimator itself. If an error is raised, it is as it was before.
        """
        return self._fit(X, y, sample_weight, X_lower, X_upper, y_lower, y_upper)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2 of the model trained at the center.

        If X is in files, y and `sample_weight` may be names of its columns.
        """
        y, sample_weight = labels_to_score(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    @lazy_on_dask
    def predict(self, X: Any) -> Array:
        """Return the prediction of each row by the model trained at the center; holes take `fill_values_`."""
        return like_input(self._scores(self.training_, X)[:, 0], X)  # type: ignore[no-any-return]

    @lazy_on_dask
    def predict_bounds(self, X: Any) -> Any:
        """Return (m, 2): bounds of the prediction of each row over all fillings of the holes.

        Guarantee (of ``uncertainty="worst"``; for others it is ``certificate_.promise``): for *every* filling of the
        training table inside the intervals, the exact minimiser (w, b) of its training problem has
        ``lower <= x.w + b <= upper``. Holes of the row x itself may take any value in the
        intervals of their columns, or in those of an `IntervalMatrix`. Nothing is said about values outside the
        intervals, nor about errors in y beyond `y_lower` and `y_upper` of `fit`.
        """
        return self._output(self._score_bounds(self.training_, X), X)

    def flip_distance(self, X: Any, threshold: float, of: str = "holes") -> Any:
        """Return (m, 2): how many cells must differ before the prediction of a row can cross a threshold, as a bracket.

        As `BoundedClassifier.flip_distance`: the first column is proved, the second was found by retraining.

        Parameters
        ----------
        X : array or DataFrame of shape (m, n_features)
            Holes of a row may be anything in their intervals, whatever differs: 0 and 0 if they alone change it.
        threshold : float
            In the units of the target.
        of : {"holes", "wrong_cells"}, default="holes"
            Missing values of the training table that differ from the filled-in ones, or observed cells that are wrong.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 3))
        >>> y = X[:, 0] + X[:, 1]
        >>> X[rng.random(X.shape) < 0.1] = np.nan
        >>> reg = BoundedRegressor(alpha=0.1).fit(X, y)
        >>> certified, found = reg.flip_distance([[0.2, 0.1, 0.0]], threshold=0.1)[0]
        >>> bool(1 < certified <= found)
        True
        """
        from ipub.answers.flips import flip_distance

        training = self.training_
        rows = self._uncertain_rows(training, X)
        distance = flip_distance(training, rows, of, self.verbose, self.effort, float(threshold))
        return self._output(np.column_stack(distance), X, ["certified", "found"])
