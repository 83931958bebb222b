"""Ranges of the scores of a table's rows and weights, and what follows from them for each row."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ipub.certificates.row_sums.checked_fields import checked
from ipub.certificates.row_sums.graphs import N_SLOPES, Graph, GraphPoints, Lines, SignGraph, graph_points
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group
from ipub.certificates.row_sums.variants import Level, Variants, make_variants
from ipub.numeric.compiled import loops
from ipub.numeric.rounding import (
    TINY,
    Array,
    down,
    midpoint_and_radius,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.tables.interval_matrix import Indices

MANY_CONSTANT = 0.1
"""Rows of constant derivative are left out once they are this fraction of all directions: time to gather the others
against time of sums. At 0, the settings of 150 x 4 took 1.05 times as long."""

N_GRID = 17
"""Points at which the derivative of an uncertain row is tabulated for the choice of multipliers: width against
memory."""

TOGETHER = 256
"""Complete rows whose columns are one after the other in memory, as the kernel looks at them: they fit into its cache.
"""

MANY_COLUMNS = 32
"""Columns from which there are half as many Newton steps, as each factors a matrix: width against time. Without it,
tables of 200 x 40 and 150 x 60 took 1.07 and 1.26 times as long for the same bounds."""


@dataclass(frozen=True)
class Accuracy:
    """How closely the sum of a direction is bounded: width against time."""

    pieces_of_lines: int
    """Pieces into which the scores of a complete row are cut."""
    pieces_of_variants: int
    """Those of a variant: 7 or 3, whose ends are 8 or 4 numbers."""
    finer: int
    """Parts of these, which cost less."""
    n_steps: int
    """Newton steps of the advice."""
    changed_share: float = 0.0
    """How much of the law of a unit that counts in a budget is for what it may be changed to, where it gains most."""


COARSE, FINE, FINEST = Accuracy(6, 3, 2, 0, 0.0), Accuracy(12, 7, 2, 2, 0.0), Accuracy(12, 7, 2, 2, 1.0)
"""For ranges that are to prove themselves, to narrow them, and for the rows that are asked for: width against time."""


def kernel_type() -> Any | None:
    """Return the class of the compiled sums; None where the package was installed without them."""
    found = loops("row_sum_loops")
    return None if found is None else found.RowSumKernel


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of ``y.w''`` for all directions y of a table, and what follows from them for its rows."""

    table: RowTable
    variants: Variants
    lower: Array
    upper: Array
    on_path: bool
    """Whether they are also about the minimisers on the way from w to the models of completions (thm-ranges), and not
    only about these."""
    accuracy: Accuracy = FINE

    @classmethod
    def of(cls, table: RowTable, lower: Array, upper: Array, *, on_path: bool) -> Ranges:
        """Put ranges together with the variants of the table's rows (`make_variants`)."""
        return cls(table, make_variants(table, with_centers=on_path), lower, upper, on_path)

    def __getstate__(self) -> dict[str, Any]:
        """Return what the ranges are; what follows from them is computed again in a copy."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def kernel(self) -> Any:
        """The compiled sums over these ranges, for any direction."""
        kernel = kernel_type()
        assert kernel is not None, "row sums are tried only with the compiled loops"
        with overflow_means_unbounded():
            return kernel(**checked(self.kernel_fields))

    @cached_property
    def weight_lower(self) -> Array:
        """The least value of each weight."""
        return self.lower[self.table.weights_at]

    @cached_property
    def weight_upper(self) -> Array:
        """The greatest value of each weight."""
        return self.upper[self.table.weights_at]

    @cached_property
    def weight_size(self) -> Array:
        """The greatest size of each weight."""
        return np.maximum(np.abs(self.weight_lower), np.abs(self.weight_upper))

    @cached_property
    def row_lower(self) -> Array:
        """The least score of each incomplete row's center."""
        return self.lower[self.table.incomplete_at]

    @cached_property
    def row_upper(self) -> Array:
        """The greatest score of each incomplete row's center."""
        return self.upper[self.table.incomplete_at]

    @cached_property
    def lines(self) -> Lines:
        """Lines below and above the derivatives of the complete rows."""
        at = self.table.complete_at
        return Lines.of(self.table.complete_graph, self.lower[at], self.upper[at], self.accuracy.pieces_of_lines)

    @cached_property
    def points(self) -> GraphPoints:
        """Points of the graphs of the variants, over all scores that a completion may give them."""
        graph, accuracy = self.variants.graph, self.accuracy
        n_pieces, finer = (1, 1) if graph.is_step else (accuracy.pieces_of_variants, accuracy.finer)
        return graph_points(graph, *self.variant_scores, n_pieces, finer)

    @cached_property
    def variant_scores(self) -> tuple[Array, Array]:
        """The least and the greatest score that a completion may give each variant, rounded outward."""
        variants, units, table = self.variants, self.table.units, self.table
        counts = np.diff(variants.units)
        of_entry = np.repeat(np.arange(len(variants.row)), counts)
        unit = np.repeat(table.unit_starts[variants.row] - variants.units[:-1], counts)
        unit = unit + np.arange(len(unit))
        columns = units.column[unit]
        corners = np.stack(
            [
                end * weight[columns]
                for end in (variants.lower, variants.upper)
                for weight in (self.weight_lower, self.weight_upper)
            ]
        )
        low, high = corners.min(axis=0), corners.max(axis=0)
        for number, levels in enumerate(units.levels):
            for base in np.unique(units.base[units.category == number]):
                here = np.flatnonzero((units.category[unit] == number) & (units.base[unit] == base))
                least, most = self._level_changes(levels, int(base))
                level = variants.level[here]
                is_any, is_base, own = level == Level.ANY, level == Level.BASE, np.maximum(level, 0)
                low[here] = np.where(is_any, least.min(), np.where(is_base, 0.0, least[own]))
                high[here] = np.where(is_any, most.max(), np.where(is_base, 0.0, most[own]))
        size = np.maximum(np.abs(low), np.abs(high))
        group, below, above = units.group[unit], np.zeros(len(counts)), np.zeros(len(counts))
        for number in range(-1, len(table.budget)):
            here = np.flatnonzero(group == number)
            if number < 0 and len(here):
                below += np.bincount(of_entry[here], low[here], minlength=len(counts))
                above += np.bincount(of_entry[here], high[here], minlength=len(counts))
            elif len(here):
                used = variants.used[:, number]
                below -= _largest_sums(of_entry[here], -low[here], used)
                above += _largest_sums(of_entry[here], high[here], used)
        sizes: Array = np.bincount(of_entry, size, minlength=len(counts)).astype(float)
        error = sum_error(sizes, 2 * len(table.w) + 8)
        lower = down(down(self.row_lower[variants.row] + below) - error)
        upper = up(up(self.row_upper[variants.row] + above) + error)
        is_still = np.bincount(of_entry, (low != 0.0) | (high != 0.0), minlength=len(counts)) == 0
        is_still |= (variants.used == 0).all(axis=1) & (np.bincount(of_entry, group < 0, minlength=len(counts)) == 0)
        lower = np.where(is_still, self.row_lower[variants.row], lower)
        upper = np.where(is_still, self.row_upper[variants.row], upper)
        # What overflowed is not known; a NaN would be sorted behind the other end.
        return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)

    def _level_changes(self, columns: Indices, base: int) -> tuple[Array, Array]:
        """Bound what each level of a category adds to the score, above what the table has, rounded outward."""
        low, high = self.weight_lower[columns], self.weight_upper[columns]
        if base >= 0:
            least, most = down(low - high[base]), up(high - low[base])
            least[base] = most[base] = 0.0
            return least, most
        center = 1.0 / len(columns)
        own_low, own_high = (1.0 - center) * low, (1.0 - center) * high
        others_low, others_high = center * (low.sum() - low), center * (high.sum() - high)
        error = sum_error(np.abs(low).sum() + np.abs(high).sum(), len(low) + 8)
        return down(own_low - others_high - error), up(own_high - others_low + error)

    @cached_property
    def row_scores(self) -> tuple[Array, Array]:
        """The least and the greatest score that an option may give each incomplete row."""
        lower, upper = self.variant_scores
        starts = np.searchsorted(self.variants.row, np.arange(len(self.table.incomplete)))
        return np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)

    @cached_property
    def inverse(self) -> Array:
        """About the inverse of the curvature with the chord of every row at its center."""
        table, lines = self.table, self.lines
        slope = chord(table.complete_graph, lines.lower, lines.upper)
        K = np.diag(table.lam) + (table.complete.T * (table.complete_weight * slope)) @ table.complete
        if len(table.incomplete):
            K += (table.incomplete.T * (table.incomplete_weight * self.row_chords)) @ table.incomplete
        try:
            return np.ascontiguousarray(np.linalg.inv(K))
        except np.linalg.LinAlgError:
            # Where derivatives jump and no row's range holds its jump, nothing bends along an intercept.
            return np.ascontiguousarray(np.linalg.pinv(K, hermitian=True))

    @cached_property
    def row_chords(self) -> Array:
        """About the slope of each uncertain row's derivative over all its scores."""
        return chord(self.table.incomplete_graph, *self.row_scores)

    @cached_property
    def kernel_fields(self) -> dict[str, Any]:
        """What the sums of all directions share: the fields of `row_sum_table` (compiled/row_sum_kernel.h)."""
        table, variants, units, lines = self.table, self.variants, self.table.units, self.lines
        d, n_uncertain = len(table.w), len(table.incomplete)
        sizes = units.sizes
        weight_middle, weight_radius = midpoint_and_radius(self.weight_lower, self.weight_upper)
        fields: dict[str, Any] = {
            "d": d,
            "n_complete": len(table.complete),
            "n_uncertain": n_uncertain,
            "n_units": len(units),
            "n_multipliers": int(sizes.sum()),
            "n_variants": len(variants.row),
            "n_groups": len(table.budget),
            "n_steps": self.accuracy.n_steps if d < MANY_COLUMNS else self.accuracy.n_steps // 2,
            "changed_share": self.accuracy.changed_share,
            "lam": table.lam,
            "w": table.w,
            "tilt": table.gradient_upper if self.on_path else np.zeros(d),
            "settled_middle": table.settled.middle,
            "settled_radius": table.settled.radius,
            "weight_middle": weight_middle,
            "weight_radius": weight_radius,
            "inverse": self.inverse,
            "n_together": TOGETHER,
            "complete": np.concatenate(
                [
                    np.zeros(0),
                    *(table.complete[k : k + TOGETHER].T.ravel() for k in range(0, len(table.complete), TOGETHER)),
                ]
            ),
            "is_sparse": table.is_sparse,
            "complete_rows": np.pad(table.complete, ((0, 0), (0, -d % 8))) if table.is_sparse else np.zeros(0),
            "stride": d + -d % 8,
            "complete_weight": table.complete_weight,
            "complete_lower": lines.lower,
            "complete_per_width": (N_SLOPES - 1) / np.maximum(lines.upper - lines.lower, 1e-300),
            "lines": np.stack([lines.slope, lines.above, lines.below], axis=-1).transpose(1, 0, 2),
            "n_slopes": N_SLOPES,
            "complete_size": self._complete_size,
            "curvature_size": self._curvature_size,
            "rows": table.incomplete,
            "row_weight": table.incomplete_weight,
            "row_norm": table.norms[1],
            "center_lower": self.row_lower,
            "center_upper": self.row_upper,
            "budget": np.array(table.budget, dtype=np.int64),
            "label_group": table.label_group,
            "dropped_group": table.dropped_group,
            "unit_start": table.unit_starts,
            "unit_column": units.column,
            "unit_category": units.category,
            "unit_base": units.base,
            "unit_group": units.group,
            "unit_at": np.cumsum(sizes) - sizes,
            "unit_lower": units.lower,
            "unit_upper": units.upper,
            "category_start": np.cumsum([0, *(len(each) for each in units.levels)]),
            "category_columns": np.concatenate([np.zeros(0, dtype=np.intp), *units.levels]),
            "variant_start": np.searchsorted(variants.row, np.arange(n_uncertain + 1)),
            "variant_units": variants.units[:-1],
            "variant_used": variants.used,
            "variant_level": variants.level,
            "variant_lower": variants.lower,
            "variant_upper": variants.upper,
        }
        return fields | self._penalty_fields() | self._advice_fields() | _point_fields(self.points)

    def _penalty_fields(self) -> dict[str, Any]:
        """Return the derivatives of the penalty, which rows that may be absent take with them."""
        table = self.table
        l1 = SignGraph(np.zeros(len(table.w)) if table.kappa is None else table.kappa)
        lower, upper = l1.range(self.weight_lower, self.weight_upper)
        return {"l1_lower": lower, "l1_upper": upper, "penalty_slope": table.lam * table.w + l1.value(table.w)}

    def _advice_fields(self) -> dict[str, Any]:
        """Return what the kernel needs for its choices, none of which enters a proof."""
        graph, (low, high) = self.table.incomplete_graph, self.row_scores
        with np.errstate(invalid="ignore"):
            grid = graph.value(low + (high - low) * np.linspace(0.0, 1.0, N_GRID)[:, None])
        return self.table.at_w | {
            "chord": self.row_chords,
            "score_lower": low,
            "score_upper": high,
            "grid": np.nan_to_num(grid).T,
            "grid_scale": np.divide(N_GRID - 1, high - low, out=np.zeros_like(low), where=high - low > 1e-250),
            "n_grid": N_GRID,
        }

    @cached_property
    def _complete_size(self) -> float:
        """``sum_i m_i |x_i| F_i``, F_i the largest number in the lines of row i: what their rounding is relative to."""
        lines, n = self.lines, self.lines.slope.shape[1]
        largest = np.maximum(np.abs(lines.above).max(axis=0), np.abs(lines.below).max(axis=0))
        return float(sum_upper(self.table.complete_weight @ (self.table.norms[0] * largest), n + 4))

    @cached_property
    def _curvature_size(self) -> Array:
        """``sum_i m_i h_i |x_i| |x_ij|`` with the steepest lines: what the rounding of a residual is relative to."""
        steepest = np.abs(self.lines.slope).max(axis=0)
        weighted = self.table.complete_weight * steepest * self.table.norms[0]
        return sum_upper(weighted @ np.abs(self.table.complete), len(weighted) + 4)

    def without_constant_rows(self) -> Ranges:
        """Leave out the rows whose derivative is constant, if they are many: for the models of completions alone."""
        table, at = self.table, self.table.complete_at
        if table.dropped_group != Group.CERTAIN:
            return self  # any row may be left out of the training table, whatever its derivative is
        of_complete = self.lower[at], self.upper[at]
        (low, high), (least, greatest) = table.derivative_ranges(of_complete, self.row_scores)
        complete, incomplete = low == high, least == greatest
        incomplete[table.units.row[~table.units.is_number]] = False
        if complete.sum() + incomplete.sum() < MANY_CONSTANT * len(table.directions):
            return self
        smaller, used = table.without(complete, incomplete, (low, least))
        return Ranges.of(smaller, self.lower[used], self.upper[used], on_path=False)

    @cached_property
    def _of_models(self) -> dict[Accuracy, Ranges]:
        return {}

    def of_models(self, accuracy: Accuracy) -> Ranges:
        """Return these ranges for the models of completions alone, with an accuracy: the same object at every call."""
        if accuracy not in self._of_models:
            self._of_models[accuracy] = replace(self, on_path=False, accuracy=accuracy)
        return self._of_models[accuracy]

    def of_completions(self, lower: Array, upper: Array) -> Ranges:
        """Return ranges of the models of completions alone, which need no center of a missing category."""
        if self.table.has_centers:
            return Ranges.of(self.table, lower, upper, on_path=False)
        return replace(self, lower=lower, upper=upper, on_path=False)

    def within(self, lower: Array, upper: Array) -> Ranges:
        """Return the ranges cut down to what is between other bounds too."""
        return replace(self, lower=np.fmax(self.lower, lower), upper=np.fmin(self.upper, upper))

    def with_ends(self, lower: Array, upper: Array) -> Ranges:
        """Return other ranges of the same table."""
        return replace(self, lower=lower, upper=upper)


