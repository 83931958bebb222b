"""What draws fillings: hot deck, chained regressions, or an imputer of the user; and which of them a choice means."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors

from ipub.numeric.rounding import Array
from ipub.promises import Draws
from ipub.tables.interval_matrix import Indices
from ipub.training.imputing.fillings import UserImputer
from ipub.training.imputing.holes import Filling, Holes


class HotDeck:
    """Each missing number is a random observed one of its column inside its interval, each category likewise.

    All are independent. Observed values that occur often are drawn often. Where no observed value lies in the interval
    of a cell, every value of the interval is equally likely; where a category was never observed, every level is.
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


ROUNDS = 3
"""How often every column is drawn given the others: rounds beyond these hardly change the law."""

N_DONORS = 5
"""A value is drawn among those of so many observed rows, whose predictions are nearest."""

PENALTY = 1e-3
"""Ridge penalty of the regressions on standardised columns, times the number of rows: enough to make them unique."""


class _Target(NamedTuple):
    """A column with holes, or the columns of the levels of a category."""

    columns: Indices
    rows: Indices
    """Where it is missing."""
    which: Indices
    """The numbers of these holes among the missing numbers, or among the missing categories."""
    donors: Indices
    """Rows in which it is observed, that count."""
    is_number: bool


class Chained:
    """Multiple imputation by chained regressions with predictive mean matching.

    Holes start as hot-deck draws. In each of `ROUNDS` rounds, for one column after another, a ridge regression on the
    other columns is fitted to a bootstrap sample of the rows in which the column is observed, and each hole takes the
    value of a random one of the `N_DONORS` rows whose predictions are nearest to its own. A category is predicted by
    its indicator columns. So draws depend on what is observed in the row, and are values that occur. A number outside
    its interval keeps its hot-deck draw, and so does what is missing in a table with no other column.
    """

    def __init__(self, holes: Holes) -> None:
        self._holes, self._start = holes, HotDeck(holes)
        observed, counted = ~np.isnan(holes.table), holes.counts
        with np.errstate(invalid="ignore"):
            n = np.maximum(1, observed.sum(axis=0))
            self._mean = np.nansum(holes.table, axis=0) / n
            deviation = np.sqrt(np.nansum((holes.table - self._mean) ** 2, axis=0) / n)
        self._scale = np.where(deviation > 0.0, deviation, 1.0)
        self._targets = [self._number(column, observed, counted) for column in np.unique(holes.columns)]
        missing = holes.missing_categories
        for which, levels in missing.by_category():
            donors = np.flatnonzero(observed[:, levels.columns[0]] & counted)
            self._targets.append(_Target(levels.columns, missing.rows[which], which, donors, False))
        n_columns = holes.table.shape[1]
        self._targets = [each for each in self._targets if len(each.donors) > 1 and len(each.columns) < n_columns]

    def _number(self, column: int, observed: NDArray[np.bool_], counted: NDArray[np.bool_]) -> _Target:
        which = np.flatnonzero(self._holes.columns == column)
        values = self._holes.table[:, column]
        low, high = self._holes.lower[which].min(), self._holes.upper[which].max()
        with np.errstate(invalid="ignore"):
            donors = np.flatnonzero(observed[:, column] & counted & (values >= low) & (values <= high))
        return _Target(np.array([column]), self._holes.rows[which], which, donors, True)

    def draw(self, rng: np.random.Generator) -> Filling:
        """Draw a filling."""
        holes, (numbers, levels) = self._holes, self._start.draw(rng)
        table = self._standardised(numbers, levels)
        for _ in range(ROUNDS if len(self._targets) > 1 else 1):
            for target in self._targets:
                donors = self._donors(table, target, rng)
                if target.is_number:
                    values = holes.table[donors, target.columns[0]]
                    lower, upper = holes.lower[target.which], holes.upper[target.which]
                    numbers[target.which] = np.where(
                        (values >= lower) & (values <= upper), values, numbers[target.which]
                    )
                    column = target.columns[0]
                    table[target.rows, column] = (numbers[target.which] - self._mean[column]) / self._scale[column]
                else:
                    levels[target.which] = holes.table[np.ix_(donors, target.columns)].argmax(axis=1)
                    table[np.ix_(target.rows, target.columns)] = table[np.ix_(donors, target.columns)]
        return Filling(numbers, levels)

    def _standardised(self, numbers: Array, levels: Indices) -> Array:
        """Return the filled table with columns of mean 0 and deviation 1."""
        holes = self._holes
        table = np.where(np.isnan(holes.table), self._mean, holes.table)
        table[holes.rows, holes.columns] = numbers
        holes.missing_categories.put(table, levels)
        return np.asarray((table - self._mean) / self._scale)

    def _donors(self, table: Array, target: _Target, rng: np.random.Generator) -> Indices:
        """Draw a row in which the target is observed for each row in which it is missing."""
        others = np.delete(table, target.columns, axis=1)
        goal = table[:, target.columns]
        sample = rng.choice(target.donors, len(target.donors))
        model = Ridge(alpha=PENALTY * len(sample)).fit(others[sample], goal[sample])
        predicted = model.predict(others).reshape(len(table), -1)
        count = min(N_DONORS, len(target.donors))
        neighbours = NearestNeighbors(n_neighbors=count).fit(predicted[target.donors])
        nearest = neighbours.kneighbors(predicted[target.rows], return_distance=False)
        chosen = nearest[np.arange(len(nearest)), rng.integers(count, size=len(nearest))]
        return np.asarray(target.donors[chosen])


class Sampler(Protocol):
    """A law of the missing values from which fillings can be drawn."""

    def draw(self, rng: np.random.Generator) -> Filling:
        """Draw a filling; draws with independent generators are independent."""
        ...


def sampler_of(draws: Draws, holes: Holes) -> Sampler:
    """Return the sampler that `draws` names, for the holes of a table."""
    if isinstance(draws.imputer, str):
        return HotDeck(holes) if draws.imputer == "hot_deck" else Chained(holes)
    return UserImputer(holes, draws.imputer, draws.name, draws.clip)
