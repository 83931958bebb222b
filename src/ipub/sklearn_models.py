"""What fitted scikit-learn models minimise, in the terms of the estimators of this package.

Models and steps are known by their class, exactly: a subclass may do something else. Each constant below is
checked in tests: the gradient of the objective vanishes at what scikit-learn trains.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ipub.data.frames import is_missing
from ipub.data.scaling import Scaling
from ipub.rounding import Array

NO_L2 = "its penalty has no L2 part, without which nothing bounds how far a filling moves the weights."
PENALISED_INTERCEPT = (
    "liblinear penalises its intercept. Append a column of ones times intercept_scaling to X and train with "
    "fit_intercept=False, which is the same model, or train {}, whose intercept is free."
)
STOPS_EARLY = "stochastic gradient descent stops before its optimum by design. Train {}."
CROSS_VALIDATED = "it is a search over models. Train {} with the parameters that it found."

REFUSED = {
    "LinearRegression": f"{NO_L2} Train Ridge.",
    "Lasso": f"{NO_L2} Train ElasticNet with l1_ratio below 1.",
    "RidgeClassifier": "its squared loss is that of a regression. Train Ridge on labels -1 and 1: the sign of its "
    "bounds is the class.",
    "HuberRegressor": "it estimates the scale of the noise as well. Fit BoundedRegressor(loss='huber') instead.",
    "LinearSVR": "its loss, insensitive around the target, is not one of this package. Train Ridge.",
    "SVR": "its loss, insensitive around the target, is not one of this package. Train Ridge.",
    "NuSVC": "nu says only indirectly how strong its penalty is. Train SVC(kernel='linear').",
    "SGDClassifier": STOPS_EARLY.format("LogisticRegression or SVC(kernel='linear')"),
    "SGDRegressor": STOPS_EARLY.format("Ridge"),
    "Perceptron": STOPS_EARLY.format("LogisticRegression"),
    "LogisticRegressionCV": CROSS_VALIDATED.format("LogisticRegression"),
    "RidgeCV": CROSS_VALIDATED.format("Ridge"),
    "ElasticNetCV": CROSS_VALIDATED.format("ElasticNet"),
    "GridSearchCV": "it is a search over models. Give its best_estimator_.",
    "RandomizedSearchCV": "it is a search over models. Give its best_estimator_.",
    "ColumnTransformer": "it treats groups of columns differently, which is not supported yet. Transform X first, and "
    "give the last step alone.",
}
"""Why a class cannot be certified, and what can."""


@dataclass(frozen=True)
class FittedModel:
    """A trained linear model and its objective, in the terms of `ipub.BoundedClassifier` and `BoundedRegressor`."""

    coef: Array
    intercept: float
    loss: str
    alpha_of: Callable[[float], float]
    """The penalty `alpha` for a sum of the weights of all rows."""
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    class_weight: Any = None
    classes: Any = None
    """Labels of both classes; None in a regression."""


@dataclass(frozen=True)
class Steps:
    """The steps before a model in its pipeline."""

    transformers: tuple[Any, ...] = ()
    scaling: Scaling | None = None
    imputes: bool = False

    def transform(self, table: Array) -> Array:
        """Return what the model sees of a table of floats."""
        for step in self.transformers:
            table = np.asarray(step.transform(table), dtype=float)
        return table


def refuse(thing: Any, why: str) -> NoReturn:
    """Say that a model or step is not supported, and why."""
    raise ValueError(f"{_name(thing)} cannot be certified: {why}")


def _name(thing: Any) -> str:
    return type(thing).__name__


def _lookup(table: dict[str, Any], thing: Any, what: str) -> Any:
    """Return what a table says of a scikit-learn class."""
    if type(thing).__module__.startswith("sklearn."):
        if _name(thing) in table:
            return table[_name(thing)]
        if _name(thing) in REFUSED:
            refuse(thing, REFUSED[_name(thing)])
    refuse(thing, f"the {what} supported, all of scikit-learn, are {', '.join(sorted(table))}.")


def split(model: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline (or of pipelines in it) that do something, and its last one."""
    *steps, last = _flat([model])
    return [step for step in steps if step is not None and step != "passthrough"], last


