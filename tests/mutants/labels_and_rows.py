"""Mutants of wrong labels, of rows to predict with holes of their own, of scaling, of categories, and of the sums."""

from __future__ import annotations

from mutants.entry import Mutant

WRONG_LABELS = ("soundness/test_wrong_labels.py",)
TEST_ROWS = ("soundness/test_uncertain_rows.py", "soundness/test_terms.py")
CATEGORIES = ("soundness/test_missing_categories.py",)
ROWS = ("rows/test_rows.py",)

MUTANTS = (
    # --- wrong labels ------------------------------------------------------------------------------------------------
    Mutant(
        "the smallest instead of the largest",
        "largest",
        "axis=0)[left:]",
        "axis=0)[:count]",
        WRONG_LABELS,
    ),
    Mutant(
        "one label fewer",
        "WrongLabelTerms.norm_upper",
        "largest_sum(inverse.norm_upper(self.rows), self.count)",
        "largest_sum(inverse.norm_upper(self.rows), self.count - 1)",
        WRONG_LABELS,
    ),
    Mutant(
        "a change of slope to one side",
        "gradient_moves",
        "np.maximum(up(high - nominal[0]), up(nominal[1] - low))",
        "np.maximum(up(high - nominal[0]), 0.0)",
        WRONG_LABELS,
    ),
    Mutant(
        "a missing category of a flipped row moves nothing",
        "cell_changes",
        "levels.columns)] = 1.0",
        "levels.columns)] = 0.0",
        WRONG_LABELS,
    ),
    Mutant(
        "cells of flipped rows move nothing",
        "cell_changes",
        "= block.cell_radii",
        "= 0.0 * block.cell_radii",
        WRONG_LABELS,
    ),
    Mutant(
        "a form for one label",
        "WrongLabelTerms.form",
        "self.count * rounded_up(self.rows.T @ self.rows",
        "rounded_up(self.rows.T @ self.rows",
        WRONG_LABELS,
    ),
    Mutant(
        "flipped rows without their cells in the slack",
        "WrongLabelTerms.slack",
        "up(self.cells + sum_error(",
        "up(0.0 * self.cells + sum_error(",
        ("soundness/test_wrong_labels.py::test_the_slope_counts_the_cells_of_a_row_far_on_the_right_side",),
    ),
    Mutant(
        "a form half as large",
        "WrongLabelTerms.form",
        "up(self.norm_upper(inverse) ** 2) * W",
        "up(0.5 * self.norm_upper(inverse) ** 2) * W",
        WRONG_LABELS,
    ),
    # --- rows with holes of their own --------------------------------------------------------------------------------
    Mutant(
        "the wrong end of a cell",
        "_bounds_without_missing_categories",
        "rises, falls = low >= 0.0, high <= 0.0",
        "rises, falls = high <= 0.0, low >= 0.0",
        TEST_ROWS,
    ),
    Mutant(
        "ends that are not rounded",
        "_bounds_without_missing_categories",
        "up(middle + radii), down(middle - radii)",
        "middle + radii, middle - radii",
        TEST_ROWS,
    ),
    Mutant(
        "a cell that was not tried adds nothing",
        "_bounds_without_missing_categories",
        "rest = np.where(rises | falls, 0.0, most)",
        "rest = np.where(rises | falls, 0.0, 0.0 * most)",
        TEST_ROWS,
    ),
    Mutant(
        "the lower of the highest",
        "bounds_of_uncertain_rows",
        "np.maximum.reduceat(bounds[:, 1], starts)",
        "np.minimum.reduceat(bounds[:, 1], starts)",
        TEST_ROWS,
    ),
    Mutant(
        "other missing categories add nothing",
        "bounds_of_uncertain_rows",
        "low, high = down(low + added[:, 0]), up(high + added[:, 1])",
        "low, high = down(low), up(high)",
        TEST_ROWS,
    ),
    Mutant(
        "only the first of the other categories is bounded",
        "one_category_each",
        "order[is_first]), order[~is_first]",
        "order[is_first]), order[~is_first][:1]",
        TEST_ROWS,
    ),
    Mutant(
        "levels that may be the end are not looked at",
        "extremes_first",
        "found, is_known = rough.copy(), np.zeros(len(rows), dtype=bool)",
        "found, is_known = rough.copy() * 0.5, np.zeros(len(rows), dtype=bool)",
        TEST_ROWS,
    ),
    Mutant(
        "half of a box of levels",
        "every_level",
        "np.full(len(boxed) * len(levels.columns), 0.5)",
        "np.full(len(boxed) * len(levels.columns), 0.25)",
        TEST_ROWS,
    ),
    Mutant(
        "the same level in every copy of a row",
        "every_level",
        "levels.columns[level[chosen]]",
        "levels.columns[0 * level[chosen]]",
        TEST_ROWS,
    ),
    # --- scaling -----------------------------------------------------------------------------------------------------
    Mutant(
        "the lower end is not rounded",
        "Scaling.cells",
        "self._cells(down(centers - radii), columns, down)",
        "self._cells(centers - radii, columns, np.positive)",
        ("tables/test_scaling.py",),
    ),
    Mutant(
        "the upper end is the middle",
        "Scaling.cells",
        "self._cells(up(centers + radii), columns, up)",
        "self._cells(centers, columns, up)",
        ("tables/test_scaling.py",),
    ),
    Mutant(
        "an interval that is not scaled",
        "Scaling.cells",
        "np.where(is_point, points, middles), np.where(is_point, 0.0, halves)",
        "np.where(is_point, points, middles), np.where(is_point, 0.0, radii)",
        ("tables/test_scaling.py",),
    ),
    # --- missing categories ------------------------------------------------------------------------------------------
    Mutant(
        "the mean of the levels instead of the farthest",
        "MissingCategories.score_change",
        "np.abs(levels.changes(w)).max()",
        "np.abs(levels.changes(w)).mean()",
        ("tables/test_missing_category.py",),
    ),
    Mutant(
        "levels seen from zero",
        "Levels.changes",
        "part - part.mean(axis=-1, keepdims=True)",
        "part - 0.0 * part",
        CATEGORIES,
    ),
    Mutant(
        "the reach of the mean alone",
        "MissingCategories.score_change_within",
        "limits[c].max() + limits[c].mean()",
        "limits[c].mean()",
        ("soundness/test_terms.py::test_no_level_moves_a_score_by_more_than_is_said_for_all_moves",),
    ),
    Mutant(
        "the least change of a column",
        "MissingCategories.column_change",
        "total * (1.0 - levels.center_value)",
        "total * levels.center_value",
        CATEGORIES,
    ),
    Mutant(
        "choices of the wrong rows",
        "MissingCategories.within",
        "self.rows[first:last] - rows.start",
        "self.rows[first:last]",
        (*CATEGORIES, "tables/test_missing_category.py"),
    ),
    # --- sums over blocks --------------------------------------------------------------------------------------------
    Mutant(
        "a sum that is not as deep as it is",
        "depth_of",
        "return max(lengths) + len(lengths)",
        "return len(lengths)",
        ("rows/test_block_boundaries.py::test_the_depth_of_blocks_is_at_least_the_height_of_their_sum",),
    ),
    Mutant(
        "all blocks but the last are skipped",
        "added",
        "total = _sum(total, part, in_place=number > 1) if number else part",
        "total = part",
        ROWS,
    ),
    Mutant(
        "cells of a row that overwrite each other",
        "sum_by_index",
        "np.bincount(indices, values, minlength=n)",
        "np.bincount(indices[:1], values[:1], minlength=n)",
        (*ROWS, "soundness/test_terms.py"),
    ),
    Mutant(
        "missing categories do not make a row incomplete",
        "Block.incomplete",
        "incomplete[self.missing_categories.rows] = True",
        "pass",
        CATEGORIES,
    ),
    Mutant(
        "the columns of rows without weight",
        "with_norms",
        "block.center[block.weight > 0.0]",
        "block.center[block.weight <= 0.0]",
        ("soundness/test_redrawn.py::test_norms_are_those_of_the_view_that_a_kernel_sees",),
    ),
    Mutant(
        "the rounding of scores is not counted",
        "Block.score_error",
        "float(sum_error(sum_upper(self.largest_cells @ np.abs(w), len(w) + 1), len(w) + 1))",
        "0.0 * len(w)",
        ("rows/test_rows.py::test_scores_of_a_block_are_off_by_no_more_than_its_bound",),
    ),
)
