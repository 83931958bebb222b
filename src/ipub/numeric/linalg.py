"""Verified linear algebra for symmetric matrices: definiteness, enclosures of inverses, bounds of quadratic forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import EPS, TINY, UNDERFLOW, Array, norm_upper, sum_error, sum_upper, up

MARGINS = (1e-1, 1e-2, 1e-4, 1e-6, 1e-8)
"""Fractions of the diagonal tried in proofs of positive definiteness, the best first (lem-inverse)."""

CHUNK_NUMBERS = 1 << 18
"""Numbers in one chunk of products of rows with several forms: fewer calls against memory."""

PIECE_ROWS, PIECE_COLUMNS = 1024, 64
"""A product of a long array with a matrix of few columns is faster in pieces of so many rows."""

MANY_FORMS, MOST_PAIRED = 8, 64
"""At least so many forms, of at most so many columns, are evaluated by products of pairs, which is then faster."""

ENLARGEMENTS = (1.0 + 1e-4, 1.01, 1.1, 2.0, 10.0)
"""Factors by which an estimated ratio of forms is enlarged until it is proved: the first that succeeds is used."""

WEIGHT_ROUNDS = 3
"""How often the weights of the generators are improved: width against time."""

LEADING = 0.6
"""Directions are improved from this fraction of the worst eigenvalue: width only, any weights are valid."""

WEIGHT_STEP = 0.3
"""How far weights move each time: width only, any weights are valid."""


def definiteness(matrix: Array) -> float | None:
    """Return s with ``M >= (s/2) diag(M)``, proved by a Cholesky factorisation with a finite factor (lem-inverse)."""
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


def rough_inverse(matrix: Array, *, pseudo: bool = False) -> Array:
    """Return about the inverse of a symmetric M >= 0: nothing is proved of it.

    The diagonal is scaled to about 1 first, or the rounding of columns with large numbers drowns those with small
    ones. Raises ``numpy.linalg.LinAlgError`` if there is none, and with `pseudo` only if M is not finite.
    """
    diagonal = np.diag(matrix)
    usable = (diagonal > UNDERFLOW) & (diagonal < np.inf)
    scale = np.ldexp(1.0, -np.frexp(np.sqrt(np.where(usable, diagonal, 1.0)))[1])  # powers of two: exact
    scaled = scale[:, None] * matrix * scale
    inverse = np.linalg.pinv(scaled, hermitian=True) if pseudo else np.linalg.inv(scaled)
    return np.asarray(scale[:, None] * inverse * scale, dtype=float)


@dataclass(frozen=True)
class Inverse:
    """A symmetric Z and e >= 0 with ``-diag(e) <= M^-1 - Z <= diag(e)`` in the order of matrices."""

    center: Array
    error: Array

    @classmethod
    def of(cls, matrix: Array) -> Inverse | None:
        """Enclose the inverse of a matrix; None if it cannot be proved positive definite (lem-inverse)."""
        d = len(matrix)
        diagonal = np.diag(matrix)
        margin = definiteness(matrix)
        if margin is None:
            return None
        try:
            rough = rough_inverse(matrix)
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

    def norm_upper(self, X: Array, sizes: Array | None = None) -> Array:
        """Bound ``sqrt(x.M^-1 x)`` for each row x, ``|x_j| <= sizes_j`` if given: ``0 <= M^-1 <= Z + diag(e)``."""
        return roots_upper(self._upper[None], X, sizes)

    @cached_property
    def _upper(self) -> Array:
        upper = self.center.copy()
        upper[np.diag_indices(len(upper))] = up(np.diag(upper) + self.error)
        return upper


@dataclass(frozen=True)
class EnclosedInverse:
    """Symmetric ``-spread <= H^-1 - center <= spread`` in the order of matrices, for all H between L and U."""

    center: Array
    spread: Array

    @classmethod
    def between(cls, lower: Array, upper: Array) -> EnclosedInverse | None:
        """Enclose the inverses of all symmetric H with ``lower <= H <= upper``; None if that fails."""
        large, small = Inverse.of(lower), Inverse.of(upper)
        if large is None or small is None:
            return None
        center, spread = 0.5 * large.center + 0.5 * small.center, 0.5 * large.center - 0.5 * small.center
        # Rounding of both, entry by entry, and then as a diagonal (fp-forms).
        scale = np.sqrt(np.diag(large.center) + np.diag(small.center))
        size = np.abs(large.center) + np.abs(small.center)
        worst = float((size / np.outer(scale, scale)).max())
        rounding = (8.0 * EPS * len(scale) * worst) * scale**2
        diagonal = up(np.maximum(large.error, small.error) + up(rounding))
        spread[np.diag_indices(len(scale))] += up(diagonal * (1.0 + 8.0 * EPS))
        return cls(center, spread) if np.isfinite(spread).all() else None


def form_upper(matrix: Array, X: Array) -> Array:
    """Bound ``max(0, x.M x)`` for each row x, for a symmetric matrix of floats (fp-sums)."""
    value = np.einsum("ij,ij->i", X @ matrix, X)
    size = np.abs(X)
    error = sum_error(np.einsum("ij,ij->i", size @ np.abs(matrix), size), 2 * X.shape[1] + 2)
    bound: Array = np.maximum(0.0, up(value + error))
    return bound


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
    for factor in ENLARGEMENTS:
        mu = factor * estimate + UNDERFLOW
        rounding = up((8.0 * EPS * d) * (mu * np.diag(metric) + np.abs(np.diag(matrix))))
        if definiteness(mu * metric - matrix - np.diag(rounding)) is not None:
            return mu
    return np.inf


def roots_upper(forms: Array, X: Array, sizes: Array | None = None) -> Array:
    """Bound ``sum_S sqrt(x.S x)`` over several forms ``S >= 0`` of floats, for each row x (fp-forms).

    With `sizes`, where ``|x_j| <= sizes_j`` in all rows, one bound of the rounding error is used for all rows.
    """
    return sum_upper(np.sqrt(forms_upper(forms, X, sizes)).sum(axis=1), len(forms) + 2)


def forms_upper(forms: Array, X: Array, sizes: Array | None = None) -> Array:
    """Bound ``x.S x`` for each row x and each of several forms ``S >= 0`` of floats (fp-forms); see `roots_upper`."""
    d = X.shape[1]
    # |S_jk| <= sqrt(S_jj S_kk), as S >= 0.
    roots = up(np.sqrt(np.einsum("gjj->gj", forms)))
    values = np.zeros((len(X), len(forms)), like=X)
    is_few = len(forms) < MANY_FORMS or d > MOST_PAIRED
    evaluate, width, roundings, lost = _one_by_one(forms) if is_few else _by_pairs(forms)
    for rows in row_slices(len(X), width, CHUNK_NUMBERS):
        chunk = X[rows]
        size = sum_upper((np.abs(chunk) if sizes is None else sizes) @ roots.T, d + 1)
        values[rows] = np.maximum(0.0, up(evaluate(chunk) + up(sum_error(size * size, roundings) + lost)))
    return values


def rows_times(X: Array, matrix: Array) -> Array:
    """Return ``X @ matrix``, computed in pieces of the rows where that is faster."""
    (n, d), k = X.shape, matrix.shape[1]
    whole = n - n % PIECE_ROWS
    if not isinstance(X, np.ndarray) or whole == 0 or k > PIECE_COLUMNS:
        return X @ matrix
    product = np.empty((n, k))
    np.matmul(X[:whole].reshape(-1, PIECE_ROWS, d), matrix, out=product[:whole].reshape(-1, PIECE_ROWS, k))
    np.matmul(X[whole:], matrix, out=product[whole:])
    return product


class FormEvaluation(NamedTuple):
    """A way to evaluate several forms for several rows."""

    evaluate: Callable[[Array], Array]
    """Returns ``x.S x`` for each row x and form S."""
    numbers_per_row: int
    """How many numbers it makes of a row."""
    roundings: int
    """Of one value."""
    underflow: Array
    """What may underflow of a value of each form, beyond what the roundings cover."""


def _one_by_one(forms: Array) -> FormEvaluation:
    d = forms.shape[1]
    side_by_side = np.ascontiguousarray(forms.transpose(1, 0, 2)).reshape(d, -1)

    def evaluate(X: Array) -> Array:
        products = rows_times(X, side_by_side).reshape(len(X), -1, d)
        values: Array = np.einsum("igj,ij->ig", products, X)
        return values

    return FormEvaluation(evaluate, forms.size // d + 1, 2 * d + 4, np.zeros(len(forms)))


def _by_pairs(forms: Array) -> FormEvaluation:
    """Compute the products of pairs of coordinates once for all forms."""
    d = forms.shape[1]
    first, second = np.triu_indices(d)
    pairs = np.where(first == second, 1.0, 2.0) * forms[:, first, second]
    starts = np.append(0, np.cumsum(np.arange(d, 0, -1)))

    def evaluate(X: Array) -> Array:
        columns, products = X.T.copy(), np.empty((starts[-1], len(X)), like=X)
        for j in range(d):
            np.multiply(columns[j], columns[j:], out=products[starts[j] : starts[j + 1]])
        return (pairs @ products).T

    # A product of two coordinates may underflow before a large number multiplies it (fp-forms).
    n_pairs = int(starts[-1])
    return FormEvaluation(evaluate, n_pairs, n_pairs + 4, sum_upper(TINY * np.abs(pairs).sum(axis=1), n_pairs))


def joint_form(forms: Array, typical: Array) -> Array:
    """Return S with ``sqrt(x.S x)`` at least ``sum_g sqrt(x.S_g x)`` for forms ``S_g >= 0`` of floats (lem-joint-form).

    By Cauchy and Schwarz, ``S = sum_g (O/o_g) S_g`` with any ``o_g > 0`` and O their sum; here their sizes where x x^T
    is `typical`.
    """
    weights = positive_weights(np.sqrt(np.maximum(np.einsum("gij,ij->g", forms, typical), 0.0)))
    factors = weights.sum() / weights
    return rounded_up(np.tensordot(factors, forms, axes=1), len(forms) + len(weights) + 8)


def positive_weights(weights: Array) -> Array:
    """Make weights positive: any are valid, and those of terms that vanish should be small."""
    weights = np.where(np.isfinite(weights), weights, 0.0)
    greatest = float(weights.max(initial=0.0))
    return np.maximum(weights, 1e-12 * greatest if greatest > UNDERFLOW else 1.0)


def rounded_up(form: Array, roundings: int, size: Array | None = None) -> Array:
    """Add to a sum of squares what rounding can have taken away, as a diagonal (fp-forms).

    If terms cancel in its diagonal, their squares are its `size`.
    """
    diagonal = np.diag(form) if size is None else size
    return np.asarray(0.5 * (form + form.T) + np.diag(up((4.0 * roundings * EPS * len(form)) * diagonal) + UNDERFLOW))


def zonotope_norm_upper(generators: Array, weights: Array, matrix: Array, roundings: int) -> float:
    """Bound ``sqrt(z.M^-1 z)`` over all ``z = sum_k xi_k G_k`` with ``|xi_k| <= 1``.

    ``z z^T <= (sum_k o_k) sum_k G_k G_k^T / o_k = Q`` for any positive weights o (Cauchy and Schwarz), and ``z.M^-1 z
    <= mu`` where ``mu M - Q >= 0``. The weights are made larger, step by step, where the worst direction meets large
    generators.
    """
    weights = positive_weights(weights)
    best, best_ratio = None, np.inf
    for _ in range(WEIGHT_ROUNDS):
        weights = weights / weights.sum()
        form = (generators / weights[:, None]).T @ generators
        try:
            values, vectors = eigh(form, matrix)
        except (LinAlgError, ValueError):
            return np.inf
        if values[-1] < best_ratio:
            best, best_ratio = form, values[-1]
        worst = np.maximum(values / max(values[-1], TINY) - LEADING, 0.0)
        sizes = np.sqrt((generators @ vectors) ** 2 @ worst)
        weights = positive_weights((1.0 - WEIGHT_STEP) * weights + WEIGHT_STEP * sizes / sizes.sum())
    if best is None:  # every ratio overflowed
        return np.inf
    return form_norm_upper(rounded_up(best, len(generators) + roundings + len(matrix)), matrix)


def form_norm_upper(form: Array, matrix: Array) -> float:
    """Bound ``sqrt(z.M^-1 z)`` over all z with ``z z^T <= form``."""
    return float(up(np.sqrt(greatest_ratio_upper(form, matrix))))
