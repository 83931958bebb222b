"""Predictions that are to become certain: what they lack, and which missing values keep them from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certainty import is_certain
from ipub.answers.influence import refuse_draws
from ipub.answers.missing_values import MissingValues
from ipub.answers.value_effects import ValueEffects
from ipub.certificates import CERTIFICATES, EFFORT, Certificate
from ipub.certificates.row_sums.bounds import bounds_around_filling
from ipub.errors import IpubError
from ipub.model_sets.base import ModelSet
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.training import Training
from ipub.training.deferred import done
from ipub.training.training import Certified

Which = NDArray[np.bool_]
"""Shape (n_missing,): which missing values are known."""


class Lacks(NamedTuple):
    """What keeps open rows from being certain, and how much of it each missing value may take away."""

    gap: Array
    """Shape (n_open,): by how much the bound of an open row would have to move."""
    harm: Array
    """Shape (n_open, n_missing): to first order, scaled so that all values together are what the bound has."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Rows that are to become certain, with what is known of them."""

    training: Training
    missing: MissingValues
    rows: IntervalMatrix
    threshold: float
    """The score at which the answer changes."""
    effort: float
    bounds: Array
    """As of `Training.score_bounds`."""
    scores: Array
    """Shape (m,), or (m, K): under the model of `predict`."""
    certain: NDArray[np.bool_]
    """Which rows are certain now."""

    @classmethod
    def of(
        cls, training: Training, rows: IntervalMatrix, scores: Array, threshold: float | None, effort: float = EFFORT
    ) -> Predictions:
        """Bound the rows; in a regression they are certain if it is certain on which side of the threshold they are."""
        if training.classes is None and threshold is None:
            raise IpubError("A regression has no classes: give a threshold, and a prediction is certain on one side.")
        if training.classes is not None and threshold is not None:
            raise IpubError("threshold is for regressions: classes need none.")
        training.check_certified()
        refuse_draws(training)
        missing = MissingValues.of(training)
        training.check_search()
        at = 0.0 if threshold is None else float(threshold)
        if not np.isfinite(at):
            raise IpubError(f"threshold is {threshold!r}: give a finite number, in the units of the target.")
        bounds = training.score_bounds(rows, effort=effort)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return cls(training, missing, rows, at, effort, bounds, scores, is_certain(bounds, at))

    @property
    def centers(self) -> Array:
        """The rows as the models see them, with own missing values at the middle."""
        return self.training.extended(self.rows).center

    def lacks(self) -> Lacks:
        """Return what keeps the open rows from being certain, and which missing values do."""
        open_rows = np.flatnonzero(~self.certain)
        rows = self.centers[open_rows]
        if not len(open_rows):
            return Lacks(np.zeros(0), np.zeros((0, len(self.missing))))
        if self.bounds.ndim == 2:
            low, high = ValueEffects.of(self.training, self.missing).lowest_and_highest(rows)
            above = self.scores[open_rows] > self.threshold
            harm = np.where(above[:, None], -low, high)
            lower, upper = self.bounds[open_rows].T
            gap = np.where(above, self.threshold - lower, upper - self.threshold)
            margin = np.abs(self.scores[open_rows] - self.threshold)
        else:
            gap, margin, harm = self._of_classes(open_rows, rows)
        total = harm.sum(axis=1)
        gap = np.where(np.isfinite(gap), np.maximum(gap, 0.0), np.maximum(total - margin, 0.0))
        scale = np.where(total > 0.0, (gap + margin) / np.where(total > 0.0, total, 1.0), 0.0)
        return Lacks(gap, harm * scale[:, None])

    def _of_classes(self, open_rows: Indices, rows: Array) -> tuple[Array, Array, Array]:
        """Return gaps, margins and harms of the class in front against the one that its bounds overlap most."""
        m, n = len(open_rows), len(self.missing)
        scores, bounds, k = self.scores[open_rows], self.bounds[open_rows], np.arange(len(open_rows))
        first = scores.argmax(axis=1)
        others = bounds[..., 1].copy()
        others[k, first] = -np.inf
        second = others.argmax(axis=1)
        gap = others[k, second] - bounds[k, first, 0]
        harm = np.zeros((m, n))
        for number in range(scores.shape[1]):
            low, high = ValueEffects.of(self.training, self.missing, number).lowest_and_highest(rows)
            harm += np.where((first == number)[:, None], -low, 0.0) + np.where((second == number)[:, None], high, 0.0)
        return gap, scores[k, first] - scores[k, second], harm

    # --- what is certain with some values known -----------------------------------------------------------------------

    def certain_if_as_filled(self, known: Which) -> int:
        """Count the predictions that are certain if the known values are what is filled in."""
        return int(np.count_nonzero(self.are_certain_if_as_filled(known)))

    def are_certain_if_as_filled(self, known: Which) -> NDArray[np.bool_]:
        """Return which predictions are certain if the known values are what is filled in."""
        found, open_rows = self.certain.copy(), np.flatnonzero(~self.certain)
        # What is certain now stays so: fewer fillings are left.
        if len(open_rows):
            found[open_rows] = is_certain(self._recertified(known, open_rows), self.threshold)
        return found

    @property
    def have_own_values(self) -> NDArray[np.bool_]:
        """Which rows have missing values of their own, which nobody looks up here."""
        extended = self.training.extended(self.rows)
        found = np.zeros(self.rows.shape[0], dtype=bool)
        found[extended.cells[0]] = True
        found[extended.missing_categories.rows] = True
        return found

    def _recertified(self, known: Which, which: Indices) -> Array:
        """Bound some rows again; around a filled-in table known values are left out of its budget."""
        training = self.training
        if training.around is not None:
            units = self.missing.units(training)[known]
            movable = training.around.movable.without(units[units >= 0])
            certificates = [
                _certificate_around(bounds_around_filling(*model, movable, training.around.moves).found, before)
                for model, before in zip(training.models, training.certificates, strict=True)
            ]
        else:
            models = self.missing.known(training, known, self.missing.filled_in)
            certificates = [CERTIFICATES["tight"](*model) for model in models]
        d = training.coef.shape[1] + training.fit_intercept
        certified = done(Certified.of(tuple(certificates), d, training.fit_intercept))
        return replace(training, certified=certified).score_bounds(
            self.rows.take(which), effort=self.effort, retrains=False
        )


def _certificate_around(found: ModelSet | None, before: Certificate) -> Certificate:
    return before if found is None else Certificate(before.name, (found,), before.gap)
