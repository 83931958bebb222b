"""Whether a table is the one that a model was trained on: it is trained on again, filled as the model was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.promises import Draws
from ipub.verification.claim import HOLES, Claim
from ipub.verification.plain_losses import Array
from ipub.verification.plain_training import FilledTable, train

SLACK = 4.0
"""Times the distance that follows from the model's duality gap: with an intercept the gap is an estimate."""
SAME = 1e-6
"""Relative difference of weights that is training to another last digit."""
SAME_INTERCEPT = 1e-3
"""The same of intercepts, which no penalty holds."""


class OtherTableError(IpubError):
    """The table is not the one that the model was trained on."""


def check_table(model: Any, claims: list[Claim]) -> None:
    """Raise an OtherTableError if training on the filled-in table does not give the weights of a model.

    The weights of a model of draws are means over them: nothing is checked there.
    """
    if isinstance(model.uncertainty, Draws):
        return
    weights = np.reshape(model.coef_, (len(claims), -1))
    intercepts = np.ravel(model.intercept_)
    for k, claim in enumerate(claims):
        tables = _filled_in(claim)
        if not any(_gives(model, claim, table, weights[k], float(intercepts[k])) for table in tables):
            raise OtherTableError(
                "X and y do not give the model: its weights differ. Give what was given to fit, unchanged; if this is "
                "it, the model was altered."
            )


def _filled_in(claim: Claim) -> Iterator[FilledTable]:
    """Yield the tables that a model may have been trained on: that of a budget, and the middle of all intervals."""
    numbers, categories = claim.numbers, claim.categories
    X, y, share = claim.filled(claim.base)
    if claim.limits.holes is not None:
        yield FilledTable(X, y, share)
        X, share = X.copy(), share.copy()
    holes = numbers.group == HOLES
    rows, columns = numbers.rows[holes], numbers.columns[holes]
    ends = [claim.scaled_cells(each[holes], columns) for each in (numbers.low, numbers.high)]
    X[rows, columns] = 0.5 * ends[0] + 0.5 * ends[1]
    for row, first, stop, group in np.column_stack(categories).tolist():
        if group == HOLES:
            X[row, first:stop] = 1.0 / (stop - first)
    free = claim.free_labels
    share[free] *= 0.5
    yield FilledTable(np.concatenate([X, X[free]]), np.concatenate([y, -y[free]]), np.concatenate([share, share[free]]))


def _gives(model: Any, claim: Claim, table: FilledTable, w: Array, intercept: float) -> bool:
    """Whether training on a table gives the weights, as nearly as the model was trained."""
    objective, d = claim.objective, len(w)
    found = train(table, objective)
    if not np.isfinite(found.error):
        return True
    gap = max(0.0, float(model.dual_gap_))
    off = found.error + SLACK * np.sqrt(2.0 * gap / objective.lam) + SAME * np.abs(w).max(initial=0.0)
    if np.linalg.norm(found.w[:d] - w) > off:
        return False
    if not objective.has_intercept or objective.loss.softened is not None:
        return True
    size = abs(intercept) + found.longest_row * np.linalg.norm(w)
    off = found.longest_row * off + SAME_INTERCEPT * size + 100.0 * np.sqrt(gap)
    return bool(found.lowest_intercept - off <= intercept <= found.highest_intercept + off)
