"""Whether predictions are certain, open or not proved to be either, one by one.

Bounds come first, then fillings, of which two that give different classes settle a row; scores are ruled out only for
the rows that are left. What is said of a row depends on it and the model alone, and is the same wherever it is said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipub.answers.attained import has_two_sides, search_fillings
from ipub.answers.certainty import is_certain
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.filled_in import FilledIn, can_fill_in
from ipub.answers.tipping.flipping import FlipSearch, aims_of
from ipub.certificates import DrawBounds, is_on_one_side
from ipub.certificates.row_sums.bounds import ranges_to_search
from ipub.errors import IpubError
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.training import Training

CERTAIN, OPEN, UNPROVED = "certain", "open", "unproved"

WELL_TRAINED = 1e-6
"""Draws whose models are farther from their optimum than this, as a relative duality gap, show nothing."""


def prediction_status(
    training: Training, rows: IntervalMatrix, effort: float, verbose: int = 0, *, tries_flips: bool = True
) -> NDArray[np.str_]:
    """Return for each row whether its class is certain, open or neither of both is proved.

    `effort` is work for a row that the bounds of `tight` leave uncertain and no filling is known to flip (see `Work`);
    and again, if bounds are pointwise, for these. A row that takes more stays unproved. `tries_flips` is false where
    fillings with few changes were looked for before, and found none.
    """
    if training.classes is None:
        raise IpubError("predict_status is for classes: in a regression, look at predict_bounds.")
    status = np.full(rows.shape[0], UNPROVED, dtype="<U8")
    status[is_certain(training.score_bounds(rows, effort=effort, retrains=False, verbose=verbose))] = CERTAIN
    left = np.flatnonzero(status == UNPROVED)
    if len(training.classes) == 2 and training.can_search and len(left):
        status[left[_is_open(training, rows.take(left), verbose)]] = OPEN
        left = left[status[left] == UNPROVED]
        status[left[_is_on_one_side(training, rows, left, effort, verbose)]] = CERTAIN
        left = left[status[left] == UNPROVED]
    if training.models and any(each.refinement is not None for each in training.certificates) and len(left):
        bounds = training.score_bounds(rows.take(left), effort=effort, verbose=verbose)
        status[left[is_certain(bounds)]] = CERTAIN
        left = left[status[left] == UNPROVED]
    if tries_flips and len(left) and can_fill_in(training):
        status[left[_is_flipped(training, rows.take(left), verbose)]] = OPEN
    return status


def _is_flipped(training: Training, rows: IntervalMatrix, verbose: int) -> NDArray[np.bool_]:
    """Return which rows change their class if values differ from the filled-in ones, as the promise allows."""
    filled, asked = FilledIn.of(training), AskedRows.of(training, rows)
    search, found = FlipSearch(filled, asked), np.zeros(len(asked), dtype=bool)
    with progress("Searching for fillings that tip", len(asked), bool(verbose)) as report:
        for number, aims in enumerate(aims_of(filled, asked, 0.0)):
            if filled.covered == filled.count:
                found[number] = search.can_flip(number, aims)
            else:
                found[number] = search.found(number, aims)[0] <= filled.covered
            report(number + 1)
    return found


def _is_open(training: Training, rows: IntervalMatrix, verbose: int) -> NDArray[np.bool_]:
    """Return which rows have a class from one table and another class from another, clearly, as retraining shows."""
    (certificate,), (model,) = training.certificates, training.models
    is_drawn = certificate.part(DrawBounds) is not None
    if is_drawn and not certificate.gap <= WELL_TRAINED * abs(model.solution.primal):
        return np.zeros(rows.shape[0], dtype=bool)
    return has_two_sides(search_fillings(training, rows, until_two_sides=True, verbose=verbose).bounds)


def _is_on_one_side(
    training: Training, rows: IntervalMatrix, left: Indices, effort: float, verbose: int
) -> NDArray[np.bool_]:
    """Return which rows without holes of their own are on one side of 0 for all models, as ruling it out shows."""
    found = np.zeros(len(left), dtype=bool)
    searched = ranges_to_search(training.certificates[0])
    if searched is None or not len(left) or not effort > 0.0:
        return found
    with progress("Certainty of single rows", len(left), bool(verbose)) as report:
        for k, number in enumerate(left):
            row = training.extended(rows.take(np.array([number])))
            if not len(row.cells[0]) and not len(row.missing_categories):
                found[k] = is_on_one_side(searched, row.center[0], 0.0, effort)
            report(k + 1)
    return found
