"""The rows that are asked about, with missing values of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipub.certificates import Certificate
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import MissingCategories
from ipub.training import Training
from ipub.training.deferred import done
from ipub.training.training import Certified


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Rows as the models see them; each may be anywhere within its missing values, whatever the training table is."""

    training: Training
    rows: IntervalMatrix
    center: Array
    """With the column of the intercept."""
    radius: Array
    """Of the cells."""
    categories: MissingCategories

    @classmethod
    def of(cls, training: Training, rows: IntervalMatrix) -> AskedRows:
        """Look at rows as a training reads them."""
        center, cells, missing = training.extended(rows)
        radius = np.zeros_like(center)
        radius[cells[0], cells[1]] = cells[2]
        return cls(training, rows, center, radius, missing)

    def __len__(self) -> int:
        return len(self.center)

    @property
    def is_uncertain(self) -> bool:
        """Whether a row has a missing value."""
        return bool(self.rows.n_uncertain or len(self.rows.missing_categories))

    def has_missing(self, number: int) -> bool:
        """Whether one of the rows has a missing value."""
        return bool(self.radius[number].any() or (self.categories.rows == number).any())

    def take(self, which: Indices) -> AskedRows:
        """Return some of the rows."""
        return AskedRows.of(self.training, self.rows.take(which))

    def bounds(self, certificate: Certificate) -> Array:
        """Bound the scores under the certificate of a model, whatever the missing values are (lem-uncertain-row)."""
        if not self.is_uncertain:
            return certificate.score_bounds(self.center)
        certified = Certified.of((certificate,), self.center.shape[1], self.training.fit_intercept)
        return replace(self.training, certified=done(certified)).score_bounds(self.rows, retrains=False)

    def levels(self, number: int, v: Array) -> list[tuple[Indices, int]]:
        """Return for each missing category of a row its columns, and which of its levels raises ``x.v`` most."""
        here = np.flatnonzero(self.categories.rows == number)
        columns = [self.categories.levels[self.categories.categories[k]].columns for k in here]
        return [(each, int(np.argmax(v[each]))) for each in columns]

    def highest(self, number: int, v: Array) -> Array:
        """Return the row, with its missing values where they give ``x.v`` its greatest value."""
        x = self.center[number] + self.radius[number] * np.sign(v)
        for columns, level in self.levels(number, v):
            x[columns] = 0.0
            x[columns[level]] = 1.0
        return np.asarray(x)
