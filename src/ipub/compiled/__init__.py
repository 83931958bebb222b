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
def loops() -> ModuleType | None:
    """Return the loops in C; None where the package was installed without them, and NumPy does the same.

    Examples
    --------
    >>> kernels = loops()
    >>> kernels is None or callable(kernels.up)
    True
    """
    try:
        return import_module("ipub.compiled.kernels")
    except ImportError:
        return None


@cache
def loops_of(module: str) -> ModuleType | None:
    """Return a module of loops; None without Numba, or where it does not work or can keep no files.

    Examples
    --------
    >>> loops = loops_of("ipub.compiled.row_sums")
    >>> loops is None or callable(loops.weighted_grams)
    True
    """
    try:
        return import_module(module) if _numba_works() else None
    except Exception:  # an installation that is broken in any way: NumPy does the same
        return None


@cache
def _numba_works() -> bool:
    """Whether Numba compiles and can keep what it compiled; asked once, as it compiles the probe only once."""
    try:
        return not import_module("numba").config.DISABLE_JIT and import_module("ipub.compiled.probe").following(1) == 2
    except Exception:
        return False
