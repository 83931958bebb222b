"""Bounds for a linear model that scikit-learn has already trained."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions, validate_params

from ipub.certificates import CERTIFICATES, TrainedModel
from ipub.errors import IpubError, warn_user
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.estimators.fitted_state import keep_training
from ipub.estimators.linear_model import CONSTRAINTS, parameters_of
from ipub.estimators.sklearn_models.classes import refuse, split
from ipub.estimators.sklearn_models.models import FittedModel, read_model
from ipub.estimators.sklearn_models.steps import Steps, read_steps
from ipub.losses import LOSSES
from ipub.numeric.rounding import Array, overflow_means_unbounded, up
from ipub.problem.objective import Evaluation, Problem
from ipub.problem.solvers import Solution, solve
from ipub.promises import Budget, Draws
from ipub.rows import MemoryRows, Rows
from ipub.tables.frames import is_frame
from ipub.tables.holes import IntervalWarning
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.validation import column_label
from ipub.training import Training, certify_as_promised, certify_models, problem_of
from ipub.training.filled import Source, certify_filled
from ipub.training.reading import Columns, Expected, LearntTable, Parameters, TrainingData, read_training_data
from ipub.training.training import GivenTable

LARGE_GAP = 1e-3
"""Relative duality gap above which a warning says that a model is badly trained."""

_DATA = ("model", "X", "y", "sample_weight", "X_lower", "X_upper")
_OPTIONS = ("certificate", "intervals", "interval_level", "uncertainty")


@validate_params(
    {
        **dict.fromkeys(_DATA, "no_validation"),
        **{name: CONSTRAINTS[name] for name in _OPTIONS},
        "certificate": [StrOptions(set(CERTIFICATES))],
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
    interval_level: float | None = None,
    uncertainty: Any = "worst",
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
) -> BoundedClassifier | BoundedRegressor:
    """Bound the predictions of a trained scikit-learn model over all fillings of the holes in its training table.

    The bounds contain the prediction of the same model trained, to its exact optimum, on *any* filling of the holes
    inside their intervals. Nothing is retrained: the bounds start from the weights of the model. (Those of a model with
    the hinge loss start from a model that is trained here, because scores exactly at the kink of the hinge do not show
    whether weights are optimal.) If the model is not fully trained, the bounds are wider, but still valid; a
    `ConvergenceWarning` says so if it is far from its optimum.

    Parameters
    ----------
    model : fitted model, or Pipeline that ends in one
        `LogisticRegression`, `Ridge`, `ElasticNet`, `SVC` with ``kernel="linear"``, or `LinearSVC` with
        ``fit_intercept=False``. Classifiers must have two classes, and the penalty an L2 part. Steps before the model
        may be `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`, `SimpleImputer`, `KNNImputer` and
        `IterativeImputer`. The first step may be a `ColumnTransformer` of these and of `OneHotEncoder` after a
        `SimpleImputer`, trained on a DataFrame: a missing category may then be any level of the encoder. A scaler is
        taken as fixed: bounds are for models trained on fillings scaled by *this* scaler. Any other model or step
        raises an error that says why and what to use instead.
    X : array, DataFrame or IntervalMatrix of shape (n_rows, n_features)
        The training table of the model, as the model or pipeline takes it, but with NaN where a value is missing,
        whatever value was used there in training.
    y : array of shape (n_rows,)
        The labels or targets that the model was trained on.
    sample_weight : array of shape (n_rows,), optional
        The weights that the model was trained with. Class weights are read from the model.
    certificate, intervals, uncertainty
        As in `BoundedClassifier`; `intervals` in the units of X. A `Budget` without a filling of its own starts from
        what the imputer of the pipeline fills in. `Draws` trains a model of the same kind on each draw.
    interval_level : float, optional
        Former name of the level of `Intervals`.
    X_lower, X_upper : arrays of shape (n_rows, n_features), optional
        Bounds of each cell in the units of X, equal to X where X is observed.

    Returns
    -------
    BoundedClassifier or BoundedRegressor
        With the weights and the intercept of the model, and with the `alpha` that makes the objective the same. Its
        methods take rows in the units of X and scale them as the pipeline does. Calling its `fit` trains a new model,
        without the scaling.

    Warns
    -----
    ConvergenceWarning
        If the relative duality gap of the model is above 0.001: it is far from the optimum of its training problem. If
        X has holes and no imputer in the pipeline says how they were filled: only if it is far from the optimum of
        every filling.
    IntervalWarning
        If an imputer has filled a hole with a value outside its interval: the bounds do not include such fillings.

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
    >>> clf.predict_set([[12.0, 250.0, 0.0], [10.0, 200.3, 0.0]])
    array([[False,  True],
           [ True,  True]])
    """
    before, last = split(model)
    fitted, steps = read_model(last, y), read_steps(before)
    if steps.encoder is not None and not is_frame(X):
        raise IpubError("The model's ColumnTransformer was trained on a DataFrame: give X as a DataFrame.")
    kind: Any = BoundedClassifier if LOSSES[fitted.loss].task == "classification" else BoundedRegressor
    estimator = kind(
        fitted.loss,
        l1_ratio=fitted.l1_ratio,
        fit_intercept=fitted.fit_intercept,
        certificate=certificate,
        intervals=intervals,
        interval_level=interval_level,
        uncertainty=uncertainty,
        **({} if fitted.class_weight is None else {"class_weight": fitted.class_weight}),
    )
    if not isinstance(uncertainty, str):
        uncertainty.check()
    if isinstance(X, np.memmap) and before:
        X = np.asarray(X)
    first = [*before, last][0]
    columns = Columns(kind, first.n_features_in_, getattr(first, "feature_names_in_", None), steps.encoder)
    expected = Expected(columns, steps.scaling)
    data = read_training_data(parameters_of(estimator), X, y, sample_weight, X_lower, X_upper, expected=expected)
    if data.classes is not None and not np.array_equal(data.classes, fitted.classes):
        refuse(last, f"it was trained on the classes {fitted.classes}, but y has {data.classes}.")
    estimator.set_params(alpha=fitted.alpha_of(math.fsum(data.weight)))
    source = (X, X_lower, X_upper)
    keep_training(estimator, _certified(parameters_of(estimator), data, fitted, steps, source))
    return estimator  # type: ignore[no-any-return]


def _certified(
    parameters: Parameters, data: TrainingData, fitted: FittedModel, steps: Steps, source: Source
) -> Training:
    """Certify a model from its own weights; warn if they are far from the optimum."""
    coef = steps.encoded(fitted.coef)
    w = np.append(coef, fitted.intercept) if fitted.fit_intercept else coef
    (rows,) = data.rows
    problem = problem_of(parameters, rows)
    solution = _reference(problem, w)
    filling = _filling(data.table, steps, source[0], rows)
    training = _training(parameters, data, TrainedModel(problem, solution), filling, source)
    at = _evaluation(problem, w, solution)
    training = replace(
        training,
        coef=coef[None],
        intercept=np.array([fitted.intercept]),
        dual_gap=at.gap,
        given=GivenTable(*source) if isinstance(rows, MemoryRows) else None,
    )
    if filling is not None:
        trained = problem_of(parameters, filling)
        at = _evaluation(trained, w, _reference(trained, w))
    guessed = filling is None and rows.count_uncertain() > 0
    if at.relative_gap > LARGE_GAP and (not guessed or _is_outside(training)):
        _warn_far(problem, w, at, guessed)
    return training


def _training(
    parameters: Parameters, data: TrainingData, model: TrainedModel, filling: MemoryRows | None, source: Source
) -> Training:
    """Certify a model, or what the parameter `uncertainty` asks for around it."""
    uncertainty = parameters.uncertainty
    if isinstance(uncertainty, Budget):
        table = None if filling is None else np.asarray(filling.matrix.table, dtype=float)
        w = model.solution.w
        return certify_filled(parameters, data, uncertainty, source, table, lambda problem: _reference(problem, w))
    if isinstance(uncertainty, Draws):
        return certify_as_promised(parameters, data, *source)
    return certify_models(parameters, data, (model,))


def _reference(problem: Problem, w: Array) -> Solution:
    """Return a solution to certify from: w with its own dual point, if the loss is smooth."""
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


def _filling(table: LearntTable, steps: Steps, X: Any, rows: Rows) -> MemoryRows | None:
    """Return the rows that the model was trained on, if an imputer fills the holes; warn if outside its interval."""
    if not steps.transformers or isinstance(X, IntervalMatrix) or not isinstance(rows, MemoryRows):
        return None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            read = table.columns.values(X) if steps.encoder is None else None
            filled = steps.transform(X if read is None else np.array(read, dtype=float))
    except (TypeError, ValueError):  # the steps cannot take the table with its holes
        return None
    _compare(table, steps, filled, rows)
    if not steps.imputes:
        return None
    in_row, columns, centers, radii = rows.matrix.cells(slice(0, rows.n_rows))
    outside = np.flatnonzero(np.abs(filled[in_row, columns] - centers) > up(radii))
    if len(outside):
        counts = {"n_outside": len(outside), "n": len(columns)}
        first = {"row": int(in_row[outside[0]]), "column": column_label(columns[outside[0]], table.names)}
        text = (
            "{n_outside} of {n} holes were filled in training with a value outside their interval (the first: {row}, "
            "column {column}). The bounds hold for fillings inside the intervals, and this model was trained on none "
            "of them: widen the intervals, or fill inside them."
        )
        warn_user(IntervalWarning(text, **counts, **first))
    return MemoryRows(IntervalMatrix.from_bounds(filled, filled), rows.y, rows.weight)


def _compare(table: LearntTable, steps: Steps, seen: Array, rows: MemoryRows) -> None:
    """Raise an error if the steps transform observed values in another way than was read from their parameters."""
    read = rows.matrix.center_rows(slice(0, rows.n_rows)).copy()
    in_row, columns, _, _ = rows.matrix.cells(slice(0, rows.n_rows))
    read[in_row, columns] = np.nan
    for which, levels in rows.matrix.missing_categories.by_category():
        read[np.ix_(rows.matrix.missing_categories.rows[which], levels.columns)] = np.nan
    observed = ~np.isnan(read) & ~np.isnan(seen)
    wrong = observed & ~np.isclose(np.where(observed, seen, 0.0), np.where(observed, read, 0.0), rtol=1e-3, atol=1e-4)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        refuse(
            steps.transformers[0],
            "it, or a step after it, makes {value:g} of {row}, column {column}, which was taken to become "
            "{expected:g}. Transform X first, and give the last step alone.",
            value=float(seen[i, j]),
            row=int(i),
            column=column_label(j, table.names),
            expected=read[i, j],
        )


def _is_outside(training: Training) -> bool:
    """Whether the weights are clearly outside their bounds, so that no filling inside the intervals gives them."""
    coef = training.coef[0]
    weights = np.append(coef, training.intercept)
    low, high = np.concatenate([training.coef_bounds[0], training.intercept_bounds]).T
    beyond = np.maximum(weights - high, low - weights)
    return bool(beyond.max() > LARGE_GAP * np.linalg.norm(coef))


def _warn_far(problem: Problem, w: Array, at: Evaluation, guessed: bool) -> None:
    penalty = problem.penalty
    distance = np.sqrt(2.0 * at.gap / penalty.lam)
    size = np.linalg.norm(w[~penalty.is_free(len(w))])
    effect = (
        f"Bounds start from its weights, so those of a row x may be wider by about {2.0 * distance:.1g} times the norm "
        "of x than necessary."
        if problem.loss.is_smooth
        else "Bounds start from a model trained here, and may not contain what this one predicts."
    )
    where = " at the middle of the intervals, and no filling inside them gives its weights" if guessed else ""
    warn_user(
        f"The model is not the optimum of its training problem: its relative duality gap is {at.relative_gap:.1e}"
        f"{where}. Its weights, of norm {size:.2g}, may be {distance:.1g} away from the optimal ones. {effect} "
        f"Train it with a smaller tol and a larger max_iter, on the same X, y and sample_weight.",
        ConvergenceWarning,
    )
