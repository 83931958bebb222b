"""From the arguments of `fit` to a training: reading, training and certifying, as the parameter `uncertainty` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ipub.promises import Budget, Draws
from ipub.training.alpha_choice import with_chosen_alpha
from ipub.training.reading import Parameters, TrainingData
from ipub.training.reading.sources import read_source
from ipub.training.training import Training, train_and_certify


def fit_training(
    parameters: Parameters, X: Any, y: Any, sample_weight: ArrayLike | None, *bounds: ArrayLike | None
) -> Training:
    """Read the arguments of `fit`, train and certify; nothing is changed.

    The `bounds` are X_lower, X_upper and, in a regression, y_lower and y_upper.
    """
    if not isinstance(parameters.uncertainty, str):
        parameters.uncertainty.check()
    data, X = read_source(parameters, X, y, sample_weight, *bounds, on_device=True)
    parameters, choice = with_chosen_alpha(parameters, data)
    training = replace(certify_as_promised(parameters, data, X, bounds[0], bounds[1]), alpha_choice=choice)
    training.release_caches()
    return training


def certify_as_promised(
    parameters: Parameters, data: TrainingData, X: Any, X_lower: ArrayLike | None, X_upper: ArrayLike | None
) -> Training:
    """Train on what was read, and certify what the parameter `uncertainty` asks for."""
    match parameters.uncertainty:
        case Draws() as draws:
            from ipub.training.draws import train_and_certify_draws

            return train_and_certify_draws(parameters, data, draws, X, X_lower, X_upper)
        case Budget() as uncertainty:
            from ipub.training.filled import certify_filled

            return certify_filled(parameters, data, uncertainty, (X, X_lower, X_upper))
        case _:
            return train_and_certify(parameters, data)
