"""Loops in C, which are compiled when the package is installed.

Where there was no compiler the package is installed without them. Code that runs them asks `loops` for them; where it
gets None it does the same with NumPy, or, if that would take too long, leaves out what they do (row sums).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def loops(name: str = "kernels") -> ModuleType | None:
    """Return a module of loops; None where the package was installed without it.

    Examples
    --------
    >>> kernels = loops()
    >>> kernels is None or callable(kernels.weighted_grams)
    True
    """
    try:
        return import_module(f"ipub.numeric.compiled.{name}")
    except ImportError:
        return None
