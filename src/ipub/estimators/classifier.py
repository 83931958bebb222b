"""Classification with certified bounds."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from ipub.data.frames import is_missing
from ipub.data.interval_matrix import Indices
from ipub.data.label_uncertainty import LabelUncertainty
from ipub.engine import MemoryRows, Rows, one_class_against_rest, with_wrong_labels
from ipub.estimators.inputs import labels_of
from ipub.estimators.linear_model import BoundedLinearModel, loss_constraints
from ipub.losses import LOSSES
from ipub.rounding import LARGEST, Array, down, overflow_means_unbounded, sum_error, sum_upper, up


def _has_probability(estimator: BoundedClassifier) -> bool:
    if not LOSSES[estimator.loss].has_probability:
        raise AttributeError(f"probabilities are not available for loss={estimator.loss!r}; use loss='log_loss'.")
    return True


FOR, AGAINST = -1.0, -2.0
"""In place of the number of a class: of either entry of a row of unknown class."""


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
        **BoundedLinearModel._parameter_constraints,
        **loss_constraints("classification"),
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
        self._certify(*map(self._train, self._read_models(X, y, sample_weight, X_lower, X_upper)))
        return self

    def _read_models(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_lower: ArrayLike | None = None,
        X_upper: ArrayLike | None = None,
    ) -> list[Rows]:
        """Read what `fit` takes; return the rows of each model to train: one, or one for each of several classes."""
        rows = self._read_rows(X, y, sample_weight, X_lower, X_upper)[0]
        if len(self.classes_) == 2:
            return [rows]
        return [one_class_against_rest(rows, k, always=FOR) for k in range(len(self.classes_))]

    def _read_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        X_lower: ArrayLike | None,
        X_upper: ArrayLike | None,
        reset: bool = True,
    ) -> tuple[Rows, Array]:
        """Read what `fit` takes; return the rows and their weights, those of the classes included.

        The target of a row is -1 or 1; with more than two classes, the number of its class.
        """
        data = self._read_training_data(X, X_lower, X_upper, reset)
        unknown = self._unknown(y, data.shape[0])
        advice = "Drop these rows, or set unknown_labels=True: bounds then hold for either class."
        known = np.flatnonzero(~unknown)
        labels = self._read_labels(np.array(labels_of(y)[known].tolist()) if unknown.any() else y, len(known), advice)
        weight = self._read_weights(sample_weight, data.shape[0])
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        self.classes_, classes = _classes(labels)
        numbers = classes
        if len(known) < len(unknown):
            numbers = np.zeros(len(unknown), dtype=np.intp)
            numbers[known] = classes
        if self.class_weight is not None:
            weight = weight * self._class_factors(numbers, weight)[numbers]
        counts = np.bincount(numbers[(weight > 0.0) & ~unknown], minlength=len(self.classes_))
        if np.count_nonzero(counts) < 2:
            which = ", ".join(map(str, self.classes_[counts > 0])) or "none"
            raise ValueError(f"y must have two classes, but all rows that count are of one class, {which}.")
        if not counts.all():
            which = self.classes_[np.argmin(counts)]
            raise ValueError(f"All rows of class {which} have the weight zero: leave them out.")
        targets = np.asarray(2 * numbers - 1 if len(self.classes_) == 2 else numbers, dtype=float)
        rows = self._rows(X, data, targets, weight)
        if self.max_label_errors:
            self._check_label_errors(bool(unknown.any()))
            rows = with_wrong_labels(rows, int(self.max_label_errors))
        return (self._of_either_class(rows, np.flatnonzero(unknown)) if unknown.any() else rows), weight

    def _check_label_errors(self, unknown: bool) -> None:
        if len(self.classes_) > 2:
            raise ValueError(
                f"max_label_errors is for two classes, but y has {len(self.classes_)}: a wrong label has no one class "
                "to be of instead. Set it to 0, or bound one class against the others."
            )
        if self.class_weight is not None:
            raise ValueError("With max_label_errors a row has no class to take a weight from: leave out class_weight.")
        if unknown:
            raise ValueError(
                "max_label_errors and labels that are NaN or None do not go together: drop these rows, or set "
                "max_label_errors to 0."
            )

    def _unknown(self, y: Any, n_rows: int) -> NDArray[np.bool_]:
        """Return which labels are unknown, and may be."""
        values = labels_of(y)
        if not self.unknown_labels or values.shape != (n_rows,) or values.dtype.kind not in "fO":
            return np.zeros(n_rows, dtype=bool)
        unknown = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
        if unknown.any() and self.class_weight is not None:
            raise ValueError("With unknown_labels a row has no class to take a weight from: leave out class_weight.")
        if unknown.all():
            raise ValueError("Every label is unknown: at least one row of each class is needed.")
        return unknown

    def _of_either_class(self, rows: Rows, unknown: Indices) -> Rows:
        """Enter rows of unknown class twice, for and against each class, each with half its weight (section 13)."""
        if not isinstance(rows, MemoryRows):
            raise ValueError("Rows of unknown class are not read from a file: load the table into memory first.")
        n = rows.n_rows
        twice = np.concatenate([np.arange(n), unknown])
        share = np.zeros(len(twice))
        share[unknown], share[n:] = 1.0, 1.0
        y, weight = rows.y[twice], rows.weight[twice] * np.where(share > 0.0, 0.5, 1.0)
        inside, outside = (1.0, -1.0) if len(self.classes_) == 2 else (FOR, AGAINST)
        y[unknown], y[n:] = inside, outside
        pairs = np.column_stack([unknown, np.arange(n, len(twice))])
        return MemoryRows(rows.matrix.take(twice), y, weight, LabelUncertainty(np.zeros(len(twice)), share, pairs))

    def _keep(self, coef: Array, intercept: Array) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def _class_factors(self, numbers: NDArray[np.intp], weight: Array) -> Array:
        """Return the factor of each class, as scikit-learn has it; "balanced" is of the weighted rows."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if self.class_weight == "balanced":
            totals = np.bincount(numbers, weight, minlength=len(self.classes_))
            return np.asarray(totals.sum() / (len(totals) * np.where(totals > 0.0, totals, 1.0)))
        factors = compute_class_weight(dict(self.class_weight), classes=self.classes_, y=self.classes_)
        for label, factor in zip(self.classes_, factors, strict=True):
            if not 0.0 <= factor <= LARGEST:
                raise ValueError(f"The class_weight of {label} is {factor}: it must be from 0 to {LARGEST:g}.")
        return np.asarray(factors, dtype=float)

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row under the model trained at the center; holes take the center.

        Shape (m,), of ``classes_[1]``; with more than two classes (m, n_classes), of each class against the others.
        """
        scores = np.asarray(self._read_filled_rows(X) @ self.coef_.T + self.intercept_)
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
        scores = self._score_bounds(X)
        low, high = self._loss.link_range(scores[..., 0], scores[..., 1])
        bounds = np.stack([low, high] if scores.ndim == 2 else share_bounds(low, high), axis=-1)
        return self._output(bounds, X)

    def predict_set(self, X: Any) -> Any:
        """Return (m, n_classes): whether some completion may give the label; one True in a row means certain.

        With more than two classes a label is ruled out if its highest score is below the lowest of another.
        """
        return self._output(possible_labels(self._score_bounds(X)), X, [str(label) for label in self.classes_])


def _classes(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Return the different labels, sorted, and which of them each is; two whole numbers need no sorting."""
    if labels.dtype.kind in "iuf" and len(labels):
        first, last = labels.min(), labels.max()
        is_last = labels == last
        if first != last and first == int(first) and last == int(last) and (is_last | (labels == first)).all():
            return np.array([first, last], dtype=labels.dtype), is_last.astype(np.intp)
    check_classification_targets(labels)
    return np.unique(labels, return_inverse=True)


def possible_labels(scores: Array) -> NDArray[np.bool_]:
    """Return (m, n_classes): which labels bounds of the scores leave possible."""
    if scores.ndim == 2:
        return np.column_stack([scores[:, 0] <= 0.0, scores[:, 1] >= 0.0])
    return np.asarray(scores[..., 1] >= scores[..., 0].max(axis=1, keepdims=True))


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
