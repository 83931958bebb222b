"""Symmetric matrices with certainty: which is positive definite, what is its inverse, how large is its form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ipub.rounding import EPS, UNDERFLOW, Array, norm_upper, sum_error, sum_upper, up

MARGINS = (1e-1, 1e-2, 1e-4, 1e-6, 1e-8)
"""Shares of the diagonal tried as proof of positive definiteness (Lemma 5)."""

LARGER = (1.0 + 1e-4, 1.01, 1.1, 2.0, 10.0)
"""Factors by which an estimated ratio of forms is enlarged until it is proved."""


def definiteness(matrix: Array) -> float | None:
    """Return s with ``M >= (s/2) diag(M)``, proved by a Cholesky factorisation with a finite factor (Lemma 5)."""
    d = len(matrix)
    diagonal = np.diag(matrix)
    if not (np.isfinite(matrix).all() and (diagonal > UNDERFLOW).all()):
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


@dataclass(frozen=True)
class Inverse:
    """A symmetric Z and e >= 0 with ``-diag(e) <= M^-1 - Z <= diag(e)`` in the order of matrices."""

    center: Array
    error: Array

    @classmethod
    def of(cls, matrix: Array) -> Inverse | None:
        """Enclose the inverse of a matrix; None if it cannot be proved positive definite (Lemma 5)."""
        d = len(matrix)
        diagonal = np.diag(matrix)
        margin = definiteness(matrix)
        if margin is None:
            return None
        try:
            rough = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return None
        center: Array = 0.5 * rough + 0.5 * rough.T
        residual = np.abs(np.eye(d) - matrix @ center)
        residual = up(residual + sum_error(np.eye(d) + np.abs(matrix) @ np.abs(center), d + 3))
        scale = np.sqrt(diagonal)
        relative = up(up(residual * scale) / scale[:, None]) * (1.0 + 8.0 * EPS)
        factor = up(2.0 * float(norm_upper(relative.ravel())) / margin)
        error = up(up(factor / diagonal) * (1.0 + 8.0 * EPS))
        return cls(center, error) if np.isfinite(error).all() and np.isfinite(center).all() else None

    def norm_upper(self, X: Array) -> Array:
        """Bound ``sqrt(x.M^-1 x)`` for each row x."""
        return up(np.sqrt(up(form_upper(self.center, X) + sum_upper(X**2 @ self.error, X.shape[1] + 2))))


@dataclass(frozen=True)
class EnclosedInverse:
    """Symmetric C and E with ``-E <= H^-1 - C <= E`` in the order of matrices, for all H between L and U."""

    center: Array
    spread: Array

    @classmethod
    def between(cls, lower: Array, upper: Array) -> EnclosedInverse | None:
        """Enclose the inverses of all symmetric H with ``lower <= H <= upper``; None if that fails."""
        large, small = Inverse.of(lower), Inverse.of(upper)
        if large is None or small is None:
            return None
        center, spread = 0.5 * large.center + 0.5 * small.center, 0.5 * large.center - 0.5 * small.center
        # Rounding of both, entry by entry, and then as a diagonal (F7).
        scale = np.sqrt(np.diag(large.center) + np.diag(small.center))
        size = np.abs(large.center) + np.abs(small.center)
        worst = float((size / np.outer(scale, scale)).max())
        rounding = (8.0 * EPS * len(scale) * worst) * scale**2
        diagonal = up(np.maximum(large.error, small.error) + up(rounding))
        spread[np.diag_indices(len(scale))] += up(diagonal * (1.0 + 8.0 * EPS))
        return cls(center, spread) if np.isfinite(spread).all() else None


def form_upper(matrix: Array, X: Array) -> Array:
    """Bound ``max(0, x.M x)`` for each row x, for a symmetric matrix of floats (F2)."""
    value = np.einsum("ij,ij->i", X @ matrix, X)
    size = np.abs(X)
    error = sum_error(np.einsum("ij,ij->i", size @ np.abs(matrix), size), 2 * X.shape[1] + 2)
    return np.asarray(np.maximum(0.0, up(value + error)))


def root_form_upper(matrix: Array, X: Array) -> Array:
    """Bound ``sqrt(x.M x)`` for each row x."""
    return up(np.sqrt(form_upper(matrix, X)))


def greatest_ratio_upper(matrix: Array, metric: Array) -> float:
    """Bound the greatest of ``z.M z / z.metric z`` from above: proved where ``mu metric - M`` is positive definite."""
    d = len(metric)
    try:
        estimate = float(max(eigh(matrix, metric, eigvals_only=True)[-1], 0.0))
    except (LinAlgError, ValueError):
        return np.inf
    for factor in LARGER:
        mu = factor * estimate + UNDERFLOW
        rounding = up((8.0 * EPS * d) * (mu * np.diag(metric) + np.abs(np.diag(matrix))))
        if definiteness(mu * metric - matrix - np.diag(rounding)) is not None:
            return mu
    return np.inf
