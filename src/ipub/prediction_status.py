"""Whether predictions are certain, open or not proved to be either, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipub.certainty import is_certain
from ipub.certificates import RowSumBounds, is_on_one_side
from ipub.data.interval_matrix import IntervalMatrix
from ipub.errors import IpubError
from ipub.progress import progress
from ipub.rounding import Array
from ipub.training import Training

CERTAIN, OPEN, UNPROVED = "certain", "open", "unproved"


def prediction_status(training: Training, rows: IntervalMatrix, effort: float, verbose: int = 0) -> NDArray[np.str_]:
    """Return for each row whether its class is certain, open or neither of both is proved.

    Parameters
    ----------
    training : Training
        Of a classifier.
    rows : IntervalMatrix
        As `Training.table` reads them.
    effort : float
        Seconds of processor time for a row that bounds leave uncertain and no filling is known to flip.
    verbose : int
        Whether progress is shown.
    """
    if training.classes is None:
        raise IpubError("predict_status is for classes: in a regression, look at predict_bounds.")
    status = np.full(rows.shape[0], UNPROVED, dtype="<U8")
    status[is_certain(training.score_bounds(rows, verbose=verbose))] = CERTAIN
    left = np.flatnonzero(status == UNPROVED)
    if len(training.classes) > 2 or not training.models or not len(left):
        return status
    attained = training.attained_bounds(rows.take(left), verbose=verbose).bounds
    is_open = (attained[:, 0] < 0.0) & (attained[:, 1] > 0.0)
    status[left[is_open]] = OPEN
    left = left[~is_open]
    row_sums = training.certificates[0].part(RowSumBounds)
    if row_sums is None or row_sums.path is None or not len(left):
        return status
    with progress("Certainty of single rows", len(left), bool(verbose)) as report:
        for done, k in enumerate(left):
            row = training.extended(rows.take(np.array([k])))
            if not len(row.cells[0]) and not len(row.missing_categories):
                t: Array = row.center[0]
                if is_on_one_side(row_sums.path, t, 0.0, effort):
                    status[k] = CERTAIN
            report(done + 1)
    return status
