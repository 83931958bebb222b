"""Methods for rows of a Dask collection: computed later, partition by partition, where the partitions are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ipub.training.reading.sources import is_dask

F = TypeVar("F", bound=Callable[..., Any])


def lazy_on_dask(method: F) -> F:
    """Let a method of an estimator return a Dask array for a Dask collection, computed with a copy of the estimator.

    The copy has no training table, so bounds are those of an estimator loaded from a file.
    """

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if type(X) is np.ndarray or not is_dask(X):
            return method(self, X, *args, **options)
        return _of_partitions(self, X, method.__name__)

    return cast(F, wrapped)


def _of_partitions(estimator: Any, X: Any, method: str) -> Any:
    from dask.delayed import delayed

    columns = estimator.training_.table.columns
    # As schedulers send it to workers: a pickle has no training table.
    without_table = pickle.loads(pickle.dumps(estimator)).set_output(transform="default")
    # All cells missing: any table of these columns has the same kind of result.
    row: Any = np.full((1, columns.n_features_in), np.nan)
    if columns.feature_names_in is not None:
        import pandas as pd

        row = pd.DataFrame(row.astype(object), columns=list(columns.feature_names_in))
    none = np.asarray(getattr(without_table, method)(row))[:0]
    shared = delayed(without_table, traverse=False)
    options = {"dtype": none.dtype, "meta": none}
    if not hasattr(X, "chunks"):
        return X.map_partitions(apply_method, shared, method, none, meta=none)
    X = X.rechunk({1: -1})
    shape = none.shape[1:]
    if not shape:
        return X.map_blocks(apply_method, shared, method, none, drop_axis=1, **options)
    chunks = (X.chunks[0], *((size,) for size in shape))
    new_axis = list(range(2, none.ndim)) or None
    return X.map_blocks(apply_method, shared, method, none, chunks=chunks, new_axis=new_axis, **options)


def apply_method(part: Any, estimator: Any, method: str, none: NDArray[Any]) -> NDArray[Any]:
    """Call a method of an estimator with a partition; one without rows has a result without rows."""
    if not len(part):
        return none
    names = estimator.training_.table.columns.feature_names_in
    chosen = part if names is None or not hasattr(part, "columns") else part[list(names)]
    return np.asarray(getattr(estimator, method)(chosen))