def chord(graph: Graph, lower: Array, upper: Array) -> Array:
    """Return the slope of the chord over a range, of a tangent where that is a point."""
    width, (first, last) = upper - lower, graph.value(np.stack([lower, upper]))
    is_point, slope = width <= 1e-7 * (np.abs(first) + np.abs(lower)), (last - first) / np.maximum(width, TINY)
    return np.where(is_point, graph.slope(lower), slope) if is_point.any() else np.asarray(slope)


def _largest_sums(index: Indices, values: Array, most: Indices) -> Array:
    """Return for each of several sets the sum of so many of its largest values that are positive."""
    order = np.lexsort((-values, index))
    index, values = index[order], np.maximum(values[order], 0.0)
    first = np.searchsorted(index, np.arange(len(most)))
    is_used = np.arange(len(index)) - first[index] < most[index]
    return np.bincount(index[is_used], values[is_used], minlength=len(most)).astype(float)


def _point_fields(points: GraphPoints) -> dict[str, Any]:
    """Return the points of the variants' graphs, those of one variant after the other.

    The ends of pieces come first, then the first point inside each piece, and so on; the last of these is not there.
    """
    n, finer = points.score.shape[1], points.finer
    n_ends = (len(points.score) - 1) // finer + 1

    def by_part(values: Array) -> Array:
        """Order values of parts, or of points, of pieces by their place in the piece."""
        padded = np.zeros((n_ends * finer, n))
        padded[: len(values)] = values
        return padded.reshape(n_ends, finer, n).transpose(2, 1, 0)

    between = []
    for each in points.between or ():
        found = np.zeros((n_ends, finer, n))
        found[:-1, 1:] = each
        between.append(found.transpose(2, 1, 0))
    return {
        "score": by_part(points.score),
        "middle": points.middle[::finer].T,
        "radius": points.radius[::finer].T,
        "below": by_part(points.below_chord),
        "above": by_part(points.above_chord),
        "between_share": between[0] if between else np.zeros(0),
        "between_away": between[1] if between else np.zeros(0),
        "score_size": np.maximum(np.abs(points.score[0]), np.abs(points.score[-1])),
        "derivative_size": (np.abs(points.middle) + points.radius).max(axis=0, initial=0.0),
        "n_ends": n_ends,
        "finer": finer,
    }
