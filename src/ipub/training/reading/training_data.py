"""The arguments of `fit`, read: the rows of each model to train, and how later rows are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.rows import Rows
from ipub.rows.long_table import LongTable
from ipub.tables.scaling import Scaling
from ipub.tables.sparse_columns import is_sparse
from ipub.training.reading.labels import one_dimension, read_labels, rows_of_models, target_intervals
from ipub.training.reading.on_device import in_memory, read_on_device, stays_on_device
from ipub.training.reading.parameters import Parameters
from ipub.training.reading.sparse import check_columns, read_sparse, stays_sparse
from ipub.training.reading.table import Columns, LearntTable, learn_table, read_training_table


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Training rows, read and scaled."""

    table: LearntTable
    """How later rows are read."""
    rows: tuple[Rows, ...]
    """The rows of each model: one, or, for more than two classes, one for each class against the others."""
    weight: Array
    """Shape (n_rows,): weights of the rows of X, with the factors of the classes in them; empty if the rows are read
    piece by piece."""
    classes: NDArray[Any] | None
    """The labels, sorted; None in a regression."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Columns and scaling of a training table that are fixed before it is read."""

    columns: Columns
    scaling: Scaling | None


def read_training_data(
    parameters: Parameters,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
    y_lower: ArrayLike | None = None,
    y_upper: ArrayLike | None = None,
    *,
    expected: Expected | None = None,
    on_device: bool = False,
) -> TrainingData:
    """Read the arguments of `BoundedRegressor.fit` and `BoundedClassifier.fit`; nothing is changed.

    Columns and scaling are learnt from X unless `expected`. With `on_device`, a long table of CuPy, PyTorch or the
    array API may stay where it is; else it is read into memory.
    """
    if isinstance(X, (str, os.PathLike, LongTable)) or hasattr(X, "__dask_graph__"):
        raise IpubError(
            "A table in files or on a cluster is read by the estimators themselves alone: read it into a DataFrame "
            "first."
        )
    may_be_unknown = parameters.unknown_labels if parameters.loss.task == "classification" else None
    y, sample_weight = one_dimension(y, "y", may_be_unknown), one_dimension(sample_weight, "sample_weight")
    y_lower, y_upper = one_dimension(y_lower, "y_lower"), one_dimension(y_upper, "y_upper")
    bounds = X_lower, X_upper, y_lower, y_upper
    if on_device and expected is None and stays_on_device(parameters, X, *bounds):
        return TrainingData(*read_on_device(parameters, X, y, sample_weight))
    if is_sparse(X):
        if X_lower is not None or X_upper is not None:
            raise IpubError(
                "X is sparse, so X_lower and X_upper cannot be given: give ranges of columns with intervals, or a "
                "dense array (X.toarray())."
            )
        if expected is None and stays_sparse(parameters, X):
            y, radius = target_intervals(in_memory(y), in_memory(y_lower), in_memory(y_upper))
            data = TrainingData(*read_sparse(parameters, X, y, in_memory(sample_weight), radius))
            check_columns(parameters, data.rows[0])
            return data
    X, y, sample_weight = in_memory(X), in_memory(y), in_memory(sample_weight)
    X_lower, X_upper, y_lower, y_upper = map(in_memory, bounds)
    y, radius = target_intervals(y, y_lower, y_upper)
    read = read_training_table(parameters, X, X_lower, X_upper, None if expected is None else expected.columns)
    labels = read_labels(parameters, y, read.data.shape[0], sample_weight, radius)
    scaling = None if expected is None else expected.scaling
    learnt, rows = learn_table(parameters, read, labels.y, labels.weight, scaling)
    check_columns(parameters, rows)
    models = rows_of_models(rows, labels, parameters.max_label_errors)
    return TrainingData(learnt, models, labels.weight, labels.classes)
