"""Norms in a metric that a float matrix defines, and eigenvalues, both rounded up (F15)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.rounding import EPS, UNDERFLOW, Array, norm_upper, sum_upper, up


class Whitened(NamedTuple):
    """Vectors ``K z`` of a float matrix K, as computed."""

    vectors: Array
    error: Array
    """Bounds of the norm of what each of them is off by."""
    norm: Array
    """Bounds of the norms of the exact ``K z``."""

    @classmethod
    def of(cls, K: Array, vectors: Array) -> Whitened:
        """Multiply each row z of an array by K (F2)."""
        d = len(K)
        result = vectors @ K.T
        error = up(norm_upper(np.abs(vectors) @ np.abs(K).T) * ((d + 4) * EPS)) + UNDERFLOW
        return cls(result, error, up(norm_upper(result) + error))

    def take(self, chosen: np.ndarray) -> Whitened:
        """Return some of the vectors."""
        return Whitened(self.vectors[chosen], self.error[chosen], self.norm[chosen])

    def form(self, weights: Array) -> Array:
        """Return ``sum_i weights_i a_i a_i^T`` as computed; see `form_errors`."""
        return np.asarray((self.vectors * weights[:, None]).T @ self.vectors)

    def form_errors(self, weights: Array) -> Array:
        """Bound the norm of its rounding error for each of several rows of weights that are not negative (F15)."""
        n = weights.shape[1]
        size = sum_upper(weights @ (self.norm * self.norm), n + 2)
        doubt = sum_upper(weights @ (2.0 * self.norm * self.error), n + 4)
        return up(up(up((n + 8) * EPS * size) + doubt) + UNDERFLOW)


def largest_eigenvalue_upper(forms: Array) -> Array:
    """Bound the largest absolute eigenvalue of each of several symmetric float matrices from above (F15).

    With ``F = Q diag(l) Q^T + R`` it is at most the largest ``|l|`` times ``|Q|^2``, plus ``|R|``, for any Q and l:
    here the computed ones, with ``|Q|^2 <= 1 + |Q^T Q - I|`` and Frobenius' norm of what is left. Infinite where
    nothing is found.
    """
    d = forms.shape[-1]
    result = np.full(len(forms), np.inf)
    finite = np.flatnonzero(np.isfinite(forms).all(axis=(1, 2)))
    forms = 0.5 * (forms[finite] + forms[finite].transpose(0, 2, 1))
    try:
        values, vectors = np.linalg.eigh(forms)
    except np.linalg.LinAlgError:
        return result
    transposed = vectors.transpose(0, 2, 1)
    left = forms - (vectors * values[:, None, :]) @ transposed
    skew = transposed @ vectors - np.eye(d)
    largest = np.abs(values).max(axis=1, initial=0.0)
    rounding = (2 * d + 8) * d * EPS
    # Entries of |Q| |l| |Q|^T are at most (1 + skew) max |l|.
    skew_size = up(norm_upper(skew.reshape(len(forms), -1)) + 2.0 * rounding)
    left_size = up(norm_upper(left.reshape(len(forms), -1)) + up(2.0 * rounding * up(largest * (1.0 + skew_size))))
    found = up(up(largest * up(1.0 + skew_size)) + left_size)
    result[finite] = np.where(np.isnan(found), np.inf, found)
    return result
