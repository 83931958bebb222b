"""The metrics that users can name, by the names of scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from ipub.answers.metrics.counted import F1, Accuracy, BalancedAccuracy, Precision, Recall, SelectionRate
from ipub.answers.metrics.metric import Metric, Negated
from ipub.answers.metrics.ranked import AreaUnderCurve
from ipub.answers.metrics.row_terms import AbsoluteError, BrierScore, LogLoss, RSquared, SquaredError
from ipub.answers.metrics.several_classes import AccuracyOfClasses, LogLossOfClasses
from ipub.errors import IpubError
from ipub.training import Training

Makes = dict[str, Callable[[str], Metric]]

OF_TWO_CLASSES: Makes = {
    "accuracy": Accuracy,
    "balanced_accuracy": BalancedAccuracy,
    "precision": Precision,
    "recall": Recall,
    "f1": F1,
    "selection_rate": SelectionRate,
    "roc_auc": AreaUnderCurve,
}
OF_CLASSES: Makes = {
    "accuracy": AccuracyOfClasses,
    "balanced_accuracy": lambda name: AccuracyOfClasses(name, is_balanced=True),
}
OF_TARGETS: Makes = {"r2": RSquared}

LOSSES_OF_TWO_CLASSES: Makes = {"log_loss": LogLoss, "brier_score": BrierScore}
LOSSES_OF_CLASSES: Makes = {"log_loss": LogLossOfClasses}
LOSSES_OF_TARGETS: Makes = {"mean_squared_error": SquaredError, "mean_absolute_error": AbsoluteError}
"""Losses: with ``neg_`` before the name they have their sign turned, as scikit-learn's scorers have it."""


def metrics_of(training: Training, scoring: str | Sequence[str]) -> list[Metric]:
    """Return the metrics that a user names.

    Raises IpubError for a name that is not known, or that a model of this kind has not: it lists those that it has, the
    one that may be meant first.
    """
    names = [scoring] if isinstance(scoring, str) else list(scoring)
    if not names:
        raise IpubError("scoring is empty: name a metric, such as 'accuracy'.")
    makes = _makes(training)
    for name in names:
        if name not in makes:
            known, near = ", ".join(map(repr, makes)), get_close_matches(str(name), makes, 1)
            advice = f"Did you mean {near[0]!r}? There are" if near else "Use"
            raise IpubError(f"scoring={name!r} is not known of this model. {advice} {known}, or a list of them.")
    return [makes[name](name) for name in dict.fromkeys(names)]


def _makes(training: Training) -> Makes:
    if training.classes is None:
        plain, losses = OF_TARGETS, LOSSES_OF_TARGETS
    elif len(training.classes) == 2:
        plain, losses = OF_TWO_CLASSES, LOSSES_OF_TWO_CLASSES
    else:
        plain, losses = OF_CLASSES, LOSSES_OF_CLASSES
    if training.classes is not None and not training.loss.has_probability:
        losses = {}
    negated: Makes = {f"neg_{name}": _negated(make) for name, make in losses.items()}
    return {**plain, **negated, **losses}


def _negated(make: Callable[[str], Metric]) -> Callable[[str], Metric]:
    return lambda name: Negated(name, make(name))
