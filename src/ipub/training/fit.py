"""From the arguments of `fit` to a training: reading, training and certifying, as the parameter `uncertainty` says."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ipub.promises import Budget, Draws
from ipub.rows import MemoryRows, Rows, engine_of
from ipub.rows.slices import KEPT_CELLS
from ipub.training.alpha_choice import with_chosen_alpha
from ipub.training.reading import Parameters, TrainingData
from ipub.training.reading.sources import read_source
from ipub.training.training import GivenTable, Training, train_and_certify


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
    is_small = _is_small(data)
    if is_small:
        data = replace(data, rows=_own(data.rows))
    training = certify_as_promised(parameters, data, X, bounds[0], bounds[1], deferred=is_small)
    given = GivenTable(X, bounds[0], bounds[1]) if _is_in_memory(data) else None
    if given is not None and is_small:
        given = given.own()
    training = replace(training, alpha_choice=choice, given=given)
    training.release_caches()
    return training


def _is_in_memory(data: TrainingData) -> bool:
    """Whether the rows are those of a table in memory, as it was given."""
    return type(engine_of(data.rows[0])) is MemoryRows


def _is_small(data: TrainingData) -> bool:
    """Whether the rows are in memory, and so few that a copy of them costs nothing beside training."""
    engine = engine_of(data.rows[0])
    return _is_in_memory(data) and engine.n_rows * engine.n_features <= KEPT_CELLS


def _own(models: tuple[Rows, ...]) -> tuple[Rows, ...]:
    """Return the rows of all models with arrays that nobody else has, so that nobody changes them later."""
    models[0].clear_cache()
    return copy.deepcopy(models)


def certify_as_promised(
    parameters: Parameters,
    data: TrainingData,
    X: Any,
    X_lower: ArrayLike | None,
    X_upper: ArrayLike | None,
    *,
    deferred: bool = False,
) -> Training:
    """Train on what was read, and certify what the parameter `uncertainty` asks for.

    With `deferred`, bounds over any filling are proved at the first request. Nobody else may then have the arrays of
    the rows.
    """
    match parameters.uncertainty:
        case Draws() as draws:
            from ipub.training.draws import train_and_certify_draws

            return train_and_certify_draws(parameters, data, draws, X, X_lower, X_upper)
        case Budget() as uncertainty:
            from ipub.training.filled import certify_filled

            return certify_filled(parameters, data, uncertainty, (X, X_lower, X_upper))
        case _:
            return train_and_certify(parameters, data, deferred=deferred)
