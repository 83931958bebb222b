"""Exact quantiles in a few passes: those of numpy.quantile, to the last bit, however little a pass may keep."""

import itertools

import numpy as np
import pytest

from ipub import IpubError
from ipub.tables.order_statistics import BIN_BITS, Bracket, ObservedColumn, QuantileSearch, count_in_brackets

DRAW = {
    "normal": lambda rng, n: rng.normal(size=n),
    "few values": lambda rng, n: rng.integers(-3, 3, n).astype(float),
    "huge range": lambda rng, n: np.exp(50.0 * rng.normal(size=n)) * rng.choice([-1.0, 1.0], n),
    "signed zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "one value mostly": lambda rng, n: np.where(rng.random(n) < 0.97, 7.0, rng.normal(size=n)),
}


def search(values, sample, probabilities, most_kept):
    """Return the quantiles, and how many passes they took."""
    observed = values[~np.isnan(values)]
    column = ObservedColumn(len(observed), observed.min(), observed.max(), np.sort(sample))
    found, passes = QuantileSearch({"a": column}, probabilities, most_kept), 0
    while found.brackets():
        pieces = np.array_split(values, 3)
        found.update([count_in_brackets({"a": piece}, found.brackets()) for piece in pieces])
        passes += 1
    return found.quantiles("a"), passes


@pytest.mark.parametrize("most_kept", [1, 50, 1 << 24])
@pytest.mark.parametrize("kind", DRAW)
def test_quantiles_are_those_of_numpy(kind, most_kept):
    rng = np.random.default_rng([list(DRAW).index(kind), most_kept])
    for _ in range(30):
        values = DRAW[kind](rng, int(rng.integers(1, 2000)))
        level = float(rng.choice([0.9, 0.5, 1.0, 0.001]))
        probabilities = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        sample = rng.choice(values, int(rng.integers(0, 200)))
        found, passes = search(np.append(values, np.nan), sample, probabilities, most_kept)
        assert found == tuple(np.quantile(values, probabilities))
        assert passes <= 9


def test_a_sample_that_misleads_costs_passes_and_changes_nothing():
    values = np.random.default_rng(0).normal(size=5000)
    found, passes = search(values, np.sort(values)[:40], [0.05, 0.95], 1 << 24)
    assert found == tuple(np.quantile(values, [0.05, 0.95]))
    assert passes == 2


def test_a_sample_of_a_long_column_needs_one_pass():
    values = np.random.default_rng(0).normal(size=50_000)
    assert search(values, values[::30], [0.05, 0.95], 1 << 24)[1] == 1


def test_no_pass_keeps_more_than_it_may():
    values = np.random.default_rng(0).normal(size=20_000)
    column = ObservedColumn(len(values), values.min(), values.max(), np.zeros(0))
    found = QuantileSearch({"a": column}, [0.05, 0.95], most_kept=100)
    while found.brackets():
        counts = count_in_brackets({"a": values}, found.brackets())
        assert sum(len(each.kept) for each in counts) <= 100
        assert all(len(each.bins) in (0, 1 << BIN_BITS) for each in counts)
        found.update([counts])


def test_bins_cover_a_bracket_without_gaps():
    for low, high in ((-1e100, 1e100), (-1.0, 2.0), (5e-324, 1.0), (-3.0, -2.0), (0.0, 5e-324)):
        bracket = Bracket("a", low, high, keeps=False)
        ends = [bracket.bin(0)]
        while ends[-1][1] < high:
            ends.append(bracket.bin(len(ends)))
        assert ends[0][0] == low
        assert len(ends) <= 1 << BIN_BITS
        for (_, before), (after, _) in itertools.pairwise(ends):
            assert np.nextafter(before, np.inf) == after


def test_a_column_that_changes_between_passes_is_no_endless_search():
    column = ObservedColumn(100, 0.0, 1.0, np.zeros(0))
    found = QuantileSearch({"a": column}, [0.05, 0.95])

    def search_on():
        while found.brackets():
            found.update([count_in_brackets({"a": np.full(100, 2.0)}, found.brackets())])

    with pytest.raises(IpubError, match="has changed"):
        search_on()
