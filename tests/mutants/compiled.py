"""Mutants of compiled loops."""

from __future__ import annotations

from mutants.entry import Mutant

TESTS = "test_compiled.py::test_"
ROUNDING = (f"{TESTS}rounding_in_loops_has_the_bits_of_numpy",)
GRAMS = (f"{TESTS}weighted_grams_are_within_the_roundings_of_a_sum",)
SUMS = (f"{TESTS}weighted_sums_are_those_of_numpy",)
OUTWARD, ROWS = "compiled/outward.py", "compiled/row_sums.py"

MUTANTS = (
    Mutant(
        "a compiled step of half a unit",
        OUTWARD,
        "found[i] = values[i] + (abs(values[i]) * eps + tiny)",
        "found[i] = values[i] + (abs(values[i]) * 0.5 * eps + tiny)",
        ROUNDING,
    ),
    Mutant(
        "compiled down goes up",
        OUTWARD,
        "found[i] = values[i] - (abs(values[i]) * eps + tiny)",
        "found[i] = values[i] + (abs(values[i]) * eps + tiny) + 0.0",
        ROUNDING,
    ),
    Mutant(
        "a compiled sum without its error",
        OUTWARD,
        "        total = values[i] + error\n",
        "        total = values[i]\n",
        ROUNDING,
    ),
    Mutant(
        "a Gram matrix without the last rows",
        ROWS,
        "stop = min(start + AT_ONCE, starts[g + 1])",
        "stop = min(start + AT_ONCE, starts[g + 1] - 1)",
        GRAMS,
    ),
    Mutant("a Gram matrix that keeps the group before", ROWS, "        gram[:] = 0.0\n", "", GRAMS),
    Mutant("values are never squared", ROWS, "scaled if is_squared else columns", "columns", GRAMS),
    Mutant(
        "the products of the first tile alone",
        ROWS,
        "for k in range(j, wide, TILE):",
        "for k in range(j, TILE):",
        GRAMS,
    ),
    Mutant("one of sixteen products twice", ROWS, "        s13 += x1 * y3\n", "        s13 += 2.0 * x1 * y3\n", GRAMS),
    Mutant("sums with the first factor alone", ROWS, "(row[j] * a) * b", "row[j] * a", SUMS),
)
