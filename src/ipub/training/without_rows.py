"""Certificates without training rows: what is known without rows, and ends of scores in directions that are no rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from ipub.certificates import Certificate, DrawBounds, TrainedModel
from ipub.model_sets.base import FEWEST_ROWS
from ipub.model_sets.supports import SupportBounds, coarse
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import Array
from ipub.rows import MemoryRows, engine_of
from ipub.training.training import Training

MOST_COLUMNS = 64
"""Tables with more columns keep no supports: a search among them takes tens of milliseconds a row."""

PER_COLUMN, MOST_DIRECTIONS = 40, 1600
"""Directions for each column, and of all: width against time. The fewest that reach the widths of the guide."""

SEEN_ROWS = 20_000
"""Training rows that directions are drawn from, at most: time."""

MOST_BINS = 50
"""So many numbers stand for the values of a column; each is a mean of five training rows or more."""

AS_NARROW = 1.02
"""Supports are left out where bounds without them are no more than so many times as wide in their directions: they
would be wider between these."""

NOISE = 0.05
"""Standard deviation of what is added to a drawn value, in that of its column: no two directions are alike, and none is
made of values of the table alone."""


def certificates_without_rows(training: Training) -> tuple[Certificate, ...]:
    """Return certificates that keep no training rows: wider, and less so while the training table is at hand."""
    models = training.models or (None,) * len(training.certificates)
    with single_threaded_blas(training.coef.shape[1]):  # more threads would change last digits
        return tuple(map(_without_rows, training.certificates, models))


def _without_rows(certificate: Certificate, model: TrainedModel | None) -> Certificate:
    draws = certificate.part(DrawBounds)
    supports = None
    if model is not None and (certificate.keeps_training_rows or draws is not None):
        directions = generic_directions(model)
        supports = None if directions is None else SupportBounds.of(certificate.score_bounds, directions)
    if supports is None:
        return certificate.without_training_rows()
    if draws is not None:  # one set for all draws
        member = replace(draws.members[0], parts=(supports,), only_searched=())
        return replace(certificate, parts=(replace(draws, members=(member,)),))
    found = certificate.without_training_rows()
    narrowest = supports.upper - supports.lower
    if np.median(np.ptp(found.score_bounds(supports.directions), axis=1) / narrowest) <= AS_NARROW:
        return found
    return replace(found, parts=(supports, *found.parts))


def generic_directions(model: TrainedModel) -> Array | None:
    """Return directions in which rows to predict may lie, none of which is a training row.

    None for wide tables, and those that are not in memory.

    They are about the columns of the Hessian at the model, in which a set to first order has its ends; and rows drawn
    at random, always the same numbers for the same table, from what is known of each column (means of five or more of
    its values that follow each other in order) and of correlations, with noise. Sums to which a single row adds much
    are left out of both (`_sums_over_many`).
    """
    problem = model[0]
    d = problem.rows.n_features
    if d > MOST_COLUMNS or not isinstance(engine_of(problem.rows), MemoryRows):
        return None
    seen, curvature = _seen_rows(model)
    if len(seen) < FEWEST_ROWS:
        return np.empty((0, d))
    hessian = _hessian(seen, curvature)
    drawn = _drawn_rows(seen, min(PER_COLUMN * d, MOST_DIRECTIONS))
    return coarse(np.vstack([hessian[np.isfinite(hessian).all(axis=1) & hessian.any(axis=1)], drawn]))


def _seen_rows(model: TrainedModel) -> tuple[Array, Array]:
    """Return the first training rows that count, with cells that are missing at the middle of their intervals.

    And the curvature of each row's term of the objective at the model.
    """
    problem, solution = model
    parts: list[Array] = []
    curvatures, n_seen = [], 0
    for block in problem.rows.blocks():
        X, y, weight = np.asarray(block.center), np.asarray(block.y), np.asarray(block.weight)
        some = np.flatnonzero(weight > 0.0)[: SEEN_ROWS - n_seen]
        parts.append(X[some])
        curvatures.append(weight[some] * solution.dual_loss.curvature(y[some], X[some] @ solution.w))
        n_seen += len(some)
        if n_seen >= SEEN_ROWS:
            break
    return np.concatenate(parts), np.concatenate(curvatures)


def _middle(by_value: Array) -> Array:
    """Return the mean of the middle half of each column's values, of five or more: if most are alike, that value."""
    n = len(by_value)
    n_middle = max(n // 2, FEWEST_ROWS)
    first = (n - n_middle) // 2
    found: Array = by_value[first : first + n_middle].mean(axis=0)
    return found


def _sums_over_many(columns: Array, weight: Array) -> Array:
    """Return ``V' diag(weight) V``, V with another column of ones; 0 for each sum that rests on few rows.

    That is one in which the term of a row is more than 1/5 of the sum of the sizes of all: so each of the others is
    over five rows or more. Columns are measured from the value that most rows have: else a value in one row alone would
    be a small part of a sum of which all others cancel.
    """
    V = np.column_stack([columns, np.ones(len(columns))])
    size = np.abs(V)
    sizes, largest = (size.T * weight) @ size, [((weight * each)[:, None] * size).max(axis=0) for each in size.T]
    return np.where(FEWEST_ROWS * np.array(largest) <= (1.0 + 1e-9) * sizes, (V.T * weight) @ V, 0.0)


def _hessian(rows: Array, curvature: Array) -> Array:
    """Return the Hessian of the loss but for sums that rest on few rows; 0 if its curvature is that of few."""
    middle = _middle(np.sort(rows, axis=0))
    sums, back = _sums_over_many(rows - middle, curvature), np.column_stack([np.eye(len(middle)), middle])
    found: Array = back @ sums @ back.T
    return found if sums[-1, -1] > 0.0 else np.zeros_like(found)


def _drawn_rows(rows: Array, n_drawn: int) -> Array:
    """Draw rows whose columns have about the values and the correlations of a table (a Gaussian copula)."""
    n, d = rows.shape
    rng = np.random.default_rng(0)
    by_value, n_bins = np.sort(rows, axis=0), min(n // FEWEST_ROWS, MOST_BINS)
    values = np.array([by_value[part].mean(axis=0) for part in np.array_split(np.arange(n), n_bins)])
    sums = _sums_over_many(rows - _middle(by_value), np.full(n, 1.0 / n))
    variance = np.diag(sums)[:d] - sums[:d, -1] ** 2
    is_of_many = (np.diag(sums)[:d] > 0.0) & (variance > 0.0)
    deviation = np.where(is_of_many, np.sqrt(np.maximum(variance, 0.0)), values.std(axis=0))
    covariance = (sums[:d, :d] - np.outer(sums[:d, -1], sums[:d, -1])) * np.outer(is_of_many, is_of_many)
    scale = np.where(deviation > 0.0, deviation, 1.0)
    sizes, vectors = np.linalg.eigh(covariance / np.outer(scale, scale) + np.diag((~is_of_many).astype(float)))
    root = (vectors * np.sqrt(np.maximum(sizes, 1e-6))) @ vectors.T
    normal = rng.normal(size=(n_drawn, d)) @ root
    which = np.minimum((ndtr(normal) * n_bins).astype(int), n_bins - 1)
    drawn: Array = values[which, np.arange(d)] + NOISE * deviation * (rng.normal(size=(n_drawn, d)) @ root)
    return drawn
