"""An imputer of the user: of scikit-learn's kind, or a callable. What it returns is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ipub.data.frames import is_frame
from ipub.data.interval_matrix import Indices
from ipub.errors import GiveRange, IpubError
from ipub.imputing.holes import Filling, Holes
from ipub.rounding import Array

SEEDS = np.iinfo(np.int32).max
"""Seeds for scikit-learn are below this."""


class UserImputer:
    """Fillings by an imputer of the user, which sees X as it was given to `fit`.

    Parameters
    ----------
    holes : Holes
    imputer : object with ``fit_transform``, or callable
    name : str
        How messages name it.
    clip : bool
        Whether values outside the intervals are moved to the nearer end; else they raise an error.
    """

    def __init__(self, holes: Holes, imputer: Any, name: str, clip: bool) -> None:
        self._holes, self._imputer, self._name, self._clip = holes, imputer, name, clip
        self._seeds: list[str] = []
        if hasattr(imputer, "fit_transform"):
            names = imputer.get_params() if hasattr(imputer, "get_params") else {}
            self._seeds = sorted(each for each in names if each.split("__")[-1] == "random_state")
            if not self._seeds:
                raise IpubError(
                    f"The imputer {name} has no parameter random_state, so it cannot draw at random: use one that "
                    "does, such as IterativeImputer(sample_posterior=True), 'hot_deck' or 'chained'."
                )

    def draw(self, rng: np.random.Generator) -> Filling:
        """Draw a filling, checked.

        Raises
        ------
        IpubError
            If the imputer leaves holes, changes what was observed, or leaves the intervals; the message names it.
        """
        X = self._holes.X
        if self._seeds:
            imputer = clone(self._imputer)
            imputer.set_params(**{name: int(rng.integers(SEEDS)) for name in self._seeds})
            filled = imputer.fit_transform(X)
        else:
            # A copy: a callable may fill in place.
            filled = self._imputer(X.copy() if hasattr(X, "copy") else X, rng)
        return self._filling(self._table(filled))

    def _table(self, filled: Any) -> Array:
        """Return what the imputer returned as a table of numbers with the columns of the model."""
        columns = self._holes.learnt.columns
        shape = (len(self._holes.table), columns.n_features_in)
        found = np.shape(filled)
        if found != shape:
            raise IpubError(
                f"The imputer {self._name} returned a table of shape {found} for X of shape {shape}: it must keep "
                "rows and columns. (An imputer of scikit-learn drops columns without an observed value: drop them "
                "before, or set keep_empty_features.)"
            )
        if columns.encoder is not None:
            if not is_frame(filled):
                raise IpubError(
                    f"The imputer {self._name} returned a {type(filled).__name__}, and X has categories: let it "
                    "return a DataFrame with the columns of X."
                )
            return np.asarray(columns.values(filled, is_checked_later=True), dtype=float)
        try:
            return np.asarray(filled, dtype=float)
        except (TypeError, ValueError) as error:
            raise IpubError(f"The imputer {self._name} returned what is no table of numbers: {error}.") from None

    def _filling(self, table: Array) -> Filling:
        """Return the values of the holes; raise an error for what no filling may have."""
        holes = self._holes
        is_hole = np.isnan(holes.table)
        self._refuse(
            is_hole & ~np.isfinite(table), table, "leaves {value} in column {column} in {row}: let it fill all holes"
        )
        self._refuse(
            ~is_hole & (table != holes.table),
            table,
            "changes column {column} in {row}, which is observed, to {value:g}: it must keep observed values",
        )
        numbers = table[holes.rows, holes.columns]
        if self._clip:
            numbers = np.clip(numbers, holes.lower, holes.upper)
        outside = np.flatnonzero((numbers < holes.lower) | (numbers > holes.upper))
        if len(outside):
            k = int(outside[0])
            column = holes.label(int(holes.columns[k]))
            raise IpubError(
                "The imputer {imputer} draws {value:g} for column {column} in {row}, outside its interval from {low:g} "
                "to {high:g}. Give a wider range, {remedy}, or clip=True, which moves such values to the nearer end.",
                imputer=self._name,
                value=float(numbers[k]),
                column=column,
                row=int(holes.rows[k]),
                low=float(holes.lower[k]),
                high=float(holes.upper[k]),
                remedy=GiveRange(column),
            )
        levels: Indices = np.zeros(len(holes.missing_categories), dtype=np.intp)
        for which, each in holes.missing_categories.by_category():
            levels[which] = table[np.ix_(holes.missing_categories.rows[which], each.columns)].argmax(axis=1)
        return Filling(numbers, levels)

    def _refuse(self, wrong: Any, table: Array, what: str) -> None:
        """Raise an error for the first of the wrong cells, if there are any."""
        if wrong.any():
            row, column = (int(place[0]) for place in np.nonzero(wrong))
            raise IpubError(
                "The imputer {imputer} " + what + ".",
                imputer=self._name,
                value=float(table[row, column]),
                column=self._holes.label(column),
                row=row,
            )