def _flat(steps: Iterable[Any]) -> Iterator[Any]:
    for step in steps:
        if isinstance(step, Pipeline):
            yield from _flat(part for _, part in step.steps)
        else:
            yield step


# --- steps -------------------------------------------------------------------------------------------


def read_steps(steps: list[Any]) -> Steps:
    """Read fitted scalers and imputers."""
    operations: list[tuple[str, Array]] = []
    imputes = False
    for step in steps:
        read = _lookup(STEPS, step, "steps before a model")
        check_is_fitted(step)
        found = [(name, np.broadcast_to(np.asarray(v, dtype=float), step.n_features_in_)) for name, v in read(step)]
        operations += found
        imputes |= read is _imputer
    return Steps(tuple(steps), Scaling(tuple(operations)) if operations else None, imputes)


def _standard(step: Any) -> Iterator[tuple[str, Any]]:
    if step.with_mean:
        yield "subtract", step.mean_
    if step.with_std:
        yield "divide", step.scale_


def _robust(step: Any) -> Iterator[tuple[str, Any]]:
    if step.with_centering:
        yield "subtract", step.center_
    if step.with_scaling:
        yield "divide", step.scale_


def _min_max(step: Any) -> Iterator[tuple[str, Any]]:
    yield "multiply", step.scale_
    yield "add", step.min_
    if step.clip:
        yield from _clip(*step.feature_range)


def _max_abs(step: Any) -> Iterator[tuple[str, Any]]:
    yield "divide", step.scale_
    if getattr(step, "clip", False):
        yield from _clip(-1.0, 1.0)


def _clip(low: float, high: float) -> Iterator[tuple[str, Any]]:
    yield "maximum", low
    yield "minimum", high


def _imputer(step: Any) -> list[tuple[str, Any]]:
    """Check that an imputer changes the holes and nothing else."""
    if not is_missing(step.missing_values):
        refuse(step, f"its missing_values are {step.missing_values!r}, but holes are NaN here. Replace them by NaN.")
    if len(step.get_feature_names_out()) != step.n_features_in_:
        refuse(
            step,
            "it adds or drops columns. Train with add_indicator=False and keep_empty_features=True, or without columns "
            "in which nothing was observed.",
        )
    return []


STEPS: dict[str, Callable[[Any], Iterable[tuple[str, Any]]]] = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "SimpleImputer": _imputer,
    "KNNImputer": _imputer,
    "IterativeImputer": _imputer,
}


# --- models ------------------------------------------------------------------------------------------


def read_model(model: Any, y: Any) -> FittedModel:
    """Read a fitted linear model: its weights and what it minimises."""
    read = _lookup(MODELS, model, "models")
    check_is_fitted(model)
    objective = read(model, y)
    is_sparse = hasattr(model.coef_, "toarray")
    coef: Array = np.asarray(model.coef_.toarray() if is_sparse else model.coef_, dtype=np.float64)
    if coef.ndim == 2 and len(coef) != 1:
        refuse(model, f"it has {len(coef)} targets. Train one model for each.")
    intercept = float(np.ravel(model.intercept_)[0])
    return FittedModel(coef.reshape(-1), intercept, classes=getattr(model, "classes_", None), **objective)


def _logistic(model: Any, y: Any) -> dict[str, Any]:
    _check_two_classes(model)
    if getattr(model, "multi_class", None) == "multinomial":
        refuse(model, "multi_class='multinomial' is another model of two classes. Leave multi_class out.")
    penalty = getattr(model, "penalty", "deprecated")
    l1_ratio = {"l2": 0.0, "l1": 1.0}.get(penalty, model.l1_ratio or 0.0)
    if penalty is None or np.isinf(model.C):
        refuse(model, "it has no penalty, without which nothing bounds how far a filling moves the weights. Set C.")
    if l1_ratio == 1.0:
        refuse(model, f"{NO_L2} Train with l1_ratio below 1.")
    if model.solver == "liblinear" and model.fit_intercept:
        refuse(model, PENALISED_INTERCEPT.format("with another solver"))
    return {
        "loss": "log_loss",
        "alpha_of": lambda total: 1.0 / (model.C * total),
        "l1_ratio": l1_ratio,
        "fit_intercept": model.fit_intercept,
        "class_weight": _class_weight(model, y),
    }


