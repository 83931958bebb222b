"""Synthetic rows with the marginals and correlations of a table: a Gaussian copula for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from ipub.numeric.rounding import Array

STANDARD_ROWS = 2000
"""Rows from which a copula without a real table takes its marginals."""


@dataclass(frozen=True, eq=False)
class Copula:
    """For each class: its proportion, the sorted values of every column, and the correlation of their normal scores.

    A row is drawn as correlated normal variables, each of which picks, by its rank, a value of its column. So every
    value is one that occurs, columns with few values keep them, and dependences beyond rank correlation are lost.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0, 5.0], [1.0, 6.0], [0.0, 7.0], [1.0, 8.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> drawn, labels = Copula.of(X, y).draw(100, np.random.default_rng(0))
    >>> sorted(set(drawn[labels > 0, 1].tolist()))
    [7.0, 8.0]
    """

    positive_share: float
    values: dict[float, Array]
    factors: dict[float, Array]

    @classmethod
    def of(cls, X: Array, y: Array) -> Copula:
        """Estimate it from a table with labels -1 and +1."""
        values, factors = {}, {}
        for sign in (-1.0, 1.0):
            rows = X[y == sign]
            scores = ndtri((rankdata(rows, axis=0) - 0.5) / len(rows))
            spread = np.maximum(scores.std(axis=0), np.finfo(float).tiny)
            correlation = np.atleast_2d(np.cov(scores / spread, rowvar=False, bias=True))
            powers, axes = np.linalg.eigh(correlation)
            values[sign], factors[sign] = np.sort(rows, axis=0), axes * np.sqrt(np.maximum(powers, 0.0))
        return cls(float(np.mean(y > 0)), values, factors)

    @classmethod
    def standard(cls, n_columns: int) -> Copula:
        """Return an invented one: skewed columns, correlated by a few common causes, whose means differ by class."""
        rng = np.random.default_rng(0)
        y = np.where(rng.random(STANDARD_ROWS) < 0.53, 1.0, -1.0)
        causes = rng.normal(size=(STANDARD_ROWS, 4)) @ rng.normal(size=(4, n_columns))
        shift = np.outer(y, rng.normal(scale=0.2, size=n_columns))
        return cls.of(np.exp(0.3 * (causes + shift + rng.normal(size=causes.shape))), y)

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw rows and their labels."""
        y = np.where(rng.random(n_rows) < self.positive_share, 1.0, -1.0)
        X = np.empty((n_rows, next(iter(self.values.values())).shape[1]))
        for sign, values in self.values.items():
            rows = np.flatnonzero(y == sign)
            scores = rng.normal(size=(len(rows), X.shape[1])) @ self.factors[sign].T
            ranks = np.minimum((ndtr(scores) * len(values)).astype(np.intp), len(values) - 1)
            X[rows] = np.take_along_axis(values, ranks, axis=0)
        return X, y
