"""The functions of ``rounding.py`` for arrays, each in one loop: the same operations in the same order, none fused.

So they give the same bits as NumPy, which passes over an array once for each operation.
"""

from __future__ import annotations

from typing import Any

from ipub.compiled import njit


@njit(cache=True, nogil=True)
def up(values: Any, eps: float, tiny: float, found: Any) -> None:
    """Round each value up."""
    for i in range(len(values)):
        found[i] = values[i] + (abs(values[i]) * eps + tiny)


@njit(cache=True, nogil=True)
def down(values: Any, eps: float, tiny: float, found: Any) -> None:
    """Round each value down."""
    for i in range(len(values)):
        found[i] = values[i] - (abs(values[i]) * eps + tiny)


@njit(cache=True, nogil=True)
def sum_error(values: Any, eps: float, tiny: float, factor: float, underflow: float, found: Any) -> None:
    """Bound the rounding error of each sum."""
    for i in range(len(values)):
        error = factor * values[i]
        error = error + (abs(error) * eps + tiny)
        error = error + underflow
        found[i] = error + (abs(error) * eps + tiny)


@njit(cache=True, nogil=True)
def sum_upper(values: Any, eps: float, tiny: float, factor: float, underflow: float, found: Any) -> None:
    """Bound each sum from above."""
    for i in range(len(values)):
        error = factor * values[i]
        error = error + (abs(error) * eps + tiny)
        error = error + underflow
        error = error + (abs(error) * eps + tiny)
        total = values[i] + error
        found[i] = total + (abs(total) * eps + tiny)
