"""Tables as the paper prepares them (its Appendix B), and the holes made in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from experiments.settings import PAPER_SIZES, Setting
from experiments.sources import Found
from experiments.synthetic import Copula
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import IntervalMatrix

PERCENTILES = (0.5, 99.5)
"""Percentiles of the training part beyond which values are clipped."""
ROWS_SEED, HOLES_SEED, COPULA_SEED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training and a test part, scaled, without holes.

    Attributes
    ----------
    name : str
        What the table is called on the page.
    paper_name : str
        The paper's data set that it is, is part of, or stands for.
    words : str
        Where the rows come from, in a sentence.
    X, y : arrays
        The training part; labels are -1 and +1.
    X_test : array
    """

    name: str
    paper_name: str
    words: str
    X: Array
    y: Array
    X_test: Array

    @property
    def fingerprint(self) -> str:
        """A number that changes if any value does."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (self.X, self.y, self.X_test):
            digest.update(repr(part.shape).encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def with_holes(self, setting: Setting) -> IntervalMatrix:
        """Make a fraction b of the training cells missing at random, each with the interval of its column.

        As in the paper the interval goes between quantiles of all original values, for one-hot columns too, where it
        may be a point. The cells are the same for every a and lambda.
        """
        rng = np.random.default_rng(HOLES_SEED)
        table = self.X.copy()
        table.ravel()[rng.choice(table.size, round(setting.b * table.size), replace=False)] = np.nan
        ends = [(1.0 - setting.a) / 2.0, (1.0 + setting.a) / 2.0]
        return IntervalMatrix.from_table(table, np.quantile(self.X, ends, axis=0).T)


def real(found: Found, most: tuple[int, int] | None = None) -> Prepared:
    """Prepare a data set, or the part of it that was found.

    Parameters
    ----------
    found : Found
    most : pair of int, optional
        At most so many training and test rows.
    """
    source, n_rows = found.source, found.table.num_rows
    n_train, n_test, _ = PAPER_SIZES.get(source.name, (n_rows, n_rows, 0))
    if n_train + n_test >= n_rows:
        n_test = round(0.1 * n_rows)
        n_train = n_rows - n_test
    if most is not None:
        n_train, n_test = min(n_train, most[0]), min(n_test, most[1])
    order = np.random.default_rng(ROWS_SEED).permutation(n_rows)[: n_train + n_test]
    X, y = found.rows(order)
    which = "All" if found.is_whole else "PART of the set:"
    words = f"{which} {n_rows:,} of {source.n_rows:,} rows ({found.file}); {n_train:,} train and {n_test:,} test."
    name = source.name if found.is_whole else f"{source.name} (part)"
    share = f"Of the training rows {np.mean(y[:n_train] > 0):.1%} are of class +1."
    return _scaled(name, source.name, f"{words} {source.choice} {share}", X, y, n_train)


def higgs_shaped(found: Found | None, most: tuple[int, int] | None = None) -> Prepared:
    """Draw a table of the size of the paper's HIGGS.

    Parameters
    ----------
    found : Found or None
        Part of the real set, whose shape is followed.
    most : pair of int, optional
        At most so many training and test rows.
    """
    n_train, n_test, d = PAPER_SIZES["HIGGS"]
    if most is not None:
        n_train, n_test = min(n_train, most[0]), min(n_test, most[1])
    copula = Copula.standard(d) if found is None else Copula.of(*found.rows(np.arange(found.table.num_rows)))
    X, y = copula.draw(n_train + n_test, np.random.default_rng(COPULA_SEED))
    like = "no real row was at hand, so its columns are made up"
    if found is not None:
        like = f"marginals and rank correlations of each class are those of {found.table.num_rows:,} real rows"
    words = f"SYNTHETIC: drawn from a Gaussian copula for each class; {like}; {n_train:,} train and {n_test:,} test."
    return _scaled("HIGGS-shaped synthetic", "HIGGS", words, X, y, n_train)


def _scaled(name: str, paper_name: str, words: str, X: Array, y: Array, n_train: int) -> Prepared:
    """Clip numeric columns at percentiles of the training part, and bring that part to [0, 1]."""
    train = X[:n_train]
    low, high = np.percentile(train, PERCENTILES, axis=0)
    is_numeric = ~((train == train.min(axis=0)) | (train == train.max(axis=0))).all(axis=0)
    X = np.where(is_numeric, np.clip(X, low, high), X)
    least, span = X[:n_train].min(axis=0), np.ptp(X[:n_train], axis=0)
    X = (X - least) / np.where(span > 0.0, span, 1.0)
    return Prepared(name, paper_name, words, X[:n_train], y[:n_train], X[n_train:])
