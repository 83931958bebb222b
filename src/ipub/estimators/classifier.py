"""Classification with certified bounds."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from ipub.answers.certainty import possible_labels
from ipub.estimators.fitted_state import fitted_parameter
from ipub.estimators.lazy import lazy_on_dask
from ipub.estimators.linear_model import CONSTRAINTS, BoundedLinearModel, loss_constraints, takes_former_parameters
from ipub.estimators.outputs import like_input
from ipub.losses import LOSSES, Loss
from ipub.numeric.rounding import Array, down, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.training import Training
from ipub.training.reading.sources import labels_to_score


def _has_probability(estimator: BoundedClassifier) -> bool:
    loss = fitted_parameter(estimator, "loss")
    if not LOSSES[loss].has_probability:
        raise AttributeError(f"probabilities are not available for loss={loss!r}; use loss='log_loss'.")
    return True


class BoundedClassifier(ClassifierMixin, BoundedLinearModel):
    """Linear classifier with certified bounds for training tables with missing values.

    The missing values ("holes") of the training table are unknown, but each is assumed to lie in an interval. `fit`
    trains one model, with every hole at the middle of its interval ("the center"), by minimising

    ``sum_i s_i loss(y_i, x_i.w + b) / sum_i s_i + alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``

    with weights s of the rows, and computes bounds that hold for the models trained, to their exact optimum, on *every*
    filling of the holes inside their intervals. No other model is trained.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "smoothed_hinge"}, default="log_loss"
        With z = 1 - y t for a score t: ``log(1 + exp(-y t))``; ``max(0, z)``; ``max(0, z)^2``; or the hinge with a
        rounded kink, ``z^2 / (2 h)`` for z between 0 and h = `hinge_width`, ``z - h / 2`` above and 0 below.
    alpha : float, "1se" or "min", default=0.1
        Strength of the penalty. A stronger penalty gives narrower bounds and a less accurate model. ``"min"`` takes the
        one of the least held-out loss in 10-fold cross-validation on the filled-in table, where bounds are often wide;
        ``"1se"`` the strongest whose loss is within one standard error of it, and whose accuracy is lower by 0.01 at
        most: narrower bounds, and often slightly worse predictions. See `alpha_path_`. The same model as
        ``LogisticRegression(C=C)`` on n rows has ``alpha = 1 / (n C)``, and so has ``SVC(kernel="linear", C=C)`` with
        ``loss="hinge"``. ``LinearSVC`` penalises its intercept, so it is the same model only without one.
    l1_ratio : float, default=0.0
        Part of the penalty that is l1, from 0 to below 1.
    fit_intercept : bool, default=True
        Whether to fit an intercept b. It is not penalised.
    certificate : {"tight", "sphere", "ball", "slope", "pointwise"} or None, default="tight"
        How bounds are proved. ``"sphere"`` is the sphere around the trained weights of the original paper, ``"ball"``
        a half-ball inside it, ``"slope"`` a bound of how fast the weights move with the cells. ``"tight"`` takes row
        sums where a table is short enough, else slopes where they are nearly exact, else their intersection with the
        half-ball. ``"pointwise"`` is nearly exact, and spends time on every row that is bounded.
        None trains only: predictions are the same, and methods for bounds raise an error.
    effort : float, default=1.0
        Work that ``"pointwise"`` bounds, and `predict_status`, may spend on a row beyond a few retrainings: more of it,
        narrower bounds. The unit is a thousand million multiplications, about 0.5 to 1 s on one core of 2021; they are
        counted by the sizes of tables, not timed, so that bounds do not depend on how fast or busy a machine is. It
        may be changed after `fit`.
    intervals : {"quantile", "observed", "conditional"}, mapping, array of shape (n_features, 2) or Intervals, \
