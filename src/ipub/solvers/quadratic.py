"""The inner problem of a Newton step: a quadratic of the size of the features, with an l1 term."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from ipub.penalties import soft_threshold
from ipub.rounding import Array

MAX_SWEEPS = 1000


def minimise_quadratic(hessian: Array, linear: Array, lam: float, kappa: float, start: Array) -> Array:
    """Minimise ``z.(H + lam I) z / 2 - linear.z + kappa |z|_1``.

    For ``kappa = 0`` this is one Cholesky solve. Otherwise coordinate descent finds the zeros and the
    signs, and a Cholesky solve on the rest gives the exact minimiser as soon as they are right.
    """
    if kappa == 0.0:
        return solve_shifted(hessian, lam, linear)
    matrix = hessian + lam * np.eye(len(linear))
    diagonal = np.diag(matrix)
    z = start.copy()
    rest = linear - matrix @ z
    for _ in range(MAX_SWEEPS):
        before = z.copy()
        for j in range(len(z)):
            new = soft_threshold(rest[j] + diagonal[j] * z[j], kappa) / diagonal[j]
            if new != z[j]:
                rest -= matrix[j] * (new - z[j])
                z[j] = new
        exact = _solve_with_signs(hessian, linear, lam, kappa, np.sign(z))
        if exact is not None:
            return exact
        if np.abs(z - before).max() <= 1e-15 * np.abs(z).max():
            break
    return z


def _solve_with_signs(hessian: Array, linear: Array, lam: float, kappa: float, signs: Array) -> Array | None:
    """Return the minimiser if `signs` are its signs, else None."""
    on = np.flatnonzero(signs)
    z = np.zeros(len(linear))
    z[on] = solve_shifted(hessian[np.ix_(on, on)], lam, linear[on] - kappa * signs[on])
    off = signs == 0.0
    outside = np.abs(linear - hessian @ z)[off] <= kappa
    return z if (np.sign(z[on]) == signs[on]).all() and outside.all() else None


def solve_shifted(hessian: Array, lam: float, right: Array) -> Array:
    """Solve ``(H + lam I) z = right`` for H positive semidefinite, however close to singular."""
    if not np.isfinite(hessian).all():
        return np.zeros_like(right)
    try:
        return np.asarray(cho_solve(cho_factor(hessian + lam * np.eye(len(right))), right))
    except LinAlgError:
        # Rounding made H + lam I indefinite: clip its negative eigenvalues, which are rounding themselves.
        values, vectors = eigh(hessian)
        return np.asarray(vectors @ ((vectors.T @ right) / (np.maximum(values, 0.0) + lam)))
