"""Summaries of sparse columns are those of the same table with all its entries."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array, random_array

from ipub import IpubError
from ipub.tables.columns import summarize_columns
from ipub.tables.sparse_columns import sparse_floats, summarize_sparse_columns

PROBABILITIES = [0.05, 0.95]


@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("size", [2.0, 1000.0])
def test_summaries_are_those_of_the_dense_table(density, size):
    rng = np.random.default_rng([int(10 * density), int(size)])
    for trial in range(20):
        table = random_array((int(rng.integers(1, 60)), 12), density=density, random_state=rng).tocsr()
        table.data = np.round((table.data - 0.3) * size, trial % 3)
        table.data[rng.random(table.nnz) < 0.1] = np.nan
        table.data[rng.random(table.nnz) < 0.1] = rng.choice([0.0, 99.0, -1.0])
        counted = None if trial % 2 else rng.random(table.shape[0]) < 0.7
        sparse = list(summarize_sparse_columns(sparse_floats(table), range(12), PROBABILITIES, counted))
        dense = list(summarize_columns(table.toarray(), range(12), PROBABILITIES, counted))
        assert list(map(repr, sparse)) == list(map(repr, dense))


def test_a_sentinel_is_found():
    table = csr_array(np.array([[-999.0], [-999.0], *([value] for value in range(30, 50))]))
    (column,) = summarize_sparse_columns(table, [0], PROBABILITIES, None)
    assert column.sentinel == -999.0


@pytest.mark.parametrize("kind", [csr_array, csc_matrix, coo_array])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, bool])
def test_any_format_and_type_becomes_floats(kind, dtype):
    table = np.array([[0, 1, 0], [1, 0, 1]], dtype=dtype)
    read = sparse_floats(kind(table))
    assert (read.format, read.dtype) == ("csr", float)
    np.testing.assert_array_equal(read.toarray(), table)


def test_entries_given_twice_are_added_and_stored_zeros_dropped():
    given = csr_array((np.array([1.0, np.nan, 2.0, 0.0, 3.0]), np.array([2, 1, 2, 0, 1]), np.array([0, 3, 5])), (2, 3))
    before = given.data.copy()
    read = sparse_floats(given)
    np.testing.assert_array_equal(read.toarray(), [[0.0, np.nan, 3.0], [0.0, 3.0, 0.0]])
    assert read.nnz == 3
    assert read.has_canonical_format
    np.testing.assert_array_equal(given.data, before)


@pytest.mark.parametrize(("value", "message"), [(np.inf, "infinity in row 2, column 1"), (-1e200, "beyond 1e\\+150")])
def test_infinite_and_huge_values_are_named(value, message):
    with pytest.raises(IpubError, match=message) as raised:
        sparse_floats(csr_array(([1.0, value], ([0, 2], [0, 1])), shape=(3, 2)))
    assert (raised.value.row, raised.value.column) == (2, 1)
