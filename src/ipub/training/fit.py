"""From the arguments of `fit` to a training: reading, training and certifying, as the parameter `uncertainty` says."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ipub.errors import IpubError
from ipub.reading import Parameters, TrainingData, read_training_data
from ipub.reading.long_table import read_long_table
from ipub.reading.sources import dask_table_of, is_dask, is_kept, long_table_of, table_in_memory
from ipub.training.draws import train_and_certify_draws
from ipub.training.filled import certify_filled
from ipub.training.training import Training, train_and_certify
from ipub.uncertainty import Budget, Draws, RandomHoles


def fit_training(
    parameters: Parameters,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
    *target_bounds: ArrayLike | None,
) -> Training:
    """Read the arguments of `fit`, train and certify; nothing is changed."""
    if not isinstance(parameters.uncertainty, str):
        parameters.uncertainty.check()
    if is_dask(X):
        table, y, sample_weight = dask_table_of(X, y, sample_weight)
    else:
        table = long_table_of(X, parameters.verbose)
    if table is not None:
        if any(bound is not None for bound in (X_lower, X_upper, *target_bounds)):
            raise IpubError(
                "X is a table in files or on a cluster, so X_lower, X_upper, y_lower and y_upper cannot be given: read it into a "
                "DataFrame first."
            )
        if not is_kept(table):
            data = read_long_table(parameters, table, y, sample_weight)
            training = train_and_certify(parameters, data)
            data.rows[0].clear_cache()  # workers of a cluster need not keep blocks after fit
            return training
        X, y, sample_weight = table_in_memory(table, y, sample_weight)
    data = read_training_data(parameters, X, y, sample_weight, X_lower, X_upper, *target_bounds)
    return certify_as_promised(parameters, data, X, X_lower, X_upper)


def certify_as_promised(
    parameters: Parameters,
    data: TrainingData,
    X: Any,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
) -> Training:
    """Train on what was read, and certify what the parameter `uncertainty` asks for."""
    match parameters.uncertainty:
        case Draws() as draws:
            return train_and_certify_draws(parameters, data, draws, X, X_lower, X_upper)
        case Budget() | RandomHoles() as uncertainty:
            return certify_filled(parameters, data, uncertainty, (X, X_lower, X_upper))
        case _:
            return train_and_certify(parameters, data)
