"""Classification with certified bounds."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from ipub.certainty import possible_labels
from ipub.estimators.fitted_state import fitted_parameter
from ipub.estimators.linear_model import CONSTRAINTS, BoundedLinearModel
from ipub.losses import LOSSES, Loss, SmoothedHinge
from ipub.rounding import Array, down, overflow_means_unbounded, sum_error, sum_upper, up


def _has_probability(estimator: BoundedClassifier) -> bool:
    loss = fitted_parameter(estimator, "loss")
    if not LOSSES[loss].has_probability:
        raise AttributeError(f"probabilities are not available for loss={loss!r}; use loss='log_loss'.")
    return True


class BoundedClassifier(ClassifierMixin, BoundedLinearModel):
    """Linear classifier with certified bounds over all fillings of the holes in its training table.

    Minimises ``sum_i s_i loss(y_i, x_i.w + b) / sum_i s_i + alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``
    with every hole at the middle of its interval, and computes from this one training bounds that hold for
    the model trained on *any* filling of the holes inside their intervals.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "smoothed_hinge"}, default="log_loss"
        ``log(1 + exp(-y t))``; ``max(0, z)`` with z = 1 - y t; ``max(0, z)^2``; or the hinge with its kink rounded
        off: ``z^2 / (2 h)`` for z between 0 and h = `hinge_width`, ``z - h / 2`` beyond, 0 below.
    alpha : float, default=0.1
        Strength of the penalty. ``LogisticRegression(C=C)`` has ``alpha = 1 / (n C)``, as has ``SVC(kernel="linear",
        C=C)`` with ``loss="hinge"``; ``LinearSVC(C=C)``, with the hinge or the
        squared hinge, penalises its intercept.
    l1_ratio : float, default=0.0
        Share of the l1 part, below 1.
    fit_intercept : bool, default=True
        Whether there is an intercept b. It is not penalised.
    certificate : {"tight", "sphere", "ball", "slope", "curvature", "pointwise"}, default="tight"
        How bounds are proved: the paper's sphere, the half-ball, the slope theorem inside it, or slopes where they are
        nearly exact and else the intersection of all. ``"curvature"`` is ``"slope"`` for all losses but the hinge,
        which gets the half-ball.
    intervals : "quantile", "observed", mapping or array of shape (n_features, 2), default="quantile"
        Where missing values lie; see `ipub.data.holes.column_ranges`. A mapping gives ``{column: (low, high)}``.
        Quantiles are of the rows that count (weight not 0), each once.
    interval_level : float, default=0.9
        Share of the observed values inside a quantile interval.
    scale : {"standard", "minmax"} or None, default=None
        Whether columns are scaled inside: to mean 0 and standard deviation 1, or to the range -1 to 1, of the observed
        values of the rows that count. The scaler is part of the model: it is learnt once, from what was observed, and
        is the same for every completion. `intervals`, `precision` and all rows stay in the units of X; `coef_` and
        its bounds are weights of the scaled columns. Columns of one value are only moved, those of categories stay.
    precision : float, mapping or None, default=None
        By how much observed numbers may be off, in the units of X: every observed cell, of training and test rows, is
        then the interval ``value ± precision``. ``{column: number}`` says it for some columns.
    handle_unknown : {"error", "any"}, default="error"
        What a category of a test row that was not there in training is: an error, or any of those that were.
    class_weight : "balanced", mapping or None, default=None
        Factor of the weights of each class's rows: ``{class: factor}``, or such that both classes weigh the same.
    unknown_labels : bool, default=False
        Whether y may be NaN or None: the class of these rows is then unknown, and bounds hold whatever it is. The model
        at the center is trained on both.
    max_label_errors : int, default=0
        How many labels of y, at most, are of the wrong one of two classes. Which ones is not known: bounds hold for
        every choice of them, and every filling of the holes.
    tol : float, default=1e-8
        Relative duality gap at which training stops. Bounds are valid whatever it is.
    max_iter : int, default=1000
        Greatest number of Newton steps.
    hinge_width : float, default=0.5
        Width of the rounded kink of ``loss="smoothed_hinge"``, in units of the score; other losses do not use it.
    random_state : int, RandomState or None, default=None
        For certificates that draw numbers; those that exist do not.
    verbose : int, default=0
        If positive, print the progress of training.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features), or (n_classes, n_features) if there are more than two
        The model trained at the center; of several classes, each against the others.
    coef_bounds_ : array of shape (n_features, 2), or (n_classes, n_features, 2)
        Bounds of each weight over all completions.
    intercept_ : array of shape (1,) or (n_classes,)
    intercept_bounds_ : array of shape (2,) or (n_classes, 2)
        Bounds of the intercept over all completions, and over all best intercepts if there are several.
    certificate_ : Certificate, or tuple of one for each class
        What was certified, and how.
    fill_values_ : array of shape (n_features,)
        What holes of a test row take in `predict`.
    hole_ranges_ : array of shape (n_features, 2)
        Where holes lie, in training rows and in those whose bounds are asked for, in the units of X. (If bounds of
        each training cell were given: the whole range of the column.)
    precision_ : array of shape (n_features,)
        By how much observed values may be off.
    scaling_ : Scaling or None
        How rows are scaled before the model sees them: as `scale` says, or as `ipub.certify` read it off a pipeline.
    encoder_ : TableEncoder or None
        How a frame with categories becomes a table of numbers. All of the above then has one feature for each level,
        and `get_feature_names_out` says which.
    dual_gap_ : float
        Duality gap at the center. An intercept has none: it adds its slope times its size and a Newton step of it,
        an estimate of the same thing.
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
    >>> clf.predict_set([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    array([[False,  True],
           [ True,  True]])

    The first row's class is certain even if any three of the 200 labels are wrong.

    >>> clf = BoundedClassifier(max_label_errors=3).fit(X, y)
    >>> clf.predict_set([[2.0, 1.0, 0.0]])
    array([[False,  True]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "loss": [StrOptions({name for name, loss in LOSSES.items() if loss.task == "classification"})],
        "hinge_width": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [Mapping, StrOptions({"balanced"}), None],
        "unknown_labels": ["boolean"],
        "max_label_errors": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "log_loss",
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
        class_weight: Any = None,
        unknown_labels: bool = False,
        max_label_errors: int = 0,
        tol: float = 1e-8,
        max_iter: int = 1000,
        hinge_width: float = 0.5,
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
        self.class_weight = class_weight
        self.unknown_labels = unknown_labels
        self.max_label_errors = max_label_errors
        self.tol = tol
        self.max_iter = max_iter
        self.hinge_width = hinge_width
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _loss(self) -> Loss:
        return SmoothedHinge(self.hinge_width) if self.loss == SmoothedHinge.name else super()._loss

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
            NaN are the holes. In a DataFrame a column of text or categories becomes one of 0 and 1 for each level;
            where it is missing, it may be any level. A ``numpy.memmap`` is streamed from its file, if neither
            `scale` nor `precision` is set.
        y : array of shape (n_rows,)
            Labels. With more than two classes one model is trained for each class against the others. NaN or None is
            refused, unless `unknown_labels` is set: bounds then hold whatever the class of these rows is.
        sample_weight : array of shape (n_rows,), optional
        X_lower, X_upper : arrays of shape (n_rows, n_features), optional
            Bounds of each cell; equal to X where X is observed.
        """
        return self._fit(X, y, sample_weight, X_lower, X_upper)

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row under the model trained at the center; holes take the center.

        Shape (m,), of ``classes_[1]``; with more than two classes (m, n_classes), of each class against the others.
        """
        scores = np.asarray(self._filled_rows(X) @ self.coef_.T + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row under the model trained at the center; of several, the highest score's."""
        scores = self.decision_function(X)
        numbers = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return (m, n_classes): the probability of each class under the model trained at the center.

        With more than two classes it is the probability of each class against the others, divided by their sum, as in
        scikit-learn's `OneVsRestClassifier`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([self._loss.link(-scores), self._loss.link(scores)])
        alone = self._loss.link(scores)
        total = alone.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0.0, alone / np.where(total > 0.0, total, 1.0), 1.0 / len(self.classes_)))

    def decision_bounds(self, X: Any) -> Any:
        """Return (m, 2): the lowest and highest score over all completions of the training table.

        With more than two classes, (m, n_classes, 2).

        Guarantee: every exact minimiser (w, b) of the training problem of *every* completion has
        ``lower <= x.w + b <= upper``, whatever the holes of the row x itself are: these lie in the intervals of
        their columns too, or in those of an `IntervalMatrix`. It speaks of completions inside the intervals, not of
        values outside them, and of doubt about y only as far as it was stated.
        """
        return self._output(self._score_bounds(X), X)

    @available_if(_has_probability)
    def predict_proba_bounds(self, X: Any) -> Any:
        """Return (m, 2): bounds of the probability of ``classes_[1]`` over all completions.

        With more than two classes, (m, n_classes, 2): bounds of what `predict_proba` defines.
        """
        return self._output(probability_bounds(self._loss, self._score_bounds(X)), X)

    def predict_set(self, X: Any) -> Any:
        """Return (m, n_classes): whether some completion may give the label; one True in a row means certain.

        With more than two classes a label is ruled out if its highest score is below the lowest of another.
        """
        return self._output(possible_labels(self._score_bounds(X)), X, [str(label) for label in self.classes_])


def probability_bounds(loss: Loss, scores: Array) -> Array:
    """Bound probabilities by bounds of the scores, rounded outward.

    Parameters
    ----------
    loss : Loss
        One that has probabilities.
    scores : array of shape (m, 2) or (m, n_classes, 2)
        As from `decision_bounds`.

    Returns
    -------
    array of the same shape
        Bounds of the probability of ``classes_[1]``, or of each class.
    """
    low, high = loss.link_range(scores[..., 0], scores[..., 1])
    return np.stack([low, high] if scores.ndim == 2 else share_bounds(low, high), axis=-1)


def share_bounds(low: Array, high: Array) -> tuple[Array, Array]:
    """Bound ``p_k / sum_j p_j`` for all p with ``low <= p <= high``, all positive, rounded outward (F2).

    The share rises with ``p_k`` and falls with the others.
    """
    n = low.shape[1]
    others = 1.0 - np.eye(n)
    with overflow_means_unbounded(), np.errstate(divide="ignore"):
        most = sum_upper(high @ others, n + 1)
        least = low @ others
        least = np.maximum(0.0, down(least - sum_error(least, n + 1)))
        lower = np.maximum(0.0, down(low / up(low + most)))
        upper = up(high / np.maximum(0.0, down(high + least)))
    return lower, np.fmin(upper, 1.0)
