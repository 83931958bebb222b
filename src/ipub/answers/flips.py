"""How many cells, or labels, would have to differ before a prediction changes sides: a bracket for each row."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.attained import attained_bounds
from ipub.answers.certainty import is_certain
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.brackets import brackets_of
from ipub.answers.tipping.budget_bounds import least_numbers
from ipub.answers.tipping.filled_in import FilledIn
from ipub.answers.tipping.flipping import fewest
from ipub.certificates import EFFORT, TrainedModel, certify_tight
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.rows import with_wrong_labels
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.movable_units import HOLES, WRONG_CELLS
from ipub.training import Training

KINDS = ("holes", "wrong_cells", "labels")

MOST_CERTIFICATES = 40
"""Numbers of wrong labels that are certified, at most, for all rows together: what is not settled by then stays a
bracket."""


class FlipDistance(NamedTuple):
    """For each row, how many cells or labels must differ from what they are before its score can change sides."""

    certified: Array
    """No fewer can change it: proved. Infinite if all of them together cannot."""
    found: Array
    """So many do: a table was found and retrained. Infinite if none was found."""


def flip_distance(
    training: Training,
    rows: IntervalMatrix,
    of: str,
    verbose: int = 0,
    effort: float = EFFORT,
    threshold: float = 0.0,
) -> FlipDistance:
    """Bracket for each row the number of cells or labels that must differ before its score can cross a threshold.

    The training is of two classes, or a regression, with its training rows. They differ if missing values are not the
    filled-in ones, or observed cells or labels are wrong, as `of` says (`KINDS`). Missing values of the rows themselves
    may be anything in their intervals, whatever differs.
    """
    if of not in KINDS:
        raise IpubError(f"of is {of!r}: use {', '.join(map(repr, KINDS))}.")
    if training.classes is not None and len(training.classes) != 2:
        raise IpubError(
            "flip_distance is for two classes, or for a regression: tipping_points counts missing values with more."
        )
    if training.classes is None and of == "labels":
        raise IpubError("of='labels' is for classes: targets that may be off are y_lower and y_upper of fit.")
    if of == "labels":
        return _of_labels(training, rows, verbose)
    group = HOLES if of == "holes" else WRONG_CELLS
    found = brackets_of(training, rows, threshold, group=group, effort=effort, verbose=verbose)
    return FlipDistance(found.at_least, found.at_most)


def _of_labels(training: Training, rows: IntervalMatrix, verbose: int) -> FlipDistance:
    """Bracket the number of labels that must be wrong, with all cells as filled in."""
    training.check_certified()
    training.check_search()
    filled, asked = FilledIn.of(training), AskedRows.of(training, rows)
    ((problem, solution),), count = filled.models, filled.models[0].problem.rows.n_rows

    def with_errors(k: int) -> TrainedModel:
        return TrainedModel(replace(problem, rows=with_wrong_labels(problem.rows, k)) if k else problem, solution)

    @cache
    def certain(k: int) -> NDArray[np.bool_]:
        return is_certain(asked.bounds(certify_tight(*with_errors(k))))

    def is_certain_at(k: int, which: Indices) -> NDArray[np.bool_]:
        return certain(k)[which]

    m = len(asked)
    with progress("Certifying budgets", MOST_CERTIFICATES, bool(verbose)) as report:
        nothing = np.full(m, np.inf)
        certified = least_numbers(is_certain_at, count, certain(count), nothing, report, MOST_CERTIFICATES)
    found = np.full(m, np.inf)
    with progress("Searching for tables that flip", m, bool(verbose)) as report:
        for row, score in enumerate(asked.center @ solution.w):
            side = -1.0 if score > 0.0 else 1.0
            x = asked.highest(row, side * solution.w)
            center = np.where(asked.radius[row] > 0.0, asked.center[row], x)[None]

            def flipping(
                k: int, side: float = side, center: Array = center, radius: Array = asked.radius[row]
            ) -> int | None:
                low, high = attained_bounds(*with_errors(k), center, radius[None]).bounds[0]
                return k if side * (high if side > 0.0 else low) > 0.0 else None

            if np.isfinite(certified[row]):
                least = max(0 if asked.is_uncertain else 1, int(certified[row]))
                smallest = fewest(flipping, least, count)
                found[row] = np.inf if smallest is None else smallest
            report(row + 1)
    return FlipDistance(certified, found)
