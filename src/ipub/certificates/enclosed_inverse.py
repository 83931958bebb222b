"""The inverse of an unknown matrix between two known ones, with certainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.rounding import EPS, Array, norm_upper, sum_error, up

MARGINS = (1e-1, 1e-2, 1e-4, 1e-6, 1e-8)
"""Shares of the diagonal tried as proof of positive definiteness (Lemma 5)."""


@dataclass(frozen=True)
class EnclosedInverse:
    """Symmetric C and E with ``-E <= H^-1 - C <= E`` in the order of matrices, for all H between L and U."""

    center: Array
    spread: Array

    @classmethod
    def between(cls, lower: Array, upper: Array) -> EnclosedInverse | None:
        """Enclose the inverses of all symmetric H with ``lower <= H <= upper``; None if that fails."""
        lower_inverse, upper_inverse = _inverse(lower), _inverse(upper)
        if lower_inverse is None or upper_inverse is None:
            return None
        (large, large_error), (small, small_error) = lower_inverse, upper_inverse
        center, spread = 0.5 * large + 0.5 * small, 0.5 * large - 0.5 * small
        # Rounding of both, entry by entry, and then as a diagonal (F7).
        scale = np.sqrt(np.diag(large) + np.diag(small))
        size = np.abs(large) + np.abs(small)
        worst = float((size / np.outer(scale, scale)).max())
        rounding = (8.0 * EPS * len(scale) * worst) * scale**2
        diagonal = up(np.maximum(large_error, small_error) + up(rounding))
        spread[np.diag_indices(len(scale))] += up(diagonal * (1.0 + 8.0 * EPS))
        return cls(center, spread) if np.isfinite(spread).all() else None

    def spread_upper(self, X: Array) -> Array:
        """Bound ``sqrt(x.E x)`` for each row x."""
        d = X.shape[1]
        value = np.einsum("ij,ij->i", X @ self.spread, X)
        error = sum_error(np.einsum("ij,ij->i", np.abs(X) @ np.abs(self.spread), np.abs(X)), 2 * d + 2)
        return up(np.sqrt(np.maximum(0.0, up(value + error))))


def _inverse(matrix: Array) -> tuple[Array, Array] | None:
    """Return a symmetric approximate inverse and e, with ``-diag(e) <= M^-1 - approximation <= diag(e)`` (Lemma 5)."""
    if not np.isfinite(matrix).all():
        return None
    d = len(matrix)
    diagonal = np.diag(matrix)
    margin = _definiteness(matrix)
    if margin is None:
        return None
    try:
        rough = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    inverse: Array = 0.5 * rough + 0.5 * rough.T
    residual = np.abs(np.eye(d) - matrix @ inverse)
    residual = up(residual + sum_error(np.eye(d) + np.abs(matrix) @ np.abs(inverse), d + 3))
    scale = np.sqrt(diagonal)
    relative = up(up(residual * scale) / scale[:, None]) * (1.0 + 8.0 * EPS)
    factor = up(2.0 * float(norm_upper(relative.ravel())) / margin)
    return inverse, up(up(factor / diagonal) * (1.0 + 8.0 * EPS))


def _definiteness(matrix: Array) -> float | None:
    """Return s with ``M >= (s/2) diag(M)``, proved by a Cholesky factorisation with a finite factor (Lemma 5)."""
    d = len(matrix)
    diagonal = np.diag(matrix)
    if not (diagonal > 0.0).all():
        return None
    for margin in MARGINS:
        if margin < 16.0 * d * (d + 2) * EPS:
            break
        try:
            factor = np.linalg.cholesky(matrix - np.diag(margin * diagonal))
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(factor).all():  # not every LAPACK refuses a NaN pivot
            return margin
    return None
