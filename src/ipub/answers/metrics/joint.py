"""All rows together: what they count for is below a sum of lines, a linear form of the weights (lem-lines)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.answers.differences import bounds_of_differences
from ipub.answers.metrics.conflicts import MOST_FACTORS, MOST_ITEMS, conflicting, most_together, open_items
from ipub.answers.metrics.lines import KnownScores, Lines
from ipub.answers.metrics.metric import Ends, Metric
from ipub.answers.metrics.near_scores import NearScores
from ipub.answers.metrics.ways import InBoxes, Way
from ipub.certificates import bounds_of_uncertain_rows
from ipub.numeric.rounding import EPS, TINY, Array, down, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.tables.interval_matrix import Indices
from ipub.training.training import ExtendedRows

MOST_OPEN = 2
"""If more pairs are open than this times those that can be bounded again, that would gain too little: none is."""


@dataclass(frozen=True, eq=False)
class LinearForms:
    """Bounds of sums ``sum_i e_i t_i`` of the scores of some rows, all of one completion's model."""

    bounds_of: Callable[[Array], Array]
    """Returns (k, 2) certified bounds of the scores of k rows without uncertain cells."""
    rows: ExtendedRows
    weights: Array
    """Shape (d, 2): bounds of all weights, the intercept, if there is one, last."""
    n_coef: int
    """How many of them are no intercept."""

    def upper(self, slopes: Array, error: Array, low: Array, high: Array) -> Array:
        """Bound sums from above, shape (k,).

        Parameters
        ----------
        slopes : array of shape (k, m)
        error : array of shape (k, m)
            How far each slope may be off.
        low, high : arrays of shape (m,)
            Bounds of the scores; where they are infinite, slopes and errors are 0.
        """
        center, (in_row, columns, radii), missing = self.rows
        size = np.where(np.isfinite(low), np.maximum(np.abs(low), np.abs(high)), 0.0)
        loss = sum_upper((error * size).sum(axis=1), len(size) + 2)
        if len(missing):
            # What such a row adds is bounded by itself.
            alone = np.unique(missing.rows)
            ends = np.maximum(*(up(slopes[:, alone] * np.where(size > 0.0, each, 0.0)[alone]) for each in (low, high)))
            total = ends.sum(axis=1)
            loss = up(loss + up(total + sum_error(np.abs(ends).sum(axis=1), len(alone))))
            slopes = slopes.copy()
            slopes[:, alone] = 0.0
        made_up, sizes = slopes @ center, np.abs(slopes) @ np.abs(center)
        moved = np.zeros_like(made_up)
        for k, each in enumerate(slopes):
            moved[k] = np.bincount(columns, np.abs(each[in_row]) * radii, minlength=made_up.shape[1])
        moved = np.where(moved > 0.0, sum_upper(moved, len(slopes.T) + 1), 0.0)
        made_up_row, column = np.nonzero(moved)
        cells = made_up_row, column, np.asarray(moved[made_up_row, column])
        found = bounds_of_uncertain_rows(self.bounds_of, made_up, cells, self.weights[: self.n_coef])
        rounded = np.where(sizes > 0.0, sum_error(sizes, len(center) + 1), 0.0)
        loss = up(loss + sum_upper(rounded @ np.abs(self.weights).max(axis=1), len(self.weights) + 2))
        upper: Array = np.nan_to_num(up(found[:, 1] + loss), nan=np.inf, posinf=np.inf)
        return upper


