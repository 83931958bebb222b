"""Models and steps are identified by their exact class: a subclass may do something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from sklearn.pipeline import Pipeline

from ipub.errors import IpubError, Message

NO_L2 = "its penalty has no L2 part, without which nothing bounds how far a filling moves the weights."
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
    "NuSVC": "nu determines the strength of its penalty only indirectly. Train SVC(kernel='linear').",
    "SGDClassifier": STOPS_EARLY.format("LogisticRegression or SVC(kernel='linear')"),
    "SGDRegressor": STOPS_EARLY.format("Ridge"),
    "Perceptron": STOPS_EARLY.format("LogisticRegression"),
    "LogisticRegressionCV": CROSS_VALIDATED.format("LogisticRegression"),
    "RidgeCV": CROSS_VALIDATED.format("Ridge"),
    "ElasticNetCV": CROSS_VALIDATED.format("ElasticNet"),
    "GridSearchCV": "it is a search over models. Give its best_estimator_.",
    "RandomizedSearchCV": "it is a search over models. Give its best_estimator_.",
    "ColumnTransformer": "it is not the first step of the pipeline. Make it that, with what is before it inside.",
    "OneHotEncoder": "it stands outside of a ColumnTransformer. Put it into one, as its first step.",
    "OrdinalEncoder": "it makes numbers of categories. Train a OneHotEncoder in a ColumnTransformer.",
    "TargetEncoder": "what it makes of a category depends on the labels. Train a OneHotEncoder in a ColumnTransformer.",
}
"""Why a class cannot be certified, and what can."""


def refuse(thing: Any, why: str, **fields: Any) -> NoReturn:
    """Say that a model or step is not supported, and why: a template if there are fields, as in `IpubError`."""
    reason = Message(why, **fields)
    raise IpubError("{thing} cannot be certified: {reason}", thing=name_of(thing), reason=reason, **fields)


def name_of(thing: Any) -> str:
    """Return the name of its class."""
    return type(thing).__name__


def lookup(table: dict[str, Any], thing: Any, what: str) -> Any:
    """Return what a table says of a scikit-learn class."""
    if type(thing).__module__.startswith("sklearn."):
        if name_of(thing) in table:
            return table[name_of(thing)]
        if name_of(thing) in REFUSED:
            refuse(thing, REFUSED[name_of(thing)])
    refuse(thing, f"the {what} supported, all of scikit-learn, are {', '.join(sorted(table))}.")


def split(model: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline (or of pipelines in it) that do something, and its last one."""
    *steps, last = flat([model])
    return [step for step in steps if step is not None and step != "passthrough"], last


def flat(steps: Iterable[Any]) -> Iterator[Any]:
    """Yield steps, and instead of a pipeline those in it."""
    for step in steps:
        if isinstance(step, Pipeline):
            yield from flat(part for _, part in step.steps)
        else:
            yield step
