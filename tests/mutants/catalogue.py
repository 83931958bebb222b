"""All mutants."""

from __future__ import annotations

from mutants import (
    arithmetic,
    compiled,
    conditional_intervals,
    dask,
    draws,
    fillings,
    labels_and_rows,
    one_matrix,
    pieces,
    promises,
    regions,
    row_sum_kernel,
    row_sums,
    row_sums_of_jumps,
    row_sums_of_labels,
    ruled_out_scores,
    slopes,
    sparse,
    supports,
    tilted,
)
from mutants.entry import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *arithmetic.MUTANTS,
    *compiled.MUTANTS,
    *regions.MUTANTS,
    *labels_and_rows.MUTANTS,
    *one_matrix.MUTANTS,
    *slopes.MUTANTS,
    *row_sum_kernel.MUTANTS,
    *row_sums.MUTANTS,
    *row_sums_of_jumps.MUTANTS,
    *row_sums_of_labels.MUTANTS,
    *ruled_out_scores.MUTANTS,
    *fillings.MUTANTS,
    *draws.MUTANTS,
    *promises.MUTANTS,
    *pieces.MUTANTS,
    *conditional_intervals.MUTANTS,
    *dask.MUTANTS,
    *sparse.MUTANTS,
    *supports.MUTANTS,
    *tilted.MUTANTS,
)
