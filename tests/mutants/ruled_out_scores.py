"""Mutants of scores that are ruled out, of what pointwise bounds make of them, and of the status of predictions."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND, STATUS = "soundness/test_ruled_out_scores.py", "estimators/test_status.py"
ATTACK = f"{SOUND}::test_no_score_that_a_model_gives_is_ruled_out"
STRICT = f"{SOUND}::test_only_scores_strictly_beyond_what_is_known_are_ruled_out"
POINTS = f"{SOUND}::test_ranges_that_are_points_are_not_empty"
EXACT = f"{SOUND}::test_a_supposed_score_is_used_exactly"
SIDE = f"{SOUND}::test_the_side_is_known_only_where_w_is_clearly_on_it"
MOVED = f"{SOUND}::test_a_bound_is_moved_only_to_scores_that_were_ruled_out"
KNOWN = f"{SOUND}::test_known_ranges_of_smooth_losses_rule_out_no_scores"
OPEN = f"{STATUS}::test_open_takes_two_fillings_that_clearly_give_two_classes"
HOLES = f"{STATUS}::test_only_rows_without_holes_are_certain_by_ruling_out_0"
CATEGORIES = f"{STATUS}::test_only_rows_without_missing_categories_are_certain_by_ruling_out_0"

SCORES, STATES = "certificates/per_row/ruled_out_scores.py", "answers/status.py"
ATTAINED = "answers/attained/bounds.py"

MUTANTS = (
    Mutant(
        "a bound on the score rules it out",
        "no_model_at",
        "return found.highest < supposed.score",
        "return found.highest <= supposed.score",
        (STRICT,),
    ),
    Mutant(
        "ranges that are points are empty",
        "_narrowed_under",
        "(lower > upper).any()",
        "(lower >= upper).any()",
        (POINTS,),
    ),
    Mutant(
        "lower ends of the directions themselves",
        "_Directions.of",
        "both = np.concatenate([Y, -Y])",
        "both = np.concatenate([Y, Y])",
        (ATTACK, POINTS),
    ),
    Mutant(
        "the supposed score is added",
        "_largest_if_supposed",
        "largest_scores(ranges, moved) - factor * supposed.score",
        "largest_scores(ranges, moved) + factor * supposed.score",
        (EXACT,),
    ),
    Mutant(
        "the supposed score is left out",
        "_largest_if_supposed",
        "largest_scores(ranges, moved) - factor * supposed.score",
        "largest_scores(ranges, moved)",
        (EXACT,),
    ),
    Mutant("the direction is rounded for nothing", "_largest_if_supposed", "+ 2.0 * error)", ")", (EXACT,)),
    Mutant(
        "the rounding of t is left out",
        "_largest_if_supposed",
        "size = np.abs(Y) + np.abs(factor)[:, None] * np.abs(supposed.t)",
        "size = np.abs(Y)",
        (EXACT,),
    ),
    Mutant(
        "w at the score is on a side",
        "is_on_one_side",
        "    if low <= score <= high:\n        return False\n",
        "",
        (SIDE,),
    ),
    Mutant(
        "w between its own bounds is on a side",
        "is_on_one_side",
        "if low <= score <= high:",
        "if low < score < high:",
        (SIDE,),
    ),
    Mutant(
        "a score that was not ruled out is a bound",
        "_lowered",
        "bound = min(bound, max(found.highest, score))",
        "bound = min(bound, score)",
        (MOVED, ATTACK),
    ),
    Mutant(
        "the lower bound is the upper of t",
        "narrow_by_ruling_out",
        "-_lowered(ranges, -t, -low, work.part(0.5))",
        "-_lowered(ranges, t, -low, work.part(0.5))",
        (MOVED, ATTACK),
    ),
    Mutant(
        "known ranges are those of a path",
        "row_sum_bounds_within",
        "leaves_out_constant=not problem.loss.is_smooth)), is_narrower",
        "leaves_out_constant=not problem.loss.is_smooth), None, ranges), is_narrower",
        (KNOWN,),
    ),
    Mutant(
        "one filling flips",
        "has_two_sides",
        "(bounds[:, 0] < -least) & (bounds[:, 1] > least)",
        "(bounds[:, 0] < -least) | (bounds[:, 1] > least)",
        (OPEN,),
    ),
    Mutant("rounding flips", "has_two_sides", "least = RETRAINING_ERROR *", "least = 0.0 *", (OPEN,)),
    Mutant(
        "draws that are badly trained flip",
        "_is_open",
        "if is_drawn and not certificate.gap",
        "if False and not certificate.gap",
        (f"{STATUS}::test_draws_that_are_badly_trained_show_no_flip",),
    ),
    Mutant(
        "the middle of a hole stands for the row",
        "_is_on_one_side",
        "if not len(row.cells[0]) and not len(row.missing_categories):",
        "if not len(row.missing_categories):",
        (HOLES,),
    ),
    Mutant(
        "the center of a missing category stands for the row",
        "_is_on_one_side",
        "if not len(row.cells[0]) and not len(row.missing_categories):",
        "if not len(row.cells[0]):",
        (CATEGORIES,),
    ),
    Mutant(
        "the side of another number",
        "_is_on_one_side",
        "searched, row.center[0], 0.0, effort",
        "searched, row.center[0], -1.0, effort",
        (HOLES,),
    ),
    Mutant(
        "ranges without a path prove sides",
        "RowSumBounds.searched",
        "self.ranges if self.path is not None or self.ranges.variants.graph.is_step else None",
        "self.ranges",
        (f"{STATUS}::test_ranges_without_a_path_prove_no_side",),
    ),
    Mutant(
        "of several classes the first one counts",
        "prediction_status",
        "if len(training.classes) == 2 and training.can_search",
        "if training.can_search",
        (f"{STATUS}::test_rows_of_more_than_two_classes_are_open_if_a_filling_changes_the_class",),
    ),
    Mutant(
        "what bounds under a supposition bounds without it, below the supposed score",
        "_lowered",
        "bound = min(bound, max(found.highest, score))",
        "bound = min(bound, found.highest)",
        (MOVED, ATTACK),
    ),
    Mutant(
        "what is learnt from a score that was ruled out serves for lower ones",
        "_lowered",
        "        if found.highest >= score:\n",
        "        if True:\n",
        (MOVED,),
    ),
    Mutant(
        "rows with holes are bounded by retraining alone",
        "Training.score_bounds",
        "if extended.is_uncertain:",
        "if False:",
        ("certificates/per_row/test_pointwise.py::test_rows_with_holes_are_bounded_as_narrowly_as_by_tight",),
    ),
)