def _linear_svc(model: Any, y: Any) -> dict[str, Any]:
    _check_two_classes(model)
    if model.penalty != "l2":
        refuse(model, f"{NO_L2} Train with penalty='l2'.")
    if model.multi_class != "ovr":
        refuse(model, f"multi_class={model.multi_class!r} is another model of two classes. Leave it out.")
    if model.fit_intercept:
        refuse(model, PENALISED_INTERCEPT.format("SVC(kernel='linear')"))
    return {
        "loss": model.loss,
        "alpha_of": lambda total: 1.0 / (model.C * total),
        "fit_intercept": False,
        "class_weight": _class_weight(model, y),
    }


def _svc(model: Any, y: Any) -> dict[str, Any]:  # noqa: ARG001 (has its class weights)
    _check_two_classes(model)
    if model.kernel != "linear":
        refuse(
            model, f"its kernel is {model.kernel!r}, and only linear models have bounds. Train with kernel='linear'."
        )
    return {
        "loss": "hinge",
        "alpha_of": lambda total: 1.0 / (model.C * total),
        "class_weight": model.class_weight and _by_label(model, model.class_weight_),
    }


def _ridge(model: Any, y: Any) -> dict[str, Any]:  # noqa: ARG001 (no class weights)
    _check_unconstrained(model)
    alpha = float(np.ravel(model.alpha)[0])
    return {
        "loss": "squared_error",
        "alpha_of": lambda total: 2.0 * alpha / total,
        "fit_intercept": model.fit_intercept,
    }


def _elastic_net(model: Any, y: Any) -> dict[str, Any]:  # noqa: ARG001 (no class weights)
    _check_unconstrained(model)
    if model.l1_ratio == 1.0:
        refuse(model, f"{NO_L2} Train with l1_ratio below 1.")
    return {
        "loss": "squared_error",
        "alpha_of": lambda total: 2.0 * model.alpha,  # noqa: ARG005 (weights are normalised)
        "l1_ratio": model.l1_ratio,
        "fit_intercept": model.fit_intercept,
    }


MODELS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "LogisticRegression": _logistic,
    "LinearSVC": _linear_svc,
    "SVC": _svc,
    "Ridge": _ridge,
    "ElasticNet": _elastic_net,
}


def _check_two_classes(model: Any) -> None:
    if len(model.classes_) > 2:
        refuse(
            model,
            f"it has {len(model.classes_)} classes, and only two are supported. Train one class against the others, or "
            "fit a BoundedClassifier, which does that for each.",
        )


def _check_unconstrained(model: Any) -> None:
    if getattr(model, "positive", False):
        refuse(model, "positive=True constrains its weights. Train with positive=False.")
    if not np.all(np.asarray(model.alpha) > 0.0):
        refuse(model, "alpha=0 is no penalty, without which nothing bounds how far a filling moves the weights.")


def _class_weight(model: Any, y: Any) -> Any:
    """Return the weights of the classes as the linear models take them."""
    if model.class_weight == "balanced" and "sample_weight" not in inspect.signature(compute_class_weight).parameters:
        # Before version 1.7 the weights of the rows did not count in what is balanced.
        return _by_label(model, compute_class_weight("balanced", classes=model.classes_, y=np.asarray(y)))
    return model.class_weight


def _by_label(model: Any, factors: Array) -> dict[Any, float]:
    return dict(zip(model.classes_.tolist(), factors.tolist(), strict=True))
