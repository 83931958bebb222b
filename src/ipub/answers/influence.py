"""How much of the width of predictions each missing value causes: what is proved, and an estimate to first order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ipub.answers.known_values import KnownValues, fast_certificate
from ipub.answers.missing_values import MissingValues
from ipub.answers.value_effects import ValueEffects
from ipub.certificates import DrawBounds
from ipub.errors import IpubError
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import Array, down, overflow_means_unbounded, sum_error, up
from ipub.progress_bars import progress
from ipub.rows import MemoryRows, engine_of
from ipub.tables.interval_matrix import Indices
from ipub.tables.movable_units import HOLES
from ipub.training import Training

BY = ("cell", "row", "column", "level")

MOST_TRAINING_ROWS = 1_000
"""Training rows, evenly spaced, that stand for the whole model where no rows are given: time."""


@dataclass(frozen=True, eq=False)
class Influence:
    """What knowing missing values takes from the width of the range of scores, on the average over rows and models.

    The exact range of each score over all fillings becomes narrower by at least `lower` and at most `upper` once the
    value is known, whatever it is (thm-known-value).
    """

    lower: Array
    upper: Array
    estimate: Array
    """To first order, with all other values staying where they are. No bound."""


def influence_of_values(training: Training, rows: Array | None, by: str, verbose: int = 0) -> Any:
    """Return a frame of the missing values, or of rows, columns or levels of them, those with most influence first.

    `rows` are as in `Training.extended`, without holes; None stands for rows of the training table.
    """
    if by not in BY:
        raise IpubError(f"by is {by!r}: use {', '.join(map(repr, BY))}.")
    training.check_certified()
    refuse_draws(training)
    missing = MissingValues.of(training)
    training.check_search()
    rows = _training_rows(training) if rows is None else rows
    with single_threaded_blas(rows.shape[1]), progress("Influence", len(training.models), bool(verbose)) as report:
        if by == "level":
            return _of_levels(training, missing, rows)
        found = Influence(*(np.zeros(len(missing)) for _ in range(3)))
        for k in range(len(training.models)):
            found = _added(found, _of_model(training, missing, k, rows))
            report(k + 1)
        found = _mean(found, len(rows) * len(training.models))
        width = mean_width(training, rows)
        groups, n_groups = _groups(missing, by)
        each = found.estimate if training.around is None else _estimate_of_budget(training, missing, rows)
        estimate = np.bincount(groups, each, minlength=n_groups).astype(float)
        grouped = Influence(*_summed(groups, n_groups, found, width), estimate)
    order = np.argsort(-grouped.estimate, kind="stable")
    columns = {name: values[order] for name, values in vars(grouped).items()}
    if by == "cell":
        return missing.frame(order, **columns)
    return missing.frame_by(by, order, **columns)


def refuse_draws(training: Training) -> None:
    """Raise an error where the bounds are about draws, of which single values are no part."""
    if any(each.part(DrawBounds) is not None for each in training.certificates):
        raise IpubError(
            "Draws promise something of random fillings, and nothing of single missing values: fit with "
            "uncertainty='worst', or with a Budget."
        )


def mean_width(training: Training, rows: Array) -> float:
    """Bound the mean width of the exact ranges of scores, from above, by bounds that take little time."""
    widths = []
    for certificate in training.certificates:
        bounds = fast_certificate(certificate).score_bounds(rows)
        widths.append(up(bounds[:, 1] - bounds[:, 0]))
    total = np.concatenate(widths)
    return float(up(up(total.sum() + sum_error(total.sum(), len(total) + 2)) / max(1, len(total))))


def _training_rows(training: Training) -> Array:
    engine = engine_of(training.models[0].problem.rows)
    assert isinstance(engine, MemoryRows)
    n = engine.n_rows
    which = np.arange(n) if n <= MOST_TRAINING_ROWS else np.linspace(0, n - 1, MOST_TRAINING_ROWS).astype(np.intp)
    return training.extended(engine.matrix.take(which)).center


def _of_model(training: Training, missing: MissingValues, k: int, rows: Array) -> Influence:
    """Add up over rows what the missing values do to the scores of one model."""
    n = len(missing)
    estimate = np.zeros(n)
    for part, low, high in ValueEffects.of(training, missing, k).in_parts(rows):
        estimate[part] = (high - low).sum(axis=0)
    known = None
    if training.around is None:
        known = KnownValues.of(missing, training.models[k], training.certificates[k])
    if known is None:
        return Influence(np.zeros(n), np.full(n, np.inf), estimate)
    lower, upper = np.zeros(n), np.zeros(n)
    for some in known.in_parts(rows):
        lower += some.lower.sum(axis=0)
        upper += some.upper.sum(axis=0)
    return Influence(lower, upper, estimate)


def _added(one: Influence, other: Influence) -> Influence:
    return Influence(one.lower + other.lower, one.upper + other.upper, one.estimate + other.estimate)


def _mean(found: Influence, count: int) -> Influence:
    """Divide sums of so many terms by their number, rounded outward."""
    with overflow_means_unbounded():
        lower = down(down(found.lower - sum_error(found.lower, count + 2)) / max(1, count))
        upper = up(up(found.upper + sum_error(found.upper, count + 2)) / max(1, count))
    return Influence(
        np.maximum(lower, 0.0), np.nan_to_num(upper, nan=np.inf, posinf=np.inf), found.estimate / max(1, count)
    )


def _summed(groups: Indices, n_groups: int, found: Influence, width: float) -> tuple[Array, Array]:
    """Add up what is proved over groups: no group takes away more than the width of the bounds."""
    lower = np.bincount(groups, found.lower, minlength=n_groups).astype(float)
    upper = np.bincount(groups, found.upper, minlength=n_groups).astype(float)
    with overflow_means_unbounded():
        lower = np.maximum(down(lower - sum_error(lower, len(groups) + 2)), 0.0)
        upper = np.fmin(np.nan_to_num(up(upper + sum_error(upper, len(groups) + 2)), nan=np.inf, posinf=np.inf), width)
    return np.minimum(lower, upper), upper


def _groups(missing: MissingValues, by: str) -> tuple[Indices, int]:
    if by == "cell":
        return np.arange(len(missing)), len(missing)
    of_each = missing.rows if by == "row" else missing.columns
    names, groups = np.unique(of_each, return_inverse=True)
    return groups.astype(np.intp), len(names)


def _of_levels(training: Training, missing: MissingValues, rows: Array) -> Any:
    """Return the frame of every level of every missing category."""
    n, levels = missing.n_numbers, missing.matrix.missing_categories
    if training.around is not None:
        raise IpubError("by='level' is for uncertainty='worst': a Budget counts missing values, whatever their level.")
    counts = np.array([len(levels.levels[k].columns) for k in levels.categories], dtype=np.intp)
    starts, count = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp), len(rows) * len(training.models)
    total = Influence(np.zeros(starts[-1]), np.zeros(starts[-1]), np.zeros(starts[-1]))
    for k, model in enumerate(training.models):
        effects = ValueEffects.of(training, missing, k)
        for part, low, high in effects.in_parts(rows):
            here = np.arange(max(part.start, n), max(part.stop, n)) - n
            widths = (high - low).sum(axis=0)[-len(here) :] if len(here) else np.zeros(0)
            for each, value in zip(here, widths, strict=True):
                total.estimate[starts[each] : starts[each + 1]] += value
        known = KnownValues.of(missing, model, training.certificates[k])
        if known is None:
            total.upper[:] = np.inf
            continue
        for _, found in known.at_levels(rows):
            at = starts[found.which - n][:, None] + np.arange(found.lower.shape[2])
            total.lower[at] += found.lower.sum(axis=0)
            total.upper[at] += found.upper.sum(axis=0)
    mean = _mean(total, count)
    mean = Influence(mean.lower, np.fmin(mean.upper, mean_width(training, rows)), mean.estimate)
    order = np.argsort(-mean.estimate, kind="stable")
    value = np.repeat(np.arange(n, len(missing)), counts)[order]
    position = (np.arange(starts[-1]) - np.repeat(starts[:-1], counts))[order]
    names = [missing.in_units(int(k), float(level)) for k, level in zip(value, position, strict=True)]
    return missing.frame(value, level=names, **{name: values[order] for name, values in vars(mean).items()})


def _estimate_of_budget(training: Training, missing: MissingValues, rows: Array) -> Array:
    """Return how much narrower ranges become to first order if a value is left out of a budget: the next takes over."""
    assert training.around is not None
    k, total = training.around.moves.count(HOLES), np.zeros(len(missing))
    for model in range(len(training.models)):
        low, high = ValueEffects.of(training, missing, model).lowest_and_highest(rows)
        for effects in (-low, high):
            # The first that the budget does without.
            next_one = 0.0 if k >= len(missing) else -np.partition(-effects, k, axis=1)[:, [k]]
            total += np.maximum(effects - next_one, 0.0).sum(axis=0)
    return np.asarray(total / (max(1, len(rows)) * len(training.models)))
