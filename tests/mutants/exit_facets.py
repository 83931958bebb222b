"""Mutants of ranges whose ends are ruled out one by one."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND = "soundness/test_exit_facets.py"
EVERY = f"{SOUND}::test_every_end_that_row_sums_reach_is_ruled_out_in_the_same_ranges"
STRICT = f"{SOUND}::test_row_sums_that_end_where_a_range_does_are_not_inside"
RESISTS = f"{SOUND}::test_an_end_that_resists_is_no_end"
NOTHING = f"{SOUND}::test_nothing_is_proved_without_models_on_the_path_or_without_time"
CUT = f"{SOUND}::test_bounds_are_cut_down_to_what_both_leave"

FACETS, POINTWISE = "certificates/row_sums/exit_facets.py", "certificates/pointwise.py"

MUTANTS = (
    Mutant("an end that row sums reach is inside", FACETS, "bounds < ends[which]", "bounds <= ends[which]", (STRICT,)),
    Mutant(
        "an end that resists is ruled out",
        FACETS,
        "until - now, MOST_NARROWED):\n            return int(k)",
        "until - now, MOST_NARROWED):\n            continue",
        (RESISTS,),
    ),
    Mutant(
        "lower ends are not ruled out",
        FACETS,
        "ends = np.flatnonzero(is_open)",
        "ends = np.flatnonzero(is_open[: len(is_open) // 2])",
        (EVERY,),
    ),
    Mutant(
        "ends farther away are ruled out",
        FACETS,
        "level, start = np.concatenate([ranges.upper, -ranges.lower])",
        "level, start = sides.at_w + 2.0 * (np.concatenate([ranges.upper, -ranges.lower]) - sides.at_w)",
        (EVERY,),
    ),
    Mutant(
        "lower ends have the sign of upper ones",
        FACETS,
        "level, start = np.concatenate([ranges.upper, -ranges.lower])",
        "level, start = np.concatenate([ranges.upper, ranges.lower])",
        (EVERY,),
    ),
    Mutant("objectives need no models", FACETS, "    if not table.is_coercive:\n        return None\n", "", (NOTHING,)),
    Mutant(
        "the narrower bounds are lost",
        POINTWISE,
        "np.fmax(bounds[:, 0], ends[0]), np.fmin(bounds[:, 1], ends[1])",
        "np.fmin(bounds[:, 0], ends[0]), np.fmax(bounds[:, 1], ends[1])",
        (CUT,),
    ),
)
