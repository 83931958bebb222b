"""One small function, which shows whether Numba works here: whether it compiles, and can keep what it compiled."""

from __future__ import annotations

from ipub.compiled import njit


@njit(cache=True, nogil=True)
def following(n: int) -> int:
    """Return the next number."""
    return n + 1
