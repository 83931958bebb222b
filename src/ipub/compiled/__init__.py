"""Loops that Numba compiles, where it is installed (extra ``compiled``).

A module of loops decorates its functions with `njit`. Without Numba they are plain Python: slow, for tests alone. Code
that runs them asks for the module with `loops_of`, and does the same with NumPy where it gets None.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

MANY_CELLS = 1 << 24
"""Cells of a table from which sums over its rows are worth the quarter of a second that loading Numba takes."""


def njit(**options: Any) -> Any:
    """Return Numba's decorator; without Numba, one that leaves functions as they are."""
    return (lambda function: function) if find_spec("numba") is None else import_module("numba").njit(**options)


@cache
def loops_of(module: str) -> ModuleType | None:
    """Return a module of loops; None without Numba, or where it can keep no files.

    Examples
    --------
    >>> loops = loops_of("ipub.compiled.row_sums")
    >>> loops is None or callable(loops.weighted_grams)
    True
    """
    try:
        import_module("numba")
        return import_module(module)
    except (ImportError, RuntimeError):
        return None
