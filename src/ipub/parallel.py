"""Work that is done piece by piece, on all cores; results come in order, so sums have the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

FEW_COLUMNS = 256
"""Up to so many columns a matrix product of NumPy's is not worth a second thread."""

T = TypeVar("T")
S = TypeVar("S")


SCAN_CELLS = 1 << 20
"""How many cells one look at the table takes: temporaries stay this small, however long the table."""


def row_slices(n_rows: int, n_columns: int, cells: int = SCAN_CELLS) -> Iterator[slice]:
    """Cut the rows into consecutive slices of about `cells` cells."""
    step = max(1, cells // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


@cache
def n_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas(n_columns: int) -> AbstractContextManager[object]:
    """Return a context in which NumPy's own threads rest, if matrices are so small that they only wait for each other.

    Examples
    --------
    >>> with single_threaded_blas(30):
    ...     pass
    """
    return _rest() if n_columns <= FEW_COLUMNS else nullcontext()


class _Resting:
    """How many now want NumPy's threads to rest, and how to wake them: the limit is that of the whole process."""

    lock = Lock()
    count = 0
    limit: Any = None


@contextmanager
def _rest() -> Iterator[None]:
    """Let NumPy's threads rest until the last of all that asked for it, in whichever thread, has left."""
    with _Resting.lock:
        if _Resting.count == 0:
            _Resting.limit = _controller().limit(limits=1, user_api="blas")
        _Resting.count += 1
    try:
        yield
    finally:
        with _Resting.lock:
            _Resting.count -= 1
            if _Resting.count == 0:
                _Resting.limit.restore_original_limits()


def in_threads(function: Callable[[T], S], pieces: Sequence[T]) -> Iterator[S]:
    """Apply a function to all pieces, in threads if there are several; yield the results in order.

    NumPy's own threads rest meanwhile.
    """
    if len(pieces) < 2 or n_threads() < 2:
        yield from map(function, pieces)
        return
    with _rest(), ThreadPoolExecutor(n_threads()) as pool:
        yield from pool.map(function, pieces)
