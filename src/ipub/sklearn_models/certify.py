"""Bounds for a linear model that scikit-learn has already trained."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import validate_params

from ipub.data.frames import is_frame
from ipub.data.holes import IntervalWarning
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.validation import cell_name
from ipub.engine.rows import Block, MemoryRows, Rows, Sums
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES
from ipub.problem import Evaluation, Problem
from ipub.rounding import Array, overflow_means_unbounded, up
from ipub.sklearn_models import Steps, read_model, read_steps, refuse, split
from ipub.solvers import Solution, solve
from ipub.user_warnings import warn_user

FAR = 1e-3
"""Relative duality gap beyond which a model is said to be badly trained."""

_DATA = ("model", "X", "y", "sample_weight", "X_lower", "X_upper")
_OPTIONS = ("certificate", "intervals", "interval_level")


@validate_params(
    {
        **dict.fromkeys(_DATA, "no_validation"),
        **{name: BoundedClassifier._parameter_constraints[name] for name in _OPTIONS},
    },
    prefer_skip_nested_validation=True,
)
def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    certificate: str = "tight",
    intervals: Any = "quantile",
    interval_level: float = 0.9,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
) -> BoundedClassifier | BoundedRegressor:
    """Bound the predictions of a trained scikit-learn model over all fillings of the holes in its training table.

    The bounds contain the prediction of the same model trained, to its exact optimum, on *any* filling of the holes.
    Nothing is trained: a certificate holds for any reference, and the model's weights are the reference. (The hinge is
    the exception. Its optimality is not to be read off scores that lie on its kink, so the bounds of an SVM start from
    a model that is trained here.) What the model's own training left undone makes the bounds wider, never wrong; a
    `ConvergenceWarning` says if it is much.

    Parameters
    ----------
    model : fitted model, or Pipeline that ends in one
        `LogisticRegression`, `Ridge`, `ElasticNet`, `SVC` with ``kernel="linear"``, or `LinearSVC` with
        ``fit_intercept=False``; two classes; with an L2 part in the penalty. Steps before it may be
        `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`, `SimpleImputer`, `KNNImputer` and
        `IterativeImputer`; the first step may be a `ColumnTransformer` of these and of `OneHotEncoder` after a
        `SimpleImputer`, trained on a DataFrame: a missing category is then any level that the encoder knows. What a
        scaler has learnt is taken as fixed: the bounds are for models trained on fillings that *this* scaler has
        scaled. Whatever else is refused, with a reason.
    X : array, DataFrame or IntervalMatrix of shape (n_rows, n_features)
        The table that the model was trained on, in the units that the model or pipeline takes, with NaN where a value
        is missing, whatever it was filled with in training.
    y : array of shape (n_rows,)
        The labels or targets that the model was trained on.
    sample_weight : array of shape (n_rows,), optional
        The weights that the model was trained with; those of the classes are known from the model.
    certificate, intervals, interval_level
        As in `BoundedClassifier`; `intervals` in the units of X.
    X_lower, X_upper : arrays of shape (n_rows, n_features), optional
        Bounds of each cell in the units of X; equal to X where X is observed.

    Returns
    -------
    BoundedClassifier or BoundedRegressor
        With the weights and the intercept of the model, and `alpha` such that it minimises the same. Its methods take
        rows in the units of X and scale them as the pipeline does. Fitting it again trains a model without scaling.

    Warns
    -----
    ConvergenceWarning
        If the model is far from the optimum of its training problem (relative duality gap above 0.001). If X has holes
        and no imputer in the pipeline tells how they were filled: if it is far from that of any filling.
    IntervalWarning
        If an imputer has filled a hole with a value outside its interval: the bounds do not speak of such fillings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ipub import certify
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal([10.0, 200.0, 0.0], [1.0, 50.0, 3.0], size=(300, 3))
    >>> y = X[:, 0] + X[:, 1] / 50.0 > 14.0
    >>> X[:15, 2] = np.nan
    >>> model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1)).fit(X, y)
    >>> clf = certify(model, X, y)
    >>> clf.predict_set([[12.0, 250.0, 0.0], [10.0, 200.0, 0.0]])
    array([[False,  True],
           [ True,  True]])
    """
    before, last = split(model)
    fitted, steps = read_model(last, y), read_steps(before)
    if steps.encoder is not None and not is_frame(X):
        raise ValueError("The model's ColumnTransformer was trained on a DataFrame: give X as a DataFrame.")
    coef = steps.encoded(fitted.coef)
    kind: Any = BoundedClassifier if LOSSES[fitted.loss].task == "classification" else BoundedRegressor
    estimator = kind(
        fitted.loss,
        l1_ratio=fitted.l1_ratio,
        fit_intercept=fitted.fit_intercept,
        certificate=certificate,
        intervals=intervals,
        interval_level=interval_level,
        **({} if fitted.class_weight is None else {"class_weight": fitted.class_weight}),
    )
    _expect(estimator, [*before, last][0], steps)
    if isinstance(X, np.memmap) and before:
        X = np.asarray(X)
    rows, weight = estimator._read_rows(X, y, sample_weight, X_lower, X_upper, reset=False)
    if fitted.classes is not None and not np.array_equal(estimator.classes_, fitted.classes):
        refuse(last, f"it was trained on the classes {fitted.classes}, but y has {estimator.classes_}.")
    estimator.alpha = fitted.alpha_of(math.fsum(weight))
    problem = estimator._problem(rows)
    w = np.append(coef, fitted.intercept) if fitted.fit_intercept else coef
    solution = _reference(problem, w)
    estimator._certify((problem, solution))
    estimator._keep(coef[None], np.array([fitted.intercept]))
    at = _evaluation(problem, w, solution)
    estimator.dual_gap_ = at.gap
    filling = _filling(estimator, steps, X, rows)
    if filling is not None:
        trained = estimator._problem(filling)
        at = _evaluation(trained, w, _reference(trained, w))
    guessed = filling is None and any(rows.reduce(_count_cells))
    if at.relative_gap > FAR and (not guessed or _is_outside(estimator)):
        _warn_far(estimator, w, at, guessed)
    return estimator  # type: ignore[no-any-return]


def _expect(estimator: Any, first: Any, steps: Steps) -> None:
    """Make an estimator expect the features that a pipeline's first step was trained on, and encode and scale them."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(estimator, name, getattr(first, name))
    estimator.scaling_, estimator.encoder_ = steps.scaling, steps.encoder


