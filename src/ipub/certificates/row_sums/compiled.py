"""The terms of all variants in compiled loops: the same numbers, bit for bit, as `row_terms` finds with NumPy.

There are none at present: NumPy does the same, more slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.rounding import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class AnyLevels(NamedTuple):
    """Variants in which a category may have any of its levels, of all such categories, one after the other."""

    variant: NDArray[np.intp]
    """Which variant it is, shape (n,)."""
    own_at: NDArray[np.intp]
    """Where in `own` its first level is."""
    change_at: NDArray[np.intp]
    """Where in `change` its first level is."""
    n_levels: NDArray[np.intp]
    own: Array
    """What each level adds, for each share of the score's multiplier; shape (n_shares, k, n_own)."""
    change: Array
    """``d_l.u`` of each level, shape (k, n_change)."""


class VariantInputs(NamedTuple):
    """What the terms of k directions' variants are made of; names as in `row_terms`."""

    shares: Array
    margin: float
    score: Array
    along: Array
    falling: Array
    rising: Array
    steepness: Array
    fixed: Array
    """Shape (n_shares, k, n_variants)."""
    cells: Array
    u_cells: Array
    cell_lower: Array
    cell_upper: Array
    weight: Array
    doubt: Array
    ranks: NDArray[np.intp]
    levels: AnyLevels
    scores: Array
    middle: Array
    radius: Array
    below_chord: Array
    above_chord: Array
    finer: int
    between_share: Array
    between_away: Array


class VariantMaxima(NamedTuple):
    """The largest term of each variant, the piece of its scores where it is, and the slope there; shape (k, n)."""

    best: Array
    piece: NDArray[np.int8]
    slope: Array


def loops() -> Callable[..., None] | None:
    """Return the compiled loops, or None."""
    return None


def largest_variant_terms(compiled: Callable[..., None], inputs: VariantInputs) -> VariantMaxima:
    """Bound the term of each variant from above (Lemma 26), for each of k directions."""
    shape = inputs.score.shape
    found = VariantMaxima(np.empty(shape), np.zeros(shape, dtype=np.int8), np.zeros(shape))
    fields: Iterator[Any] = (field for each in inputs for field in (each if isinstance(each, AnyLevels) else (each,)))
    # Arrays of one kind alone, or the loops would be compiled once more: contiguous, and not read-only.
    compiled(*(np.require(each, requirements=["C", "W"]) if np.ndim(each) else each for each in fields), *found)
    return found
