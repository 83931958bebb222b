"""By which factor intervals may grow before a certain row stops being certain."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ipub.answers.attained import BudgetSearch, attained_bounds
from ipub.answers.certainty import is_certain
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.certificates import Certificate, DrawBounds, TrainedModel, certify_tight
from ipub.certificates.row_sums.bounds import bounds_around_filling
from ipub.numeric.rounding import up
from ipub.rows import MemoryRows, engine_of, on_engine
from ipub.tables.movable_units import HOLES, MovableRows
from ipub.training import Training

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors that are tried: each takes a certificate, which is kept for other rows."""


class Growth(NamedTuple):
    """By which factor the intervals of the training table may grow, all of them, with a row still certain."""

    proved: float
    """By this one at least: proved. 1 if no larger one of those that were tried could be."""
    found: float
    """By this one no more: a filling inside the grown intervals was found that changes the row; infinite if none was,
    up to 10 times."""


def growth_of(training: Training, asked: AskedRows, threshold: float) -> Growth | None:
    """Look how far the intervals may grow about their middles, or the ways of a budget from its filled-in values.

    None where no interval of a number is there to grow, or the bounds are around draws. Categories stay as they are,
    and the row's own intervals. `asked` is one row that is certain.
    """
    is_drawn = any(each.part(DrawBounds) is not None for each in training.certificates)
    if is_drawn or not _has_numbers(training):
        return None
    proved, found, low, high = 1.0, np.inf, -1, len(FACTORS)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_certain(training, FACTORS[middle], asked, threshold):
            proved, low = FACTORS[middle], middle
        else:
            high = middle
    for factor in FACTORS[low + 1 :]:
        if _changes(training, factor, asked, threshold):
            found = factor
            break
    return Growth(proved, found)


def _has_numbers(training: Training) -> bool:
    if training.around is not None:
        movable = training.around.movable
        return bool((movable.is_number & (movable.unit_group == HOLES)).any())
    engine = engine_of(training.models[0].problem.rows)
    return isinstance(engine, MemoryRows) and engine.matrix.n_uncertain > 0


def _grown(model: TrainedModel, factor: float) -> TrainedModel:
    """Return the problem of a model with larger intervals."""
    problem, solution = model
    engine = engine_of(problem.rows)
    assert isinstance(engine, MemoryRows)
    matrix = replace(engine.matrix, radii=up(engine.matrix.radii * factor))
    rows = MemoryRows(matrix, engine.y, engine.weight, engine.label_uncertainty)
    return TrainedModel(replace(problem, rows=on_engine(problem.rows, rows)), solution)


def _grown_movable(training: Training, factor: float) -> MovableRows:
    """Return the units of a budget with larger ways of missing numbers."""
    assert training.around is not None
    movable = training.around.movable
    grows = (movable.is_number & (movable.unit_group == HOLES))[movable.option_unit, None]
    amounts = movable.option_amounts
    grown = np.where(amounts < 0.0, -up(-amounts * factor), up(amounts * factor))
    return replace(movable, option_amounts=np.where(grows & (amounts != 0.0), grown, amounts))


def _is_certain(training: Training, factor: float, asked: AskedRows, threshold: float) -> bool:
    key = ("growth", factor)
    if key not in training.kept:
        training.kept[key] = [_certificate(training, model, factor) for model in training.models]
    certificates: list[Certificate | None] = training.kept[key]
    bounds = [np.tile([-np.inf, np.inf], (1, 1)) if each is None else asked.bounds(each) for each in certificates]
    return bool(is_certain(bounds[0] if len(bounds) == 1 else np.stack(bounds, axis=1), threshold)[0])


def _certificate(training: Training, model: TrainedModel, factor: float) -> Certificate | None:
    if training.around is None:
        return certify_tight(*_grown(model, factor))
    found = bounds_around_filling(*model, _grown_movable(training, factor), training.around.moves).found
    return None if found is None else Certificate("filling", (found,), 0.0)


def _changes(training: Training, factor: float, asked: AskedRows, threshold: float) -> bool:
    """Whether a filling inside larger intervals was found that changes the row, of which two classes are."""
    if len(training.models) > 1 or not training.can_search:
        return False
    (model,) = training.models
    x, radius, w = asked.center[0], asked.radius[0], model.solution.w
    side = -1.0 if x @ w > threshold else 1.0
    x = np.where(radius > 0.0, x, asked.highest(0, side * w))
    if training.around is None:
        low, high = attained_bounds(*_grown(model, factor), x[None], radius[None]).bounds[0]
        score = high if side > 0.0 else low
    else:
        search = BudgetSearch(*model, _grown_movable(training, factor))
        score = search.best(x, radius, side, training.around.moves).score
    return bool(side * (score - threshold) > 0.0)
