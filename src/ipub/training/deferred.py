"""A result that is computed when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """The result of a function, which is called once: at the first request, whichever thread makes it.

    If the function raises an error or is interrupted, the next request calls it again.
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute: Callable[[], T] | None = compute
        self._lock = threading.RLock()

    def __call__(self) -> T:
        """Return the result."""
        with self._lock:
            if self._compute is not None:
                self._result = self._compute()
                self._compute = None
            return self._result

    def __reduce__(self) -> tuple[Callable[[T], Deferred[T]], tuple[T]]:
        """Let copies and pickles hold the result."""
        return done, (self(),)

    @property
    def is_done(self) -> bool:
        """Whether it has been computed."""
        return self._compute is None


def done(result: T) -> Deferred[T]:
    """Return what is there already."""
    deferred = Deferred(lambda: result)
    deferred()
    return deferred
