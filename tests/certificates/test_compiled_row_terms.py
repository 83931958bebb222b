"""The compiled loops of row terms have the same bits as NumPy; without Numba they run, and are tested, as Python."""

import numpy as np
import pytest

from ipub.certificates.row_sums import row_terms
from ipub.certificates.row_sums import variants as variants_module
from ipub.certificates.row_sums.row_terms import RowMultipliers, largest_row_terms
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.variant_loops import variant_maxima
from support.cases import train
from support.row_sums import ranges_over
from support.tiny_cases import tiny_choices


def some_multipliers(rng, table, size, k=3):
    return RowMultipliers(
        size * rng.normal(size=(k, len(table.incomplete))),
        size * rng.normal(size=(k, len(table.cell_rows))),
        tuple(size * rng.normal(size=(k, len(each.rows), len(each.columns))) for each in table.missing),
    )


@pytest.mark.parametrize("most_variants", [64, 1])
@pytest.mark.parametrize("loss_name", ["log_loss", "hinge", "squared_error"])
def test_compiled_terms_are_those_of_numpy_bit_for_bit(loss_name, most_variants, monkeypatch):
    monkeypatch.setattr(variants_module, "MOST_VARIANTS", most_variants)
    for number, size in enumerate((1.0, 1.0, 1.0, 1.0, 1e150, 1e200)):
        rng = np.random.default_rng([5, number])
        case = tiny_choices(rng, loss_name, "l2", gentle=False)
        table = RowTable.of(case.problem, train(case.problem))
        ranges = ranges_over(table, size * rng.normal(size=(2, len(table.w))))
        u, multipliers = size * rng.normal(size=(3, len(table.w))), some_multipliers(rng, table, size)
        u[-1, 0] = np.nan
        with np.errstate(all="ignore"):
            monkeypatch.setattr(row_terms, "compiled_loops", lambda: None)
            expected = largest_row_terms(ranges, u, multipliers, with_worst=True)
            monkeypatch.setattr(row_terms, "compiled_loops", lambda: variant_maxima)
            monkeypatch.setattr(row_terms, "MANY_TERMS", 0)
            found = largest_row_terms(ranges, u, multipliers, with_worst=True)
        assert np.array_equal(found.largest, expected.largest, equal_nan=True)
        assert np.array_equal(found.worst.score, expected.worst.score, equal_nan=True)
        assert np.array_equal(found.worst.weights, expected.worst.weights, equal_nan=True)
        assert np.isnan(expected.largest[-1]).all()
