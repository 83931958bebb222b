"""Whether predictions are certain, open or not proved to be either, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipub.certainty import is_certain
from ipub.certificates import DrawBounds, RowSumBounds, is_on_one_side
from ipub.data.interval_matrix import IntervalMatrix
from ipub.errors import IpubError
from ipub.progress import progress
from ipub.rounding import Array
from ipub.training import RETRAINING_ERROR, Training

CERTAIN, OPEN, UNPROVED = "certain", "open", "unproved"

WELL_TRAINED = 1e-6
"""Draws whose models are farther from their optimum than this, as a relative duality gap, show nothing."""


def prediction_status(training: Training, rows: IntervalMatrix, effort: float, verbose: int = 0) -> NDArray[np.str_]:
    """Return for each row whether its class is certain, open or neither of both is proved.

    Parameters
    ----------
    training : Training
        Of a classifier.
    rows : IntervalMatrix
        As `Training.table` reads them.
    effort : float
        Seconds of processor time for a row, where bounds are pointwise; and again where they leave it uncertain and no
        filling is known to flip it. A row that takes longer stays unproved.
    verbose : int
        Whether progress is shown.
    """
    if training.classes is None:
        raise IpubError("predict_status is for classes: in a regression, look at predict_bounds.")
    status = np.full(rows.shape[0], UNPROVED, dtype="<U8")
    status[is_certain(training.score_bounds(rows, effort=effort, verbose=verbose))] = CERTAIN
    left = np.flatnonzero(status == UNPROVED)
    if len(training.classes) > 2 or not training.can_search or not len(left):
        return status
    is_open = _is_open(training, rows.take(left), verbose)
    status[left[is_open]] = OPEN
    left = left[~is_open]
    row_sums = training.certificates[0].part(RowSumBounds)
    searched = None if row_sums is None else row_sums.searched
    if searched is None or not len(left):
        return status
    with progress("Certainty of single rows", len(left), bool(verbose)) as report:
        for done, k in enumerate(left):
            row = training.extended(rows.take(np.array([k])))
            if not len(row.cells[0]) and not len(row.missing_categories):
                t: Array = row.center[0]
                if is_on_one_side(searched, t, 0.0, effort):
                    status[k] = CERTAIN
            report(done + 1)
    return status


def _is_open(training: Training, rows: IntervalMatrix, verbose: int) -> NDArray[np.bool_]:
    """Return which rows have a class from one table and another class from another, clearly, as retraining shows."""
    (certificate,), (model,) = training.certificates, training.models
    is_drawn = certificate.part(DrawBounds) is not None
    if is_drawn and not certificate.gap <= WELL_TRAINED * abs(model.solution.primal):
        return np.zeros(rows.shape[0], dtype=bool)
    attained = training.attained_bounds(rows, verbose=verbose).bounds
    least = RETRAINING_ERROR * (1.0 + np.abs(attained).max(axis=1))
    return np.asarray((attained[:, 0] < -least) & (attained[:, 1] > least))
