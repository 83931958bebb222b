"""Norms of sums of generators over all moves (Lemma 20 (ii))."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ipub.certificates.around_filling.largest_sums import largest_sum_upper
from ipub.certificates.around_filling.metric import largest_eigenvalue_upper
from ipub.certificates.around_filling.units import MovableRows
from ipub.data.interval_matrix import Indices
from ipub.rounding import EPS, UNDERFLOW, Array, norm_upper, sum_upper, up

LEADING = 0.6
"""Eigenvectors with at least this share of the largest eigenvalue count in the choice of weights."""


def sum_norm_upper(movable: MovableRows, count_of: Callable[[int], int], Z: Array, error: Array, rounds: int) -> Array:
    """Bound ``|sum_k t_k z_k|`` over all moves, z_k being a generator of unit k, for each of several sets of vectors.

    Parameters
    ----------
    movable : MovableRows
    count_of : callable
        How many units of a group may move.
    Z : array of shape (n_sets, n_generators, d)
        One vector for each of `movable.generators`.
    error : array of shape (n_sets, n_generators)
        Bounds of what each of them is off by.
    rounds : int
        Choices of weights that are tried; any are valid.
    """
    total = np.zeros(len(Z))
    unit = movable.option_unit[movable.generators]
    for group, (units, _) in enumerate(movable.groups):
        if len(units) == 0 or count_of(group) == 0:
            continue
        position = np.full(movable.n_units, -1)
        position[units] = np.arange(len(units))
        chosen = np.flatnonzero(position[unit] >= 0)
        part = Z if len(chosen) == Z.shape[1] else Z[:, chosen]
        doubt = error if len(chosen) == Z.shape[1] else error[:, chosen]
        total = up(total + _norm_upper(part, doubt, position[unit[chosen]], len(units), count_of(group), rounds))
    return total


def _greatest(values: Array, unit: Indices, n_units: int) -> Array:
    """Return the greatest value of each unit; units never decrease."""
    if len(unit) == n_units:
        return values
    return np.asarray(np.maximum.reduceat(values, np.searchsorted(unit, np.arange(n_units)), axis=-1))


def _norm_upper(Z: Array, error: Array, unit: Indices, n_units: int, count: int, rounds: int) -> Array:
    n_generators = Z.shape[1]
    size = norm_upper(Z)
    unit_size = _greatest(size, unit, n_units)
    doubt = largest_sum_upper(_greatest(error, unit, n_units), count)
    best = largest_sum_upper(unit_size, count)
    top = unit_size.max(axis=1, initial=0.0)[:, None]
    weights = np.maximum(unit_size, 1e-6 * top) + UNDERFLOW
    for number in range(rounds):
        # A sum of squares z z^T / o; its rounding is relative to its trace (F7).
        scaled = Z / weights[:, unit][..., None]
        forms = scaled.transpose(0, 2, 1) @ Z
        trace = sum_upper((size * size / weights[:, unit]).sum(axis=1), n_generators + 4)
        largest = up(largest_eigenvalue_upper(forms) + up((n_generators + 16) * EPS * trace))
        best = np.fmin(best, up(np.sqrt(up(largest_sum_upper(weights, count) * largest))))
        if number + 1 < rounds:
            weights = _next_weights(Z, forms, weights, unit_size, unit, n_units, number == 0)
    return np.asarray(up(best + doubt))


def _next_weights(
    Z: Array, forms: Array, weights: Array, unit_size: Array, unit: Indices, n_units: int, is_first: bool
) -> Array:
    """Move weights towards the units that the leading eigenvectors see."""
    forms = np.nan_to_num(0.5 * (forms + forms.transpose(0, 2, 1)), posinf=0.0, neginf=0.0)
    values, vectors = np.linalg.eigh(forms)
    leading = vectors * (values >= LEADING * values[:, -1:])[:, None, :]
    along = Z @ leading
    if is_first:
        seen = _greatest(np.abs(along).sum(axis=2), unit, n_units)
        weights = np.maximum(0.5 * unit_size + 0.5 * seen, 1e-3 * unit_size)
    else:
        seen = _greatest(np.sqrt((along**2).sum(axis=2)), unit, n_units)
        weights = weights * np.sqrt(seen / weights + 1e-3)
    return np.asarray(np.maximum(weights, 1e-6 * weights.max(axis=1, keepdims=True, initial=0.0)) + UNDERFLOW)
