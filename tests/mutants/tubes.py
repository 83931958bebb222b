"""Mutants of tubes: ranges that follow one weight."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND = "soundness/test_tube.py"
PIECE = f"{SOUND}::test_a_piece_holds_the_ranges_at_both_of_its_knots"
REACHED = f"{SOUND}::test_what_is_reached_at_a_knot_is_the_larger_of_what_both_pieces_reach"
EXACT = f"{SOUND}::test_bounds_at_both_values_of_the_weight_are_exact_but_for_rounding"
STRICT = f"{SOUND}::test_row_sums_that_end_where_a_tube_does_are_not_inside"
HOLDS_W = f"{SOUND}::test_a_tube_that_does_not_hold_w_or_has_no_path_is_not_closed"
ENDS = f"{SOUND}::test_both_ends_of_a_tube_are_ruled_out"
RISING = f"{SOUND}::test_knots_that_do_not_rise_close_nothing"
HULL = f"{SOUND}::test_the_hull_of_a_tube_holds_the_ranges_at_all_knots"
LINES = f"{SOUND}::test_row_sums_with_one_line_a_row_hold_for_every_w_and_completion"

TUBE, LINE = "certificates/row_sums/tube.py", "certificates/row_sums/lines.py"

MUTANTS = (
    Mutant(
        "a piece has the lower ends of its first knot",
        TUBE,
        "lower = np.minimum(self.lower[k], self.lower[k + 1])",
        "lower = self.lower[k].copy()",
        (PIECE,),
    ),
    Mutant(
        "a piece has the upper ends of its second knot",
        TUBE,
        "upper = np.maximum(self.upper[k], self.upper[k + 1])",
        "upper = self.upper[k + 1].copy()",
        (PIECE,),
    ),
    Mutant(
        "a knot is bounded by the piece after it alone",
        TUBE,
        "zip((k, k + 1), bounds",
        "zip((k, k), bounds",
        (REACHED,),
    ),
    Mutant(
        "the last piece beside a knot counts alone",
        TUBE,
        "np.maximum(found.upper[knot], bound[: len(Y)], out=found.upper[knot])",
        "found.upper[knot] = bound[: len(Y)]",
        (REACHED,),
    ),
    Mutant(
        "the weight is not taken off",
        TUBE,
        "largest_scores(piece, moved) - taken",
        "largest_scores(piece, moved)",
        (EXACT,),
    ),
    Mutant(
        "the weight is added",
        TUBE,
        "largest_scores(piece, moved) - taken",
        "largest_scores(piece, moved) + taken",
        (EXACT,),
    ),
    Mutant("the direction of a piece is rounded for nothing", TUBE, "4.0 * EPS * error", "0.0 * error", (EXACT,)),
    Mutant(
        "an upper end of a tube may be reached",
        TUBE,
        "found.upper < self.upper",
        "found.upper <= self.upper",
        (STRICT,),
    ),
    Mutant(
        "a lower end of a tube may be reached", TUBE, "found.lower > self.lower", "found.lower >= self.lower", (STRICT,)
    ),
    Mutant(
        "w need not be in the tube",
        TUBE,
        "return bool(holds_w.all()) and self.no_model",
        "return self.no_model",
        (HOLDS_W,),
    ),
    Mutant(
        "w may be at an end of the tube",
        TUBE,
        "np.flatnonzero(self.knots[1:-1] == table.w[self.column]) + 1",
        "np.flatnonzero(self.knots == table.w[self.column])",
        (HOLDS_W,),
    ),
    Mutant("a tube needs no models", TUBE, "table.is_coercive and self.ranges", "self.ranges", (HOLDS_W,)),
    Mutant("a tube needs no path", TUBE, "self.ranges.on_path and ", "", (HOLDS_W,)),
    Mutant("the upper end of a tube is open", TUBE, " and self.no_model_at_end(-1, 1)", "", (ENDS,)),
    Mutant(
        "the lower end of a tube is open",
        TUBE,
        "self.no_model_at_end(0, -1) and self.no_model_at_end(-1, 1)",
        "self.no_model_at_end(-1, 1)",
        (ENDS,),
    ),
    Mutant(
        "a model may lie at the end of a tube",
        TUBE,
        "[0] < side * self.knots[k] - reserve",
        "[0] <= side * self.knots[k] - reserve",
        (ENDS,),
    ),
    Mutant("knots need not rise", TUBE, "if not (is_rising and table", "if not (table", (RISING,)),
    Mutant(
        "the hull has the least upper ends",
        TUBE,
        "self.upper.max(axis=0), self.knots",
        "self.upper.min(axis=0), self.knots",
        (HULL,),
    ),
    Mutant(
        "the hull has the largest lower ends",
        TUBE,
        "self.lower.min(axis=0), self.upper",
        "self.lower.max(axis=0), self.upper",
        (HULL,),
    ),
    Mutant(
        "the hull ends in the middle", TUBE, "self.knots[0], self.knots[-1])", "self.knots[1], self.knots[-2])", (HULL,)
    ),
    Mutant(
        "the common line is too low",
        LINE,
        "return cls(lower, upper, slope, *_heights(slope, points), convex, concave)\n\n    def choose",
        "return cls(lower, upper, slope, 0.5 * slope, 0.5 * slope, convex, concave)\n\n    def choose",
        (LINES,),
    ),
)
