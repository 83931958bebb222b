"""Mutants of row sums with uncertain labels."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND = "soundness/test_row_sums_of_labels.py"
SUMS = (f"{SOUND}::test_row_sums_hold_for_every_w_completion_and_label_whatever_is_chosen",)
EXACT = (f"{SOUND}::test_row_sums_at_a_point_are_exact_but_for_rounding",)
COUNT = (f"{SOUND}::test_of_wrong_labels_the_worst_count_and_no_more",)
CANCEL = (f"{SOUND}::test_products_that_cancel_are_rounded_outward",)
FACTORS = (f"{SOUND}::test_points_of_a_graph_have_its_factor",)
ALONE = (f"{SOUND}::test_labels_that_are_uncertain_in_other_ways_are_left_alone",)
SETTLED = (
    f"{SOUND}::test_rows_of_uncertain_class_are_settled_only_if_no_label_pulls",
    f"{SOUND}::test_targets_in_doubt_are_settled_only_if_all_of_them_pull_alike",
)
MODELS = (f"{SOUND}::test_bounds_hold_for_every_label_vertex_and_point_inside_exactly",)
KERNEL = ("soundness/test_row_sum_kernel.py::test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen",)
JUMPS = ("soundness/test_row_sums_of_jumps.py::test_row_sums_with_settled_rows_hold_for_every_w_and_completion",)


def mutant(name: str, where: str, old: str, new: str, *tests: tuple[str, ...], equivalent: str = "") -> Mutant:
    """Return a mutant."""
    return Mutant(name, where, old, new, tuple(test for each in tests for test in each), equivalent)


MUTANTS = (
    # --- the two labels (lem-two-labels) ------------------------------------------------------------------------------
    mutant("a wrong label is the right one", "label_pair", "LossGraph(loss, -y))", "LossGraph(loss, y))", SUMS),
    mutant(
        "a target without its upper end",
        "label_pair",
        "np.where(radius > 0.0, up(y + radius), y)",
        "np.where(radius > 0.0, up(y), y)",
        SUMS,
    ),
    mutant(
        "a target without its lower end",
        "label_pair",
        "np.where(radius > 0.0, down(y - radius), y)",
        "np.where(radius > 0.0, down(y), y)",
        SUMS,
    ),
    mutant("an entry never with twice its weight", "label_pair", "1.0 + of_weight", "1.0 + 0.0 * of_weight", SUMS),
    mutant("an entry never without its weight", "label_pair", "1.0 - of_weight", "1.0 - 0.0 * of_weight", SUMS),
    mutant(
        "other uncertain weights are taken as certain",
        "label_pair",
        "(of_weight != 1.0) | (radius > 0.0)",
        "False & (radius > 0.0)",
        ALONE,
    ),
    mutant(
        "a factor that slopes do not have",
        "LossGraph.slopes",
        "(self._times(least), self._times(greatest))",
        "(least, greatest)",
        FACTORS,
    ),
    mutant(
        "a factor that bends do not have",
        "LossGraph.bends",
        "(self._times(least), self._times(most))",
        "(least, most)",
        FACTORS,
    ),
    mutant(
        "a factor that derivatives do not have",
        "LossGraph.range",
        "(self._times(low), self._times(high))",
        "(low, high)",
        SUMS,
    ),
    mutant(
        "factors of other rows",
        "LossGraph.of_rows",
        "None if self.factor is None else self.factor[which]",
        "None if self.factor is None else self.factor[which][::-1]",
        SUMS,
    ),
    mutant(
        "a label variant skipped",
        "make_variants",
        "labels = (0,) if label_group == Group.CERTAIN else (0, 1)",
        "labels = (0,)",
        SUMS,
        KERNEL,
    ),
    mutant(
        "wrong labels that cost no budget",
        "make_variants",
        "label if number == label_group else used[number]",
        "0 if number == label_group else used[number]",
        COUNT,
    ),
    mutant(
        "variants with the first label alone",
        "make_variants",
        "pair.first.or_second(which == 1, pair.second)",
        "pair.first.or_second(which > 1, pair.second)",
        SUMS,
    ),
    mutant(
        "variants with the labels of the center",
        "make_variants",
        "pair.first.or_second(which == 1, pair.second)",
        "table.incomplete_graph.of_rows(rows)",
        SUMS,
    ),
    mutant(
        "factors of the other label",
        "LossGraph.or_second",
        "factor = np.where(is_second, second.factor, self.factor)",
        "factor = np.where(is_second, self.factor, second.factor)",
        SUMS,
    ),
    mutant(
        "rows with uncertain labels are complete",
        "RowTable._of",
        "(table.missing_counts > 0) | (group != Group.CERTAIN)",
        "(table.missing_counts > 0)",
        SUMS,
    ),
    mutant(
        "one wrong label fewer",
        "RowTable._of",
        "(*budget, wrong_labels)",
        "(*budget, wrong_labels - 1)",
        COUNT,
        SUMS,
    ),
    mutant(
        "one wrong label more",
        "RowTable._of",
        "(*budget, wrong_labels)",
        "(*budget, wrong_labels + 1)",
        COUNT,
    ),
    mutant(
        "labels in doubt are certain",
        "RowTable._of",
        "np.where((table.label_radius > 0.0) | (table.weight_radius > 0.0), Group.FREE, Group.CERTAIN)",
        "np.where(table.label_radius > 0.0, Group.FREE, Group.CERTAIN)",
        SUMS,
    ),
    # --- which rows ---------------------------------------------------------------------------------------------------
    mutant(
        "ranges settle rows by their second label",
        "RowTable.derivative_ranges",
        "first, second = (each.range(*incomplete) for each in self.labels)",
        "first = second = self.labels.second.range(*incomplete)",
        SETTLED,
    ),
    mutant(
        "labels of rows that are left out",
        "RowTable.without",
        "labels=self.labels.of_rows(left),",
        "labels=self.labels.of_rows(np.argsort(left, kind='stable')[-int(left.sum()) :][::-1]),",
        SETTLED,
        JUMPS,
    ),
    mutant("a target in doubt is settled", "_sum_constant", "(labels.radius == 0.0) & ", "", SETTLED),
    mutant("a class in doubt is settled", "_sum_constant", "(labels.weight_radius == 0.0) & ", "", SETTLED),
    mutant("a label that may be wrong is settled", "_sum_constant", "& (labels.max_wrong_labels == 0)", "", SETTLED),
)
