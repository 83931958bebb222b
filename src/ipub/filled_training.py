"""Training and certificates around a filled-in table: budgets and random holes (Theorems 9 and 10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ipub.certificates import CERTIFICATES, Certificate, TrainedModel
from ipub.certificates.around_filling import HOLES, WRONG_CELLS, BudgetMoves, MovableRows, certify_around
from ipub.data.holes import column_precision
from ipub.data.interval_matrix import IntervalMatrix
from ipub.data.missing_category import Levels
from ipub.engine import MemoryRows, Rows, engine_of, on_engine
from ipub.errors import IpubError
from ipub.imputing import DrawnTables, Holes, filling_of
from ipub.parallel import single_threaded_blas
from ipub.reading import Parameters, TrainingData
from ipub.rounding import Array, check_arithmetic, down, midpoint_and_radius, up
from ipub.training import Training, train
from ipub.uncertainty import Budget, RandomHoles


@dataclass(frozen=True, eq=False)
class FilledTraining:
    """A filled-in training table, the models trained on it, and what may differ from it.

    Attributes
    ----------
    matrix : IntervalMatrix
        The filled-in table, as the models see it.
    models : tuple of TrainedModel
        Trained on it.
    movable : MovableRows
        Its holes and its observed cells, each with the ways in which it may differ.
    n_holes : int
        Number of missing values; a missing category counts as one.
    """

    matrix: IntervalMatrix
    models: tuple[TrainedModel, ...]
    movable: MovableRows
    n_holes: int


def train_and_certify_filled(
    parameters: Parameters,
    data: TrainingData,
    uncertainty: Budget | RandomHoles,
    X: Any,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
) -> Training:
    """Train on a filled-in table, and certify all tables that differ from it as `uncertainty` allows.

    Parameters
    ----------
    parameters : Parameters
    data : TrainingData
        X as it was read.
    uncertainty : Budget or RandomHoles
    X : array, DataFrame or IntervalMatrix
        The table that was read.
    X_lower, X_upper : arrays, optional
        Bounds of its cells, if these were given.
    """
    uncertainty.check()
    check_arithmetic()
    filled = train_filled(parameters, data, uncertainty, X, X_lower, X_upper)
    with single_threaded_blas(data.rows[0].n_features):
        certificates = certify_filled(parameters, data, filled, uncertainty)
    training = Training.of(parameters, data, filled.models, certificates)
    for model in filled.models:
        model.problem.rows.clear_cache()
    return replace(training, models=train_nothing(parameters, data, filled))
