"""Certificates without training rows: what is known without rows, and ends of scores in directions that are no rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from ipub.certificates import Certificate, DrawBounds, TrainedModel
from ipub.model_sets.base import FEWEST_ROWS
from ipub.model_sets.supports import SupportBounds, coarse
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

    They are columns of the Hessian at the model, a sum over all rows, in which a set to first order has its ends; and
    rows drawn at random, always the same numbers for the same table, from what is known of each column (means of five
    or more of its values that follow each other in order) and of the correlations of all rows, with noise.
    """
    problem, solution = model
    d = problem.rows.n_features
    if d > MOST_COLUMNS or not isinstance(engine_of(problem.rows), MemoryRows):
        return None
    seen = _seen_rows(model)
    if len(seen) < FEWEST_ROWS:
        return np.empty((0, d))
    hessian = np.asarray(problem.evaluate(solution.w, solution.dual_loss).hessian)
    hessian = hessian if hessian.shape == (d, d) and np.isfinite(hessian).all() else np.empty((0, d))
    drawn = _drawn_rows(seen, min(PER_COLUMN * d, MOST_DIRECTIONS))
    return coarse(np.vstack([hessian, drawn]))


def _seen_rows(model: TrainedModel) -> Array:
    """Return the first training rows that count, with cells that are missing at the middle of their intervals."""
    parts, n_seen = [], 0
    for block in model.problem.rows.blocks():
        parts.append(np.asarray(block.center)[np.asarray(block.weight) > 0.0][: SEEN_ROWS - n_seen])
        n_seen += len(parts[-1])
        if n_seen >= SEEN_ROWS:
            break
    return np.concatenate(parts)


def _drawn_rows(rows: Array, n_drawn: int) -> Array:
    """Draw rows whose columns have about the values and the correlations of a table (a Gaussian copula)."""
    n, d = rows.shape
    rng = np.random.default_rng(0)
    by_value, n_bins = np.sort(rows, axis=0), min(n // FEWEST_ROWS, MOST_BINS)
    values = np.array([by_value[part].mean(axis=0) for part in np.array_split(np.arange(n), n_bins)])
    deviation = rows.std(axis=0)
    standardised = (rows - rows.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    root = np.linalg.cholesky(standardised.T @ standardised / n + 1e-6 * np.eye(d))
    # A constant column has no correlations: its root is nearly zero, and its numbers those of any bin.
    normal = rng.normal(size=(n_drawn, d)) @ root.T
    which = np.minimum((ndtr(normal) * n_bins).astype(int), n_bins - 1)
    drawn: Array = values[which, np.arange(d)] + NOISE * deviation * (rng.normal(size=(n_drawn, d)) @ root.T)
    return drawn
