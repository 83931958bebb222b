"""A budget: few cells differ from a filled-in table, few labels wrong, few rows absent (lem-budget, lem-absent-row)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from ipub.errors import IpubError
from ipub.promises.described import Described

FILLINGS = ("middle", "mean", "median")
"""Fillings that are known by name."""

GIVEN = "given"
"""What a model file has in place of a filling, which would be training data."""


@dataclass(frozen=True, eq=False, repr=False)
class Budget(Described):
    """At most so many cells, labels and rows of the training table differ from a filled-in one.

    The model is trained on the filled-in table, and its bounds hold always, for every table that differs from it in at
    most so many missing values, and if these are set in so many observed cells and labels, and without at most so many
    of its rows. Which of them it is does not matter, nor in which direction cells differ. Each kind has a number of its
    own, and all of them may be used at once.

    Parameters
    ----------
    cells : int, optional
        How many missing values may differ from what was filled in. A missing category counts as one.
    share : float, optional
        The same as a share of all missing values, rounded down. If neither is given, all may differ.
    filling : "middle", "mean", "median", imputer, array or DataFrame, optional
        How missing values are filled in: the middle of their interval, which is the default; or the mean or median of
        the observed values of their column, or the end of the interval that is nearer; a category has its most frequent
        level. Or an imputer of scikit-learn, which is cloned and fitted to X. Or the filled-in table itself, of the
        shape of X and equal to it where X is observed.
    wrong_cells : int, default=0
        How many observed cells may be wrong, while the scaling of the columns stays what was learnt from them as they
        are.
    precision : float, mapping or None, default=None
        By how much a wrong number may be off, in the units of X; ``{column: number}`` for some columns, and 0 for the
        others. None: anywhere in the interval that missing values of its column have. A wrong category may be any
        level.
    labels : int, default=0
        How many labels may be wrong: those of the other of two classes. Weights of rows stay as they are, so
        `class_weight` is for certain labels.
    rows : int, default=0
        How many rows may be absent. The model without them is the one that `fit` gives for the other rows, with the
        same `alpha`, scaling of columns and weights of rows (those that `class_weight` gives included). A row counts as
        one, whatever its weight; none is there twice.

    Examples
    --------
    >>> import numpy as np
    >>> from ipub import BoundedClassifier, Budget
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> any_filling = BoundedClassifier(alpha=0.05).fit(X, y)
    >>> budget = BoundedClassifier(alpha=0.05, uncertainty=Budget(share=0.05)).fit(X, y)
    >>> T = rng.normal(size=(200, 3))
    >>> [int(clf.predict_set(T).sum(axis=1).tolist().count(1)) > 150 for clf in (any_filling, budget)]
    [False, True]

    Any missing value may differ, any label may be wrong and any row may be absent, one of each at once:

    >>> budget = Budget(cells=1, labels=1, rows=1)
    >>> clf = BoundedClassifier(alpha=0.05, uncertainty=budget).fit(X, y)
    >>> int(clf.predict_set(T).sum(axis=1).tolist().count(1)) > 150
    True
    """

    cells: int | None = None
    share: float | None = None
    filling: Any = None
    wrong_cells: int = 0
    precision: Any = None
    labels: int = 0
    rows: int = 0

    def check(self) -> None:
        """Raise an error if a parameter has a value that it cannot have."""
        if self.cells is not None and self.share is not None:
            raise IpubError("Budget has both cells and share: give one of them.")
        if self.cells is not None and not _is_count(self.cells):
            raise IpubError(
                f"cells is {self.cells!r}: give a whole number of missing values, at least 0{_or_share(self.cells)}."
            )
        if self.share is not None and not (_is_number(self.share) and 0.0 <= float(self.share) <= 1.0):
            raise IpubError(
                f"share is {self.share!r}: give a share of the missing values, from 0 to 1{_or_cells(self.share)}."
            )
        if not _is_count(self.wrong_cells):
            raise IpubError(f"wrong_cells is {self.wrong_cells!r}: give a whole number of observed cells, at least 0.")
        for name, count in (("labels", self.labels), ("rows", self.rows)):
            if not _is_count(count):
                raise IpubError(f"{name} is {count!r}: give a whole number of {name}, at least 0.")
        if self.cells is None and self.share is None and not self.has_more_than_holes:
            raise IpubError(
                "Budget() limits nothing: give cells, share, wrong_cells, labels or rows, or use uncertainty='worst'."
            )
        if self.precision is None:
            return
        if not self.wrong_cells:
            raise IpubError("precision says how wrong observed cells may be: give wrong_cells as well.")
        values = self.precision.values() if isinstance(self.precision, Mapping) else [self.precision]
        for value in values:
            if not (_is_number(value) and 0.0 <= float(value) < float("inf")):
                raise IpubError(f"precision has {value!r}: give numbers, at least 0, in the units of X.")

    @property
    def has_more_than_holes(self) -> bool:
        """Whether observed cells or labels may be wrong, or rows absent."""
        return bool(self.wrong_cells or self.labels or self.rows)

    def count(self, n_holes: int) -> int:
        """Return how many of so many missing values may differ.

        Examples
        --------
        >>> Budget(share=0.05).count(90), Budget(cells=200).count(90)
        (4, 90)
        """
        if self.cells is not None:
            return min(int(self.cells), n_holes)
        return n_holes if self.share is None else int(float(self.share) * n_holes * (1.0 + 1e-12))

    def promise(self, n_holes: int) -> str:
        """Return one sentence that says what the bounds promise for a table with so many missing values."""
        count = self.count(n_holes)
        parts = []
        if n_holes:
            which = "any" if count >= n_holes else f"at most {count:,}"
            differ = f"{which} of the {n_holes:,} missing values differ from the filled-in ones, inside intervals"
            parts.append(differ if count else f"all {n_holes:,} missing values are the filled-in ones")
        if self.wrong_cells:
            off = "inside the intervals of their columns" if self.precision is None else "by up to their precision"
            parts.append(
                f"at most {self.wrong_cells:,} of the observed cells differ from what they are, {off}, while the "
                "scaling of the columns stays the same"
            )
        if self.labels:
            parts.append(f"at most {self.labels:,} of the labels are those of the other class")
        if self.rows:
            parts.append(
                f"at most {self.rows:,} of the rows are absent while alpha, the scaling of the columns and the weights "
                "of the other rows stay the same"
            )
        return f"Always: the bounds hold for every table in which {', and '.join(parts) or 'nothing differs'}."

    def stored(self) -> Budget:
        """Return what a model file holds: a filling is training data, and no part of it."""
        return self if self.filling is None or isinstance(self.filling, str) else replace(self, filling=GIVEN)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _or_share(given: Any) -> str:
    """Return a question for what is a share, also if it is text: numbers without a name are cells."""
    try:
        share = float(given)
    except (TypeError, ValueError):
        return ""
    return f" (did you mean share={share:g}?)" if 0.0 < share < 1.0 else ""


def _or_cells(given: Any) -> str:
    """Return a question for what is a number of missing values."""
    return f" (did you mean cells={given}?)" if _is_count(given) and given > 1 else ""