default="quantile"
        Where missing values lie, in the units of X: between quantiles of the observed values of their column, between
        the least and the greatest of them, or as given, ``{column: (low, high)}`` for some columns or an array for
        all. Quantiles are of the rows with a positive weight, each counted once. See `ipub.tables.holes.column_ranges`.
        With ``"conditional"`` each hole has an interval of its own, which follows from the other values of its row by
        conformal quantile regression; labels are not used. If rows are exchangeable and values are missing completely
        at random, each lies in its interval with probability 0.9 or more, in columns with at least 100 observed values
        and more than two different ones; `interval_report_` has the coverage of held-out values. An `ipub.Intervals`
        holds all this with another level than 0.9, and says how precise observed numbers are and what
        becomes of unknown categories.
    scale : {"standard", "minmax"} or None, default=None
        Whether to scale columns: to mean 0 and standard deviation 1, or to the range -1 to 1, of the observed values
        in rows with a positive weight. The scaling is learnt once from the observed values and is the same for every
        filling. `intervals` and all rows stay in the units of X; `coef_` and its bounds belong to the
        scaled columns. A column with one value becomes 0 with "standard" and -1 with "minmax"; columns of categories
        are not scaled.
    uncertainty : "worst", Budget or Draws, default="worst"
        What the bounds are about: every filling of the holes (the worst case); tables that differ from a filled-in one
        in few cells (`ipub.Budget`); or those that an imputer draws (`ipub.Draws`), with a probability.
        ``certificate_.promise`` says which.
        Where "the center" is named below, that is the filled-in table; of `Draws`, the mean of the models of all draws.
        Where "all fillings" are, that is the tables of the promise.
    class_weight : "balanced", mapping or None, default=None
        Factors of the weights of each class's rows: ``{class: factor}``, or such that all classes weigh the same.
    unknown_labels : bool, default=False
        Whether y may have NaN or None. The class of these rows is then unknown, and bounds hold for every choice of it;
        the model at the center is trained on both classes, with half the weight each.
    max_label_errors : int, default=0
        Number of labels of y that may be wrong. Bounds hold even if any so many (or fewer) of them are; for two classes
        only.
    tol : float, default=1e-8
        Relative duality gap at which training stops. Bounds are valid for any value; a large one makes them wider.
    max_iter : int, default=1000
        Greatest number of Newton steps.
    hinge_width : float, default=0.5
        Width of the rounded kink of ``loss="smoothed_hinge"``, in units of the score. Other losses do not use it.
    random_state : int, RandomState or None, default=None
        Seed of `Draws` that have none of their own, and of the choice of the values that conditional intervals are
        learnt from, which with None is always the same. Nothing else is drawn at random.
    verbose : int, default=0
        If positive, show the progress of training and of long computations.

    Attributes
    ----------
    alpha_ : float
        Strength of the penalty that was used.
    alpha_path_ : DataFrame or None
        What cross-validation found of each alpha, from strong to weak: ``alpha``, the mean held-out ``loss`` and its
        standard error ``loss_error``, ``accuracy`` and ``calibration_slope``; None if alpha is a number.
    alpha_choice_ : AlphaChoice or None
        The same as arrays, and how it was done; see `ipub.training.alpha_choice.AlphaChoice`.
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) with more than two classes
        Weights of the model trained at the center; with more than two classes, of each class against the others.
    coef_bounds_ : array of shape (n_features, 2), or (n_classes, n_features, 2)
        Bounds of each weight over all fillings. With ``certificate=None`` there is neither this attribute nor
        `intercept_bounds_`.
    intercept_ : array of shape (1,) or (n_classes,)
    intercept_bounds_ : array of shape (2,) or (n_classes, 2)
        Bounds of the intercept over all fillings, and over all optimal intercepts where there are several.
    certificate_ : Certificate, or a tuple with one for each class
        What was certified, and how; None with ``certificate=None``.
    training_ : Training
        What was read, trained and certified, as one object; see `ipub.training.Training`.
    fill_values_ : array of shape (n_features,)
        Values that `predict` uses for holes of a test row.
    hole_ranges_ : array of shape (n_features, 2)
        Where holes of training and test rows lie, in the units of X. If `fit` was given bounds of each cell, the whole
        range of the column; with conditional intervals, where rows without one of their own have theirs.
    interval_report_ : IntervalReport or None
        How conditional intervals did on held-out values, column by column; ``print`` shows a table.
    conditional_intervals_ : ConditionalIntervals or None
        The quantile regressions.
    precision_ : array of shape (n_features,)
        By how much observed values may be off.
    scaling_ : Scaling or None
        How rows are scaled before the model sees them: as `scale` says, or as `ipub.certify` read it from a pipeline.
    encoder_ : TableEncoder or None
        How a DataFrame with categories becomes a table of numbers. Then n_features in the shapes above counts one for
        each level of a category, and `get_feature_names_out` names them.
    dual_gap_ : float
        Duality gap of the model at the center. With an intercept, which has no dual variable, an estimate of it.
    n_iter_ : int
        Newton steps of the training.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, if it is a DataFrame.

    Notes
    -----
    If `fit` fails or is interrupted, the estimator stays as it was. Parameters that give the fitted model its meaning
    must not change after `fit`: the next call of a method raises `NotFittedError` that names the parameter, until `fit`
    is called again or it is set back. `effort`, `max_iter`, `random_state`, `tol`, `verbose` and `handle_unknown` of
    an `Intervals` may change.

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

    Columns that are related say where missing values of each other lie.

    >>> X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=200)
    >>> X[:5, 2] = np.nan
    >>> report = BoundedClassifier(intervals="conditional").fit(X, y).interval_report_
    >>> bool(report.coverage[2] > 0.85), bool(report.width[2] < 0.2 * report.quantile_width[2])
    (True, True)

    The penalty can be picked by cross-validation, which shows its price.

    >>> picked = BoundedClassifier(alpha="1se").fit(X, X[:, 0] + X[:, 1] > rng.normal(size=200))
    >>> picked.alpha_, list(picked.alpha_path_)
    (0.056, ['alpha', 'loss', 'loss_error', 'accuracy', 'calibration_slope'])

    The class of the first row is certain even if any three (or fewer) of the 200 labels are wrong.

    >>> clf = BoundedClassifier(max_label_errors=3).fit(X, y)
    >>> clf.predict_set([[2.0, 1.0, 0.0]])
    array([[False,  True]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        **loss_constraints("classification"),
        "class_weight": [Mapping, StrOptions({"balanced"}), None],
        "unknown_labels": ["boolean"],
        "max_label_errors": [Interval(Integral, 0, None, closed="left")],
    }

    @takes_former_parameters
    def __init__(
        self,
        loss: str = "log_loss",
        *,
        alpha: float | str = 0.1,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        certificate: str | None = "tight",
        effort: float = 1.0,
        intervals: Any = "quantile",
        scale: str | None = None,
        uncertainty: Any = "worst",
        class_weight: Any = None,
        unknown_labels: bool = False,
        max_label_errors: int = 0,
        tol: float = 1e-8,
        max_iter: int = 1000,
        hinge_width: float = 0.5,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss, self.alpha, self.l1_ratio, self.fit_intercept = loss, alpha, l1_ratio, fit_intercept
        self.certificate, self.effort, self.uncertainty = certificate, effort, uncertainty
        self.intervals, self.scale = intervals, scale
        self.class_weight, self.unknown_labels, self.max_label_errors = class_weight, unknown_labels, max_label_errors
        self.tol, self.max_iter, self.hinge_width = tol, max_iter, hinge_width
        self.random_state, self.verbose = random_state, verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_lower: ArrayLike | None = None,
        X_upper: ArrayLike | None = None,
    ) -> Self:
        """Train with every hole at the middle of its interval, and certify.

        Bounds of a table in memory with up to four million numbers are proved at the first request (`certificate_`,
        bounds of weights or rows, a pickle, a file), of a copy of the table: searches for parameters only train.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or IntervalMatrix of shape (n_rows, n_features)
            NaN are the holes. A DataFrame may have columns of text or categories: each becomes one column of 0 and 1
            for each level, and where it is missing, it may be any level. A ``numpy.memmap`` is streamed from its file
            if neither `scale` nor a precision is set. The path of a Parquet file, or of a folder of them, or a
            ``pyarrow.dataset.Dataset``, may be larger than memory: it is streamed. The rows of a Dask DataFrame or
            array stay on its workers. No copy of a larger table is kept. Of a sparse matrix or array of SciPy, the NaN
            that are stored are the holes; what is not stored is zero.
        y : array of shape (n_rows,), or str
            Labels; if X is in files, the name of their column; if X is a Dask collection, another with the same
            partitions, or the name of a column. With more than two classes, one model is trained for
            each class against the others. NaN or None raises an error unless `unknown_labels` is set.
        sample_weight : array of shape (n_rows,), or str, optional
            Weights of the rows; a row of weight 0 counts nowhere. If X is in files, the name of their column.
        X_lower, X_upper : arrays of shape (n_rows, n_features), optional
            Bounds of each cell, equal to X where X is observed.

        Returns
        -------
        BoundedClassifier
            The estimator itself. If an error is raised, it is as it was before.
        """
        return self._fit(X, y, sample_weight, X_lower, X_upper)

    @lazy_on_dask
    def decision_function(self, X: Any) -> Array:
        """Return the score of each row under the model trained at the center; holes take `fill_values_`.

        Shape (m,): the score of ``classes_[1]``. With more than two classes, (m, n_classes): of each class against the
        others.
        """
        return like_input(self._class_scores(self.training_, X), X)  # type: ignore[no-any-return]

    def _class_scores(self, training: Training, X: Any) -> Array:
        """Return what `decision_function` does, for further computation."""
        scores = self._scores(training, X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the model trained at the center.

        If X is in files, y and `sample_weight` may be names of its columns.
        """
        y, sample_weight = labels_to_score(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    @lazy_on_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row under the model trained at the center.

        With two classes by the sign of the score, with more the label with the highest score.
        """
        scores = self._class_scores(self.training_, X)
        numbers = np.asarray((scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1))
        return like_input(self.classes_[numbers], X)  # type: ignore[no-any-return]

    @available_if(_has_probability)
    @lazy_on_dask
    def predict_proba(self, X: Any) -> Array:
        """Return (m, n_classes): the probability of each class under the model trained at the center.

        With more than two classes, the probabilities of each class against the others are divided by their sum, as in
        scikit-learn's `OneVsRestClassifier`.
        """
        training = self.training_
        scores, link = self._class_scores(training, X), training.loss.link
        if scores.ndim == 1:
            return like_input(np.column_stack([link(-scores), link(scores)]), X)  # type: ignore[no-any-return]
        alone = link(scores)
        total = alone.sum(axis=1, keepdims=True)
        shares = np.where(total > 0.0, alone / np.where(total > 0.0, total, 1.0), 1.0 / len(self.classes_))
        return like_input(shares, X)  # type: ignore[no-any-return]

    @lazy_on_dask
    def decision_bounds(self, X: Any) -> Any:
        """Return (m, 2): bounds of the score of each row over all fillings of the holes.

        With more than two classes, (m, n_classes, 2).

        Guarantee (of ``uncertainty="worst"``; for others it is ``certificate_.promise``): for *every* filling of the
        training table inside the intervals, every exact minimiser (w, b) of its training problem has
        ``lower <= x.w + b <= upper``. Holes of the row x itself may take any value in the
        intervals of their columns, or in those of an `IntervalMatrix`. Nothing is said about values outside the
        intervals, nor about errors in y beyond what `unknown_labels` and `max_label_errors` allow for.
        """
        return self._output(self._score_bounds(self.training_, X), X)

    @available_if(_has_probability)
    @lazy_on_dask
    def predict_proba_bounds(self, X: Any) -> Any:
        """Return (m, 2): bounds of the probability of ``classes_[1]`` over all fillings of the holes.

        With more than two classes, (m, n_classes, 2): bounds of what `predict_proba` defines.
        """
        training = self.training_
        return self._output(probability_bounds(training.loss, self._score_bounds(training, X)), X)

    @lazy_on_dask
    def predict_set(self, X: Any) -> Any:
        """Return (m, n_classes): which labels are possible, as some table of the promise may give them.

        A row with one True is certain: every table of the promise (``certificate_.promise``: of any filling, of a
        budget, or around every draw) gives this label. A label is possible unless the bounds of the
        scores rule it out; `ipub.answers.certainty.possible_labels` states the rule.
        """
        possible = possible_labels(self._score_bounds(self.training_, X))
        return self._output(possible, X, [str(label) for label in self.classes_])

    def predict_status(self, X: Any) -> NDArray[np.str_]:
        """Return (m,): whether each prediction is ``"certain"``, ``"open"`` or ``"unproved"``.

        - ``"certain"``: every filling gives the same class; proved. With another `uncertainty` it is proved for what
          that promises: for every table within a budget, or, with `Draws`, for those around every draw, of which
          ``certificate_.promise`` says what they tell of the true table. The class is that of `predict`, unless
          categories of the training table are missing (then the model of `predict` is trained on no filling), or `tol`
          is large.
        - ``"open"``: two fillings are known that give two classes; `attained_bounds` finds them, or `explain`.
        - ``"unproved"``: neither.

        The status of a row depends on it and the model alone, not on the other rows of X; `explain`, `tipping_points`
        and `report` have the same.

        Certainty takes less than bounds: it is enough that no filling gives the row a score of 0. So rows may be
        certain here that are not by `predict_set`. The work of `effort` is spent only on a row that is neither certain
        by the bounds of ``"tight"`` nor open; fillings that change its class are searched for before.

        Parameters
        ----------
        X : array or DataFrame of shape (m, n_features)

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(100, 2))
        >>> y = X[:, 0] + X[:, 1] > 0
        >>> X[:12, 0] = np.nan
        >>> clf = BoundedClassifier(alpha=0.01).fit(X, y)
        >>> clf.predict_status([[1.0, 1.0], [0.01, 0.0]])
        array(['certain', 'open'], dtype='<U8')
        """
        from ipub.answers.status import prediction_status

        training = self.training_
        return prediction_status(training, self._uncertain_rows(training, X), self.effort, self.verbose)

    def flip_distance(self, X: Any, of: str = "holes") -> Any:
        """Return (m, 2): how many cells or labels must differ before the class of a row can change, as a bracket.

        The first column is proved: if fewer differ, wherever they are, the class is that of the model trained on the
        filled-in table, which is the one that `predict` uses unless the training table has missing categories and was
        not filled in. (It is infinite
        if all of them together cannot change it.) The second was found by a search that retrains: so many do change it.
        (It is infinite if none was found.) The truth is between the two.

        Parameters
        ----------
        X : array or DataFrame of shape (m, n_features)
            Holes of a row may be anything in their intervals, whatever differs: 0 and 0 if they alone change it.
        of : {"holes", "wrong_cells", "labels"}, default="holes"
            Missing values of the training table that differ from the filled-in ones: those of the `Budget`
            of `fit`, or the middle of every interval and the commonest level. Or observed cells that are
            wrong, by up to the precision of the `Budget` of `fit`. Or labels that are wrong, with all cells as filled
            in.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 3))
        >>> y = X[:, 0] + X[:, 1] > 0
        >>> X[rng.random(X.shape) < 0.1] = np.nan
        >>> clf = BoundedClassifier(alpha=0.1).fit(X, y)
        >>> certified, found = clf.flip_distance([[0.2, 0.1, 0.0]])[0]
        >>> bool(1 < certified <= found)
        True
        """
        from ipub.answers.flips import flip_distance

        training = self.training_
        distance = flip_distance(training, self._uncertain_rows(training, X), of, self.verbose, self.effort)
        return self._output(np.column_stack(distance), X, ["certified", "found"])


def probability_bounds(loss: Loss, scores: Array) -> Array:
    """Bound the probability of ``classes_[1]``, or of each class, by bounds of the scores, rounded outward."""
    low, high = loss.link_range(scores[..., 0], scores[..., 1])
    return np.stack([low, high] if scores.ndim == 2 else share_bounds(low, high), axis=-1)


def share_bounds(low: Array, high: Array) -> tuple[Array, Array]:
    """Bound ``p_k / sum_j p_j`` for all p with ``low <= p <= high``, all positive, rounded outward (fp-sums).

    The quotient rises with ``p_k`` and falls with the others.
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
