"""Work that is done piece by piece, on all cores; results come in order, so sums have the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

FEW_COLUMNS = 256
"""Up to so many columns a matrix product of NumPy's is not worth a second thread."""

T = TypeVar("T")
S = TypeVar("S")


@cache
def n_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def calm_blas(n_columns: int) -> AbstractContextManager[object]:
    """Return a context in which NumPy's own threads rest, if matrices are so small that they only wait for each other.

    Examples
    --------
    >>> with calm_blas(30):
    ...     pass
    """
    return _controller().limit(limits=1, user_api="blas") if n_columns <= FEW_COLUMNS else nullcontext()


def in_threads(function: Callable[[T], S], pieces: Sequence[T]) -> Iterator[S]:
    """Apply a function to all pieces, in threads if there are several; yield the results in order.

    NumPy's own threads rest meanwhile.
    """
    if len(pieces) < 2 or n_threads() < 2:
        yield from map(function, pieces)
        return
    with _controller().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads()) as pool:
        yield from pool.map(function, pieces)