@dataclass(frozen=True, eq=False)
class Joint(Way):
    """Lines for all rows at once; what several metrics of the same rows say of each other."""

    boxes: InBoxes
    forms: LinearForms
    near: NearScores
    most_differences: int
    _found: dict[tuple[str, bytes], Ends] = field(default_factory=dict)
    _found_conflicts: dict[bytes, NDArray[np.bool_]] = field(default_factory=dict)

    def of_group(self, metric: Metric, rows: Indices) -> Ends:
        key = repr(metric), rows.tobytes()
        if key not in self._found:
            ends = self.boxes.of_group(metric, rows)
            for bound in (self._upper, self._upper_of_steps):
                ends = ends.within(Ends(-bound(metric, rows, -1.0), bound(metric, rows, 1.0)))
            others = metric.from_others(lambda other: self.of_group(other, rows), self.boxes.y[rows])
            self._found[key] = ends.within(others)
        return self._found[key]

    def of_difference(self, metric: Metric, first: Indices, second: Indices) -> Ends:
        ends = super().of_difference(metric, first, second)
        return ends.within(
            Ends(-self._upper(metric, second, 1.0, less=first), self._upper(metric, first, 1.0, less=second))
        )

    def _upper(self, metric: Metric, rows: Indices, side: float, less: Indices | None = None) -> float:
        """Bound the metric of some rows, times a side, from above; less that of others, if they are given."""
        of_rows = self._lines(metric, rows, side)
        of_others = None if less is None else self._lines(metric, less, -side)
        if not of_rows or (less is not None and not of_others):
            return np.inf
        m = len(self.boxes.low)
        offsets, slopes, errors = np.zeros(len(of_rows)), np.zeros((len(of_rows), m)), np.zeros((len(of_rows), m))
        for which, lines in ((rows, of_rows), (less, of_others)):
            if which is None or lines is None:
                continue
            for k, each in enumerate(lines):
                offsets[k] = up(offsets[k] + up(each.offset / each.divisor))
                slope = each.slopes / each.divisor
                slopes[k, which] = slope
                errors[k, which] = np.where(
                    slope == 0.0, 0.0, up(up(each.error / each.divisor) + (EPS * np.abs(slope) + TINY))
                )
        ends = up(offsets + self.forms.upper(slopes, errors, self.boxes.low, self.boxes.high))
        return min(
            float(end) if less is not None else rounded_to_unit(float(end), each)
            for end, each in zip(ends, of_rows, strict=True)
        )

    def _upper_of_steps(self, metric: Metric, rows: Indices, side: float) -> float:
        """Bound the metric of some rows, times a side, from above, by rows that cannot count together."""
        steps = metric.steps(self.boxes.y[rows])
        if steps is None:
            return np.inf
        sign = side * steps.sign
        low, high = (np.where(sign > 0.0, *each) for each in self._both_signs(rows))
        is_open = open_items(low, high, steps.weight)
        if len(is_open) > MOST_ITEMS:
            return np.inf
        conflicts = self._conflicts(rows[is_open], sign[is_open], low[is_open], high[is_open])
        surely = (low >= 0.0) | ~np.isfinite(low)
        total = float(steps.weight[surely].sum()) + most_together(conflicts, steps.weight[is_open])
        # Of the negative of the metric: all of what does not count.
        return up(total / steps.divisor) if side > 0.0 else up((total - float(steps.weight.sum())) / steps.divisor)

    def _both_signs(self, rows: Indices) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return the lower ends of scores and of their negatives, and their upper ends."""
        low, high = self.boxes.low[rows], self.boxes.high[rows]
        return (low, -high), (high, -low)

    def _conflicts(self, rows: Indices, sign: Array, low: Array, high: Array) -> NDArray[np.bool_]:
        """Return which pairs of signed scores are never both at least 0."""
        key = rows.tobytes() + sign.tobytes()
        if key not in self._found_conflicts:
            boxes = self.boxes.low, self.boxes.high

            def upper(factors: Array) -> Array:
                if not len(factors):
                    return np.zeros(0)
                slopes = np.zeros((len(factors), len(boxes[0])))
                slopes[:, rows] = sign * factors
                return self.forms.upper(slopes, np.zeros_like(slopes), *boxes)

            witnesses = sign * self.near.witnesses[:, rows]
            self._found_conflicts[key] = conflicting(low, high, witnesses, upper, 1 + MOST_FACTORS // len(boxes[0]))
        return self._found_conflicts[key]

    def _lines(self, metric: Metric, rows: Indices, side: float) -> list[Lines]:
        """Return sums of lines above the metric of some rows (side 1), or above its negative (-1)."""
        low, high, y = self.boxes.low[rows], self.boxes.high[rows], self.boxes.y[rows]
        found = []
        for at in self.near(metric, rows, side):
            lines = metric.lines(KnownScores(low, high, at, y, lambda a, b: self._differences(rows[a], rows[b])), side)
            if lines is None:
                return []
            found.append(lines if side > 0.0 else lines.negated())
        return found

    def _differences(self, above: Indices, below: Indices) -> tuple[Array, Array]:
        """Bound the scores of rows of the second class less those of rows of the first, each pair."""
        low, high, place = self._of_all_pairs
        which = np.ix_(place[above], place[below])
        return low[which], high[which]

    @cached_property
    def _of_all_pairs(self) -> tuple[Array, Array, Indices]:
        """Bounds for all rows of the second class with all of the first, and the position of each row among its class.

        Of pairs whose order the bounds of the scores leave open, those are bounded again whose scores are most clearly
        apart, for the width of their bounds: they are certain most often.
        """
        low, high, y = self.boxes.low, self.boxes.high, self.boxes.y
        above, below = np.flatnonzero(y == 1.0), np.flatnonzero(y == 0.0)
        place = np.zeros(len(y), dtype=np.intp)
        place[above], place[below] = np.arange(len(above)), np.arange(len(below))
        least, most = down(low[above, None] - high[None, below]), up(high[above, None] - low[None, below])
        a, b = np.nonzero((least <= 0.0) & (most >= 0.0) & np.isfinite(least) & np.isfinite(most))
        width = most[a, b] - least[a, b]
        clear_first = np.argsort(-np.abs(most[a, b] + least[a, b]) / np.where(width > 0.0, width, 1.0), kind="stable")
        most_chosen = self.most_differences if len(a) <= MOST_OPEN * self.most_differences else 0
        a, b = a[clear_first][:most_chosen], b[clear_first][:most_chosen]
        forms = self.forms
        chosen, bounds = bounds_of_differences(
            forms.bounds_of, forms.weights[: forms.n_coef], forms.rows, (above[a], below[b]), self.most_differences
        )
        a, b = a[chosen], b[chosen]
        least[a, b], most[a, b] = np.maximum(least[a, b], bounds[:, 0]), np.minimum(most[a, b], bounds[:, 1])
        return least, most, place


def rounded_to_unit(end: float, lines: Lines) -> float:
    """Return the greatest value up to an end that a metric can have which is a multiple of a unit."""
    if not lines.unit or not np.isfinite(end):
        return end
    with overflow_means_unbounded():
        steps = np.floor(up(up(end * lines.divisor) / lines.unit))
        return min(end, float(up(up(steps * lines.unit) / lines.divisor)))
