"""Mutants of what is lost once values are known."""

from __future__ import annotations

from mutants.entry import Mutant

TESTS = ("answers/test_influence.py",)
COUNTS = ("answers/test_measuring.py",)

MUTANTS = (
    Mutant(
        "half of what a number may lose", "KnownValues._of_numbers", "up(most * spread)", "0.5 * most * spread", TESTS
    ),
    Mutant("a trend that is taken for certain", "KnownValues._of_numbers", "np.maximum(low, -high)", "size", TESTS),
    Mutant(
        "the loss of an uncertain trend as if it were certain",
        "KnownValues._of_numbers",
        "up(high - low)",
        "0.5 * size",
        TESTS,
    ),
    Mutant(
        "the nearest level for what a level loses at least",
        "_of_levels",
        "lowest.max(axis=3) - highest.min(axis=3)",
        "highest.max(axis=3) - lowest.min(axis=3)",
        TESTS,
    ),
    Mutant(
        "what a level loses at most on one side",
        "_of_levels",
        "up(highest.max(axis=3) - lowest.min(axis=3))",
        "highest.max(axis=3)",
        TESTS,
    ),
    Mutant(
        "the best level for all of them",
        "KnownValues.in_parts",
        "least.min(axis=2), most.max(axis=2)",
        "least.max(axis=2), most.min(axis=2)",
        TESTS,
    ),
    Mutant("levels in the other direction", "Trends.of_levels", "(-fall[1], -fall[0])", "(fall[0], fall[1])", TESTS),
    Mutant(
        "levels without the derivative's product",
        "Trends.of_levels",
        "down(first[0] + second[0]), up(first[1] + second[1])",
        "second[0], second[1]",
        TESTS,
    ),
    Mutant(
        "levels without the secant's product",
        "Trends.of_levels",
        "down(first[0] + second[0]), up(first[1] + second[1])",
        "first[0], first[1]",
        TESTS,
    ),
    Mutant(
        "the next of the uncertain cells",
        "KnownValues.of",
        "np.flatnonzero(missing.matrix.radii > 0.0), missing.holes.cells",
        "np.flatnonzero(missing.matrix.radii > 0.0), missing.holes.cells - 1",
        TESTS,
    ),
    Mutant(
        "rows that are apart by one reach",
        "CertainCounts.open_at_most",
        "up(reach[here][:, None] + reach[here])",
        "0.05 * reach[here][:, None]",
        COUNTS,
    ),
    Mutant(
        "the last of those that are open at once",
        "CertainCounts.open_at_most",
        "np.triu(together).sum(axis=1).max(initial=0)",
        "np.triu(together, 3).sum(axis=1).max(initial=0)",
        COUNTS,
    ),
    Mutant(
        "moves of known values for those of unknown ones",
        "CertainCounts.open_at_most",
        "self.half[:, ~known]",
        "self.half[:, known]",
        COUNTS,
    ),
    Mutant(
        "rows with missing values of their own settled by others",
        "CertainCounts.open_at_most",
        "(reach > 0.0) & ~self.stays",
        "(reach > 0.0)",
        COUNTS,
        equivalent="they are counted twice, which is more",
    ),
    Mutant(
        "rows that stay open forgotten",
        "CertainCounts.open_at_most",
        "total = int(np.count_nonzero(self.stays))",
        "total = 0",
        COUNTS,
    ),
    Mutant(
        "far apart for as good as equal",
        "_apart",
        "np.maximum(distance, 0.0), 0.0",
        "np.abs(distance) + 1.0, 0.0",
        COUNTS,
    ),
    Mutant(
        "other uncertainty forgotten",
        "_varies_otherwise",
        "other_cells or problem.rows.uncertain_labels or not is_one",
        "not is_one",
        COUNTS,
    ),
    Mutant(
        "several models of one filling taken for one",
        "_varies_otherwise",
        "not problem.penalty.n_free or problem.loss.has_bounded_third_derivative or known is not None",
        "problem.loss.is_smooth",
        COUNTS,
    ),
    Mutant(
        "known values of a budget that may be any",
        "_curve",
        "n_now if around else counts.at_least(known)",
        "m if around else counts.at_least(known)",
        COUNTS,
    ),
    Mutant(
        "units that are known left in",
        "MovableRows.without",
        "~np.isin(option_unit, units)",
        "np.ones(len(option_unit), dtype=bool)",
        COUNTS,
    ),
    Mutant(
        "known values that are left open",
        "Predictions._recertified",
        "(training, known, self.missing.filled_in)",
        "(training, np.ones_like(known), self.missing.filled_in)",
        COUNTS,
    ),
)
