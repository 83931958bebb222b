"""Mutants of undecided signs that are bounded case by case."""

from __future__ import annotations

from mutants.entry import Mutant

CASES = "certificates/slope/sign_cases.py"
SOUND = "soundness/test_sign_cases.py"
EXACT = (
    f"{SOUND}::test_bounds_by_cases_hold_exactly",
    f"{SOUND}::test_bounds_by_cases_hold_exactly_whatever_the_multipliers_are",
)
ROUNDED = (f"{SOUND}::test_what_a_case_adds_is_rounded_outward",)

MUTANTS = (
    Mutant("a line's spread taken out twice below", CASES, "- fixed + spread", "- fixed + 2.0 * spread", EXACT),
    Mutant("a line's spread taken out twice above", CASES, "- fixed - spread", "- fixed - 2.0 * spread", EXACT),
    Mutant("a line's middle left in", CASES, "(split.middle * u)", "(0.0 * split.middle * u)", EXACT),
    Mutant("a line's slope left in", CASES, "(shift - split.slope * u)", "(shift - 0.0 * u)", EXACT),
    Mutant("no price of a multiplier", CASES, "(shift - split.slope * u)", "(0.0 * shift - split.slope * u)", EXACT),
    Mutant("half the sign", CASES, "(split.kappa * u)", "(0.5 * split.kappa * u)", EXACT),
    Mutant(
        "positive weights move half as far", CASES, "np.maximum(limit, kink)", "np.maximum(0.5 * limit, kink)", EXACT
    ),
    Mutant("negative weights move half as far", CASES, "np.minimum(-limit,", "np.minimum(-0.5 * limit,", EXACT),
    Mutant("the kink on the other side", CASES, "-w[columns], move_limits", "w[columns], move_limits", EXACT),
    Mutant("no weight is positive", CASES, "upper >= 1.0,", "upper > 1.0,", EXACT),
    Mutant("no weight is negative", CASES, "lower <= -1.0]", "lower < -1.0]", EXACT),
    Mutant("no weight is zero", CASES, "np.full(order.shape, True)", "np.full(order.shape, False)", EXACT),
    Mutant("zero weights with the highest sign", CASES, "(lower, upper), (-one", "(upper, upper), (-one", EXACT),
    Mutant("the narrowest case below", CASES, "best.low.min(axis=1)", "best.low.max(axis=1)", EXACT),
    Mutant("the narrowest case above", CASES, "best.high.max(axis=1)", "best.high.min(axis=1)", EXACT),
    Mutant("no rounding of what a case adds", CASES, "parts.sum(axis=1), ", "0.0 * parts.sum(axis=1), ", ROUNDED),
)
