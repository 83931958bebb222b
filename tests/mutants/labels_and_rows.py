"""Mutants of wrong labels, of rows to predict with holes of their own, of scaling, of categories, and of the sums."""

from __future__ import annotations

from mutants.entry import Mutant

WRONG_LABELS = ("soundness/test_wrong_labels.py",)
TEST_ROWS = ("soundness/test_test_rows.py", "soundness/test_terms.py")
CATEGORIES = ("soundness/test_missing_categories.py",)
ROWS = ("engine/test_rows.py",)

MUTANTS = (
    # --- wrong labels ------------------------------------------------------------------------------------------------
    Mutant(
        "the smallest instead of the largest",
        "engine/ops.py",
        "axis=0)[left:]",
        "axis=0)[:count]",
        WRONG_LABELS,
    ),
    Mutant(
        "one label fewer",
        "certificates/label_noise.py",
        "largest_sum(inverse.norm_upper(self.rows), self.count)",
        "largest_sum(inverse.norm_upper(self.rows), self.count - 1)",
        WRONG_LABELS,
    ),
    Mutant(
        "a change of slope to one side",
        "certificates/label_noise.py",
        "np.maximum(up(high - nominal[0]), up(nominal[1] - low))",
        "np.maximum(up(high - nominal[0]), 0.0)",
        WRONG_LABELS,
    ),
    Mutant(
        "a missing category of a flipped row moves nothing",
        "certificates/label_noise.py",
        "levels.columns)] = 1.0",
        "levels.columns)] = 0.0",
        WRONG_LABELS,
    ),
    Mutant(
        "cells of flipped rows move nothing",
        "certificates/label_noise.py",
        "= block.cell_radii",
        "= 0.0 * block.cell_radii",
        WRONG_LABELS,
    ),
    Mutant(
        "a form for one label",
        "certificates/label_noise.py",
        "self.count * rounded_up(self.rows.T @ self.rows",
        "rounded_up(self.rows.T @ self.rows",
        WRONG_LABELS,
    ),
    Mutant(
        "flipped rows without their cells in the slack",
        "certificates/label_noise.py",
        "up(self.cells + sum_error(",
        "up(0.0 * self.cells + sum_error(",
        ("soundness/test_wrong_labels.py::test_the_slope_counts_the_cells_of_a_row_far_on_the_right_side",),
    ),
    Mutant(
        "a form half as large",
        "certificates/label_noise.py",
        "up(self.norm_upper(inverse) ** 2) * W",
        "up(0.5 * self.norm_upper(inverse) ** 2) * W",
        WRONG_LABELS,
    ),
    # --- rows with holes of their own --------------------------------------------------------------------------------
    Mutant(
        "the wrong end of a cell",
        "certificates/test_rows.py",
        "rises, falls = low >= 0.0, high <= 0.0",
        "rises, falls = high <= 0.0, low >= 0.0",
        TEST_ROWS,
    ),
    Mutant(
        "ends that are not rounded",
        "certificates/test_rows.py",
        "up(middle + radii), down(middle - radii)",
        "middle + radii, middle - radii",
        TEST_ROWS,
    ),
    Mutant(
        "a cell that was not tried adds nothing",
        "certificates/test_rows.py",
        "rest = np.where(rises | falls, 0.0, most)",
        "rest = np.where(rises | falls, 0.0, 0.0 * most)",
        TEST_ROWS,
    ),
    Mutant(
        "the lower of the highest",
        "certificates/test_rows.py",
        "np.maximum.reduceat(bounds[:, 1], starts)",
        "np.minimum.reduceat(bounds[:, 1], starts)",
        TEST_ROWS,
    ),
    Mutant(
        "other missing categories add nothing",
        "certificates/test_rows.py",
        "low, high = down(low + added[:, 0]), up(high + added[:, 1])",
        "low, high = down(low), up(high)",
        TEST_ROWS,
    ),
    Mutant(
        "only the first of the other categories is bounded",
        "certificates/row_levels.py",
        "order[is_first]), order[~is_first]",
        "order[is_first]), order[~is_first][:1]",
        TEST_ROWS,
    ),
    Mutant(
        "levels that may be the end are not looked at",
        "certificates/row_levels.py",
        "found, is_known = rough.copy(), np.zeros(len(rows), dtype=bool)",
        "found, is_known = rough.copy() * 0.5, np.zeros(len(rows), dtype=bool)",
        TEST_ROWS,
    ),
    Mutant(
        "half of a box of levels",
        "certificates/test_rows.py",
        "np.full(len(boxed) * len(levels.columns), 0.5)",
        "np.full(len(boxed) * len(levels.columns), 0.25)",
        TEST_ROWS,
    ),
    Mutant(
        "the same level in every copy of a row",
        "certificates/test_rows.py",
        "levels.columns[level[chosen]]",
        "levels.columns[0 * level[chosen]]",
        TEST_ROWS,
    ),
    # --- scaling -----------------------------------------------------------------------------------------------------
    Mutant(
        "the lower end is not rounded",
        "data/scaling.py",
        "self._cells(down(centers - radii), columns, down)",
        "self._cells(centers - radii, columns, np.positive)",
        ("data/test_scaling.py",),
    ),
    Mutant(
        "the upper end is the middle",
        "data/scaling.py",
        "self._cells(up(centers + radii), columns, up)",
        "self._cells(centers, columns, up)",
        ("data/test_scaling.py",),
    ),
    Mutant(
        "an interval that is not scaled",
        "data/scaling.py",
        "np.where(is_point, points, middles), np.where(is_point, 0.0, halves)",
        "np.where(is_point, points, middles), np.where(is_point, 0.0, radii)",
        ("data/test_scaling.py",),
    ),
    # --- missing categories ------------------------------------------------------------------------------------------
    Mutant(
        "the mean of the levels instead of the farthest",
        "data/missing_category.py",
        "np.abs(levels.changes(w)).max()",
        "np.abs(levels.changes(w)).mean()",
        ("data/test_missing_category.py",),
    ),
    Mutant(
        "levels seen from zero",
        "data/missing_category.py",
        "part - part.mean(axis=-1, keepdims=True)",
        "part - 0.0 * part",
        CATEGORIES,
    ),
    Mutant(
        "the reach of the mean alone",
        "data/missing_category.py",
        "limits[c].max() + limits[c].mean()",
        "limits[c].mean()",
        ("soundness/test_terms.py::test_no_level_moves_a_score_by_more_than_is_said_for_all_moves",),
    ),
    Mutant(
        "the least change of a column",
        "data/missing_category.py",
        "total * (1.0 - levels.center_value)",
        "total * levels.center_value",
        CATEGORIES,
    ),
    Mutant(
        "choices of the wrong rows",
        "data/missing_category.py",
        "self.rows[first:last] - rows.start",
        "self.rows[first:last]",
        (*CATEGORIES, "data/test_interval_matrix.py"),
    ),
    # --- sums over blocks --------------------------------------------------------------------------------------------
    Mutant(
        "a sum that is not as deep as it is",
        "engine/slices.py",
        "return max(lengths) + len(lengths)",
        "return len(lengths)",
        ROWS,
    ),
    Mutant(
        "all blocks but the last are skipped",
        "engine",
        "total = _sum(total, part, in_place=number > 1) if number else part",
        "total = part",
        ROWS,
    ),
    Mutant(
        "cells of a row that overwrite each other",
        "engine",
        "np.bincount(indices, values, minlength=n)",
        "np.bincount(indices[:1], values[:1], minlength=n)",
        (*ROWS, "soundness/test_terms.py"),
    ),
    Mutant(
        "missing categories do not make a row incomplete",
        "engine",
        "incomplete[self.missing_categories.rows] = True",
        "pass",
        CATEGORIES,
    ),
    Mutant(
        "the columns of rows without weight",
        "engine",
        "block.center[block.weight > 0.0]",
        "block.center[block.weight <= 0.0]",
        ("soundness/test_redrawn.py::test_norms_are_those_of_the_view_that_a_kernel_sees",),
    ),
    Mutant(
        "the rounding of scores is not counted",
        "engine",
        "float(sum_error(sum_upper(self.largest_cells @ np.abs(w), len(w) + 1), len(w) + 1))",
        "0.0 * len(w)",
        ("engine/test_rows.py::test_scores_of_a_block_are_off_by_no_more_than_its_bound",),
    ),
)
