"""Work in pieces on all cores; results are returned in order, so that sums have the same bits."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

import threadpoolctl

FEW_COLUMNS = 256
"""Up to so many columns a matrix product of NumPy is faster with one thread."""

T = TypeVar("T")
S = TypeVar("S")


SCAN_CELLS = 1 << 20
"""Cells read at a time in a scan of a table: bounds the memory of temporaries, however long the table."""

CACHED_NUMBERS = 1 << 15
"""Numbers of the largest product in one chunk of rows: 256 KiB, which stay in a core's cache. Measured on bounds by
slopes of 16,384 rows, cell by cell: 1 << 13 to 1 << 17 take 1.0 to 1.2 times as long, 1 << 19 1.3 to 2 times."""


class _Slices(local):
    """How many times as long as usual slices are in this thread."""

    factor = 1


_slices = _Slices()


@contextmanager
def longer_slices(factor: int) -> Iterator[None]:
    """Make `row_slices` so many times as long in this thread: for a device, where a call must do much work.

    Examples
    --------
    >>> with longer_slices(2):
    ...     row_slices(4, 1, 2)
    [slice(0, 4, None)]
    """
    before = _slices.factor
    _slices.factor = factor
    try:
        yield
    finally:
        _slices.factor = before


def row_slices(n_rows: int, n_columns: int, cells: int = SCAN_CELLS) -> list[slice]:
    """Cut the rows into consecutive slices of about `cells` cells."""
    step = max(1, cells * _slices.factor // max(1, n_columns))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


@cache
def n_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller() -> Any:
    return threadpoolctl.ThreadpoolController()


def single_threaded_blas(n_columns: int) -> AbstractContextManager[object]:
    """Return a context in which NumPy uses one thread, if matrices are so small that more would only wait.

    Examples
    --------
    >>> with single_threaded_blas(30):
    ...     pass
    """
    return _one_blas_thread() if n_columns <= FEW_COLUMNS else nullcontext()


class _ThreadLimit:
    """Number of open contexts, and the limit they set: it applies to the whole process."""

    lock = Lock()
    count = 0
    limit: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Limit NumPy to one thread until the last of these contexts, in any thread, is left."""
    with _ThreadLimit.lock:
        if _ThreadLimit.count == 0:
            has_more = any(lib["user_api"] == "blas" and lib["num_threads"] > 1 for lib in _controller().info())
            _ThreadLimit.limit = _controller().limit(limits=1, user_api="blas") if has_more else None
        _ThreadLimit.count += 1
    try:
        yield
    finally:
        with _ThreadLimit.lock:
            _ThreadLimit.count -= 1
            if _ThreadLimit.count == 0 and _ThreadLimit.limit is not None:
                _let_any_thread_set_limits()
                _ThreadLimit.limit.restore_original_limits()
                _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Let this thread undo the limit of another one, which threadpoolctl 3.8 and later would keep it from."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def in_threads(function: Callable[[T], S], pieces: Sequence[T]) -> Iterator[S]:
    """Apply a function to all pieces, in threads if there are several; return an iterator of the results in order.

    NumPy uses one thread meanwhile. Where slices are for a device (`longer_slices`), this thread does all.
    """
    is_one = len(pieces) < 2 or n_threads() < 2 or _slices.factor > 1
    return map(function, pieces) if is_one else _in_pool(function, pieces)


def _in_pool(function: Callable[[T], S], pieces: Sequence[T]) -> Iterator[S]:
    with _one_blas_thread(), ThreadPoolExecutor(n_threads()) as pool:
        yield from pool.map(function, pieces)


def streamed_in_threads(function: Callable[[T], S], pieces: Iterable[T]) -> Iterator[S]:
    """Apply a function to pieces as they come, in threads while the next ones are made; yield the results in order.

    Only as many pieces as there are threads, and one, exist at a time. NumPy uses one thread meanwhile.
    """
    waiting: deque[Future[S]] = deque()
    with _one_blas_thread(), ThreadPoolExecutor(n_threads()) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(function, piece))
                if len(waiting) > n_threads():
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
