"""Mutants of row sums with uncertain labels."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND = "soundness/test_row_sums_of_labels.py"
SUMS = (f"{SOUND}::test_row_sums_hold_for_every_w_completion_and_label_whatever_is_chosen",)
EXACT = (f"{SOUND}::test_row_sums_at_a_point_are_exact_but_for_rounding",)
COUNT = (f"{SOUND}::test_of_wrong_labels_the_worst_count_and_no_more",)
CANCEL = (f"{SOUND}::test_products_that_cancel_are_rounded_outward",)
FACTORS = (f"{SOUND}::test_points_of_a_graph_have_its_factor",)
LINES = (f"{SOUND}::test_lines_hold_for_both_labels",)
COERCIVE = (
    f"{SOUND}::test_labels_that_leave_one_class_prove_nothing_with_an_intercept",
    f"{SOUND}::test_slopes_at_infinity_that_nearly_cancel_prove_nothing",
)
ALONE = (f"{SOUND}::test_labels_that_are_uncertain_in_other_ways_are_left_alone",)
SETTLED = (
    f"{SOUND}::test_rows_of_uncertain_class_are_settled_only_if_no_label_pulls",
    f"{SOUND}::test_targets_in_doubt_are_settled_only_if_all_of_them_pull_alike",
)
MODELS = (f"{SOUND}::test_bounds_hold_for_every_label_vertex_and_point_inside_exactly",)
ROOM = "certificates/row_sums"


def mutant(name: str, file: str, old: str, new: str, *tests: tuple[str, ...], equivalent: str = "") -> Mutant:
    """Return a mutant of a file of the room."""
    return Mutant(name, f"{ROOM}/{file}.py", old, new, tuple(test for each in tests for test in each), equivalent)


MUTANTS = (
    # --- the two labels (Lemma 27) ------------------------------------------------------------------------------------
    mutant("a wrong label is the right one", "labels", "LossGraph(loss, -y))", "LossGraph(loss, y))", SUMS),
    mutant(
        "a target without its upper end",
        "labels",
        "np.where(radius > 0.0, up(y + radius), y)",
        "np.where(radius > 0.0, up(y), y)",
        SUMS,
    ),
    mutant(
        "a target without its lower end",
        "labels",
        "np.where(radius > 0.0, down(y - radius), y)",
        "np.where(radius > 0.0, down(y), y)",
        SUMS,
    ),
    mutant("an entry never with twice its weight", "labels", "1.0 + of_weight", "1.0 + 0.0 * of_weight", SUMS),
    mutant("an entry never without its weight", "labels", "1.0 - of_weight", "1.0 - 0.0 * of_weight", SUMS),
    mutant(
        "other uncertain weights are taken as certain",
        "labels",
        "(of_weight != 1.0) | (radius > 0.0)",
        "False & (radius > 0.0)",
        ALONE,
    ),
    mutant("second labels gain nothing", "labels", "np.maximum(second - first, 0.0)", "0.0 * (second - first)", SUMS),
    mutant(
        "one wrong label fewer",
        "labels",
        "np.moveaxis(gains, -1, 0), self.most)",
        "np.moveaxis(gains, -1, 0), self.most - 1)",
        SUMS,
        COUNT,
    ),
    mutant(
        "one wrong label more",
        "labels",
        "np.moveaxis(gains, -1, 0), self.most)",
        "np.moveaxis(gains, -1, 0), self.most + 1)",
        COUNT,
    ),
    mutant(
        "a factor that slopes do not have",
        "graphs",
        "return self._times(least), self._times(greatest)",
        "return least, greatest",
        FACTORS,
    ),
    mutant(
        "a factor that bends do not have",
        "graphs",
        "return self._times(least), self._times(most)",
        "return least, most",
        FACTORS,
    ),
    mutant(
        "a factor that derivatives do not have",
        "graphs",
        "return self._times(low), self._times(high)",
        "return low, high",
        SUMS,
    ),
    mutant(
        "factors of other rows",
        "graphs",
        "None if self.factor is None else self.factor[which]",
        "None if self.factor is None else self.factor[which][::-1]",
        SUMS,
    ),
    mutant(
        "the lines of the first label for the second",
        "lines",
        "*_heights(slope, of_second)",
        "*_heights(slope, points)",
        LINES,
        SUMS,
    ),
    mutant(
        "cells with the first label alone",
        "ranges",
        "labels.second.incomplete.of_rows(self.variants.row)",
        "labels.first.incomplete.of_rows(self.variants.row)",
        SUMS,
    ),
    mutant(
        "cells with the labels of the center",
        "ranges",
        "table.incomplete_graph if table.labels is None else table.labels.first.incomplete",
        "table.incomplete_graph",
        SUMS,
    ),
    mutant(
        "lines with the labels of the center",
        "ranges",
        "Lines.of(labels.first.complete, lower, upper, labels.second.complete)",
        "Lines.of(self.table.complete_graph, lower, upper, labels.second.complete)",
        SUMS,
    ),
    mutant(
        "complete rows do not gain",
        "upper",
        "np.concatenate([each * table.complete_weight, more",
        "np.concatenate([0.0 * each * table.complete_weight, more",
        SUMS,
    ),
    mutant(
        "incomplete rows do not gain",
        "upper",
        "more * table.incomplete_weight], axis=1)",
        "0.0 * more * table.incomplete_weight], axis=1)",
        SUMS,
    ),
    mutant(
        "what second labels gain is left out of the sum",
        "upper",
        "np.stack([complete, incomplete, gained, error,",
        "np.stack([complete, incomplete, 0.0 * gained, error,",
        SUMS,
    ),
    mutant(
        "sizes of the first label's lines alone",
        "ranges",
        "(lines,) if lines.second is None else (lines, lines.second)",
        "(lines,)",
        EXACT,
        equivalent="A matter of rounding: the factor 3 of the error leaves more than the other label's sizes add.",
    ),
    mutant(
        "the rounding of gains is not counted",
        "upper",
        "error = 3.0 * error + (len(first.T) + 16) * EPS * (np.abs(terms[1]) @ table.incomplete_weight + gained)",
        "error = 0.0 * error",
        CANCEL,
    ),
    # --- which rows, and objectives with a minimiser ------------------------------------------------------------------
    mutant("no label takes a class away", "tilt", "lost = largest(", "lost = 0.0 * largest(", COERCIVE),
    mutant("one label fewer takes a class away", "tilt", "0.0), most).sum()", "0.0), most - 1).sum()", COERCIVE),
    mutant(
        "slopes at infinity without their rounding",
        "tilt",
        "+ 1e-9 * (np.abs(first).sum() + lost)",
        "",
        COERCIVE,
        equivalent="The gradient that they are compared with has a rounding of its own in it, which is larger.",
    ),
    mutant("a target in doubt is settled", "settled", "(labels.radius == 0.0) & ", "", SETTLED),
    mutant("a class in doubt is settled", "settled", "(labels.weight_radius == 0.0) & ", "", SETTLED),
    mutant("a label that may be wrong is settled", "settled", "& (labels.max_wrong_labels == 0)", "", SETTLED),
    mutant(
        "ranges settle rows by their first label",
        "table",
        "(self.graphs,) if self.labels is None else (self.labels.first, self.labels.second)",
        "(self.graphs,) if self.labels is None else (self.labels.second,)",
        SETTLED,
    ),
    mutant(
        "labels of rows that are left out",
        "table",
        "labels=self.labels and self.labels.of_rows(kept, left),",
        "labels=self.labels and self.labels.of_rows(~kept, left),",
        SETTLED,
    ),
)
