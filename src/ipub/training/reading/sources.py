"""Which arguments of `fit` and of the methods for predictions are tables that are read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.rows.long_table import LongTable
from ipub.rows.piece_reader import decode_weight
from ipub.rows.slices import KEPT_CELLS
from ipub.tables.decoded_rows import TextColumn, decode_labels
from ipub.training.reading.labels import one_dimension
from ipub.training.reading.parameters import Parameters
from ipub.training.reading.table import Columns
from ipub.training.reading.training_data import TrainingData, read_training_data


def long_table_of(X: Any, verbose: int = 0) -> LongTable | None:
    """Return the table that is read piece by piece; None for arrays, frames and everything else.

    Paths, lists of them, and datasets of PyArrow are Parquet files.

    Raises ImportError if PyArrow is not installed; the message names the extra.
    """
    if isinstance(X, LongTable):
        return X
    is_path = isinstance(X, (str, os.PathLike)) or _are_paths(X)
    if not is_path and type(X).__module__.split(".")[0] == "pyarrow":
        is_path = any(kind.__name__ in ("Dataset", "ParquetFile") for kind in type(X).__mro__)
    if not is_path:
        return None
    try:
        from ipub.rows.parquet import ParquetTable
    except ImportError as error:
        raise ImportError('Parquet files are read with pyarrow: pip install "ipub[parquet]".') from error
    return ParquetTable(X, verbose=verbose)


def _are_paths(X: Any) -> bool:
    """Whether X is a list of paths: a path object, or text that ends like a Parquet file, in each place."""
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(isinstance(each, os.PathLike) or (isinstance(each, str) and each.endswith(".parquet")) for each in X)
    )


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0] == "dask"


def dask_table_of(X: Any, y: Any, sample_weight: Any, verbose: int = 0) -> tuple[LongTable | None, Any, Any]:
    """Return a Dask collection with its labels and weights as one table, and the names of their columns.

    Raises ImportError if pandas is not installed; the message names the extra.
    """
    try:
        from ipub.rows.dask import dask_table
    except ImportError as error:
        raise ImportError('Dask collections need dask and pandas: pip install "ipub[dask]".') from error
    return dask_table(X, y, sample_weight, verbose)


def read_source(
    parameters: Parameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
    y_lower: ArrayLike | None = None,
    y_upper: ArrayLike | None = None,
    *,
    on_device: bool = False,
) -> tuple[TrainingData, Any]:
    """Read the arguments of `fit`, from wherever the table is; nothing is changed.

    With `on_device`, a long table of CuPy, PyTorch or the array API may stay where it is. X is returned too: as it was
    given, or as a frame if it was a small table in files.
    """
    if is_dask(X):
        table, y, sample_weight = dask_table_of(X, y, sample_weight, parameters.verbose)
    else:
        table = long_table_of(X, parameters.verbose)
    if table is not None:
        if any(bound is not None for bound in (X_lower, X_upper, y_lower, y_upper)):
            raise IpubError(
                "X is a table in files or on a cluster, so X_lower, X_upper, y_lower and y_upper cannot be given: read "
                "it into a DataFrame first."
            )
        if not is_kept(table):
            from ipub.training.reading.long_table import read_long_table

            return read_long_table(parameters, table, y, sample_weight), X
        X, y, sample_weight = table_in_memory(table, y, sample_weight)
    data = read_training_data(parameters, X, y, sample_weight, X_lower, X_upper, y_lower, y_upper, on_device=on_device)
    return data, X


def is_kept(table: LongTable) -> bool:
    """Whether a table is so small that it is read into memory, once."""
    return table.is_local and table.n_rows * len(table.names) <= KEPT_CELLS


def table_in_memory(table: LongTable, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return features, labels and weights of a small table, as `fit` takes them."""
    from ipub.training.reading.long_table import check_names

    features = check_names(table, y, sample_weight)
    frame = table.whole(table.names)
    return frame.select(list(features)), _labels_in(frame, y), decode_weight(frame, sample_weight)


def _labels_in(frame: Any, y: str) -> Any:
    labels: Any = decode_labels(frame, y)
    return np.array([*labels.values, None], dtype=object)[labels.codes] if isinstance(labels, TextColumn) else labels


def labels_to_score(X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
    """Return labels and weights of rows to score: columns of X if it is in files and they are names, else as given."""
    named = [each for each in (y, sample_weight) if isinstance(each, str)]
    table = long_table_of(X) if named else None
    if table is None:
        return one_dimension(y, "y"), one_dimension(sample_weight, "sample_weight")
    for name in named:
        if name not in table.names:
            raise IpubError("The table has no column {column}.", column=name)
    frame = table.whole(named)
    return (
        _labels_in(frame, y) if isinstance(y, str) else y,
        decode_weight(frame, sample_weight) if isinstance(sample_weight, str) else sample_weight,
    )


def of_each_piece(function: Callable[[Any], Array], table: LongTable, columns: Columns) -> Iterator[Array]:
    """Yield what a function returns of the rows of a table, piece by piece, with the columns of a model."""
    for number, frame in enumerate(table.frames(_names_to_predict(table, columns))):
        try:
            if len(frame):
                yield function(frame)
        except IpubError as error:
            raise table.placed(error, number) from None


def whole_to_predict(table: LongTable, columns: Columns) -> Any:
    """Return all rows of a table in memory, with the columns that a model was fitted on."""
    return table.whole(_names_to_predict(table, columns))


def _names_to_predict(table: LongTable, columns: Columns) -> list[str]:
    names = columns.feature_names_in
    if names is None:
        raise IpubError("The model was fitted without column names, and the table has some: give an array.")
    missing = [str(name) for name in names if name not in table.names]
    if missing:
        raise IpubError("The table has no column {column}, on which the model was fitted.", column=missing[0])
    if table.n_rows == 0:
        raise IpubError("The table has no rows.")
    return [str(name) for name in names]
