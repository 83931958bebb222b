"""Mutants of loops in C."""

from __future__ import annotations

from mutants.entry import Mutant

TESTS = "numeric/test_compiled.py::test_"
ROUNDING = (f"{TESTS}rounding_in_loops_has_the_bits_of_numpy",)
GRAMS = (f"{TESTS}weighted_grams_are_within_the_roundings_of_a_sum",)
SUMS = (f"{TESTS}weighted_sums_are_those_of_numpy",)
OUTWARD, ROWS, TILE = "numeric/compiled/outward.c", "numeric/compiled/gram_loops.c", "numeric/compiled/add_tile.h"

MUTANTS = (
    Mutant(
        "a compiled step of half a unit",
        "rounded_up",
        "return value + (fabs(value) * eps + tiny);",
        "return value + (fabs(value) * 0.5 * eps + tiny);",
        ROUNDING,
    ),
    Mutant(
        "compiled down goes up",
        "ipub_down",
        "found[i] = values[i] - (fabs(values[i]) * eps + tiny);",
        "found[i] = values[i] + (fabs(values[i]) * eps + tiny);",
        ROUNDING,
    ),
    Mutant(
        "a compiled sum without its error",
        "ipub_sum_upper",
        "rounded_up(values[i] + error, eps, tiny)",
        "rounded_up(values[i] + 0.0 * error, eps, tiny)",
        ROUNDING,
    ),
    Mutant(
        "a Gram matrix without the last rows",
        "ipub_weighted_grams",
        "n = end - start < AT_ONCE ? end - start : AT_ONCE;",
        "n = end - start < AT_ONCE ? end - start - 1 : AT_ONCE;",
        GRAMS,
    ),
    Mutant(
        "a Gram matrix that keeps the group before",
        "ipub_weighted_grams",
        "        memset(grams, 0, (size_t)n_values * square * sizeof(double));\n",
        "",
        GRAMS,
    ),
    Mutant("values are never squared", "ipub_weighted_grams", "is_squared ? scaled : columns", "columns", GRAMS),
    Mutant(
        "the products of the first tile alone",
        "ipub_weighted_grams",
        "for (ptrdiff_t k = j; k < wide; k += TILE)",
        "for (ptrdiff_t k = j; k < TILE; k += TILE)",
        GRAMS,
    ),
    Mutant(
        "the last rows taken for the first",
        "copy_columns",
        "i < n ? rows[which[i] * d + j] : 0.0",
        "rows[which[0] * d + j]",
        GRAMS,
    ),
    Mutant("one of sixteen products twice", "ADD_TILE", "s13 += x1 * y3;", "s13 += 2.0 * x1 * y3;", GRAMS),
    Mutant("sums with the first factor alone", "ipub_weighted_sums", "(row[j] * a) * b", "row[j] * a", SUMS),
)
