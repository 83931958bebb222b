"""Hot deck: every missing value is a random observed value of its column."""

from __future__ import annotations

import numpy as np

from ipub.training.imputing.holes import Filling, Holes


class HotDeck:
    """Each missing number is a random observed one of its column inside its interval, each category likewise.

    All are independent. Observed values that occur often are drawn often. Where no observed value lies in the interval
    of a cell, every value of the interval is equally likely; where a category was never observed, every level is.

    Parameters
    ----------
    holes : Holes
    """

    def __init__(self, holes: Holes) -> None:
        self._lower, self._upper = holes.lower, holes.upper
        self._first = np.zeros(len(holes.cells), dtype=np.intp)
        self._count = np.zeros(len(holes.cells), dtype=np.intp)
        donors, start = [np.zeros(1)], 1
        for column in np.unique(holes.columns):
            observed = holes.table[holes.counts, column]
            observed = np.sort(observed[~np.isnan(observed)])
            here = np.flatnonzero(holes.columns == column)
            first = np.searchsorted(observed, holes.lower[here], side="left")
            last = np.searchsorted(observed, holes.upper[here], side="right")
            self._first[here], self._count[here] = start + first, last - first
            donors.append(observed)
            start += len(observed)
        self._donors = np.concatenate(donors)
        missing = holes.missing_categories
        self._n_missing = len(missing)
        self._categories = []
        for which, levels in missing.by_category():
            indicators = holes.table[np.ix_(holes.counts, levels.columns)]
            totals = np.nansum(indicators, axis=0)
            totals = totals if totals.any() else np.ones(len(levels.columns))
            self._categories.append((which, np.cumsum(totals) / totals.sum()))

    def draw(self, rng: np.random.Generator) -> Filling:
        """Draw a filling."""
        places = rng.random(len(self._first))
        index = self._first + np.minimum((places * self._count).astype(np.intp), self._count - 1)
        between = np.clip(self._lower + places * (self._upper - self._lower), self._lower, self._upper)
        numbers = np.where(self._count > 0, self._donors[np.where(self._count > 0, index, 0)], between)
        levels = np.zeros(self._n_missing, dtype=np.intp)
        for which, cumulated in self._categories:
            chosen = np.searchsorted(cumulated, rng.random(len(which)), side="right")
            levels[which] = np.minimum(chosen, len(cumulated) - 1)
        return Filling(numbers, levels)