def _reference(problem: Problem, w: Array) -> Solution:
    """Return a solution to certify from: w with its own dual point, if the loss has a derivative to tell it."""
    if not problem.loss.is_smooth:
        return solve(problem, start=w)
    with overflow_means_unbounded():
        at = problem.evaluate(w, problem.loss)
    return Solution(w, problem.loss, at.primal, at.dual, at.gap, at.relative_gap, n_iter=0, converged=True)


def _evaluation(problem: Problem, w: Array, solution: Solution) -> Evaluation:
    """Evaluate w against the dual point of a solution."""
    with overflow_means_unbounded():
        dual_w = solution.w if solution.dual_w is None else solution.dual_w
        return problem.evaluate(w, solution.dual_loss, dual_w)


def _filling(estimator: Any, steps: Steps, X: Any, rows: Rows) -> Rows | None:
    """Return the rows that the model was trained on, if an imputer tells; warn of values outside their intervals."""
    if not steps.transformers or isinstance(X, IntervalMatrix) or not isinstance(rows, MemoryRows):
        return None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            read = estimator._read_table(X, reset=False) if steps.encoder is None else None
            filled = steps.transform(X if read is None else np.array(read, dtype=float))
    except (TypeError, ValueError):  # the steps cannot take the table with its holes: they do not tell
        return None
    _compare(estimator, steps, filled, rows)
    if not steps.imputes:
        return None
    in_row, columns, centers, radii = rows.matrix.cells(slice(0, rows.n_rows))
    outside = np.flatnonzero(np.abs(filled[in_row, columns] - centers) > up(radii))
    if len(outside):
        cell = cell_name(in_row[outside[0]], columns[outside[0]], estimator._names())
        warn_user(
            f"{len(outside)} of {len(columns)} holes were filled in training with a value outside their interval "
            f"(the first: {cell}). The bounds speak of fillings inside the intervals, and this model is of none of "
            "them: widen the intervals, or fill inside them.",
            IntervalWarning,
        )
    return MemoryRows(IntervalMatrix.from_bounds(filled, filled), rows.y, rows.weight)


def _compare(estimator: Any, steps: Steps, seen: Array, rows: MemoryRows) -> None:
    """Refuse steps that do something else to what was observed than what was read of them."""
    read = rows.matrix.center_rows(slice(0, rows.n_rows)).copy()
    in_row, columns, _, _ = rows.matrix.cells(slice(0, rows.n_rows))
    read[in_row, columns] = np.nan
    for some, levels in rows.matrix.choices.by_category():
        read[np.ix_(rows.matrix.choices.rows[some], levels.columns)] = np.nan
    known = ~np.isnan(read) & ~np.isnan(seen)
    wrong = known & ~np.isclose(np.where(known, seen, 0.0), np.where(known, read, 0.0), rtol=1e-3, atol=1e-4)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        refuse(
            steps.transformers[0],
            f"it, or a step after it, makes {seen[i, j]:g} of {cell_name(i, j, estimator._names())}, which was taken "
            f"to become {read[i, j]:g}. Transform X first, and give the last step alone.",
        )


def _is_outside(estimator: Any) -> bool:
    """Whether the weights are clearly outside their bounds, so that no filling inside the intervals gives them."""
    coef, bounds = np.ravel(estimator.coef_), estimator.coef_bounds_
    weights = np.append(coef, estimator.intercept_)
    low, high = np.concatenate([bounds, np.reshape(estimator.intercept_bounds_, (1, 2))]).T
    beyond = np.maximum(weights - high, low - weights)
    return bool(beyond.max() > FAR * np.linalg.norm(coef))


def _warn_far(estimator: Any, w: Array, at: Evaluation, guessed: bool) -> None:
    penalty = estimator._penalty()
    distance = np.sqrt(2.0 * at.gap / penalty.lam)
    size = np.linalg.norm(w[~penalty.is_free(len(w))])
    effect = (
        f"Bounds start from its weights, so those of a row x may be wider by about {2.0 * distance:.1g} times the norm "
        "of x than they need be."
        if estimator._loss.is_smooth
        else "Bounds start from a model trained here, and may not contain what this one predicts."
    )
    where = " at the middle of the intervals, and no filling inside them gives its weights" if guessed else ""
    warn_user(
        f"The model is not the optimum of its training problem: its relative duality gap is {at.relative_gap:.1e}"
        f"{where}. Its weights, of norm {size:.2g}, may be {distance:.1g} away from the optimal ones. {effect} "
        f"Train it with a smaller tol and a larger max_iter, on the same X, y and sample_weight.",
        ConvergenceWarning,
    )


def _count_cells(block: Block) -> Sums:
    return (len(block.cell_radii),)
