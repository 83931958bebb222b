"""Tables that a user or an imputer has filled in: one filling of a training table, and what they say is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ipub.errors import GiveRange, IpubError
from ipub.numeric.rounding import Array
from ipub.promises.budget import FILLINGS, GIVEN
from ipub.tables.frames import is_frame
from ipub.tables.interval_matrix import Indices
from ipub.training.imputing.holes import Filling, Holes
from ipub.training.reading.parameters import SEEDS


@dataclass(frozen=True, eq=False)
class FilledTableReader:
    """How a table that the user, or an imputer, has filled in is read."""

    holes: Holes
    what: str
    """Who filled it in, for messages."""
    clip: bool | None = None
    """Whether values outside the intervals are moved to the nearer end; else they raise an error. None if a user cannot
    choose."""

    def table(self, filled: Any) -> Array:
        """Return what the imputer returned as a table of numbers with the columns of the model."""
        columns = self.holes.learnt.columns
        shape = (len(self.holes.table), columns.n_features_in)
        found = np.shape(filled)
        if len(found) != 2:
            kind = "None" if filled is None else f"a {type(filled).__name__}"
            raise IpubError(f"{self.what} gives {kind}: it must be a table of the shape of X, {shape}.")
        if found != shape:
            raise IpubError(
                f"{self.what} gives a table of shape {found} for X of shape {shape}: it must keep rows and columns. "
                "(An imputer of scikit-learn drops columns without an observed value: drop them before, or set "
                "keep_empty_features.)"
            )
        if columns.encoder is not None:
            if not is_frame(filled):
                raise IpubError(
                    f"{self.what} gives a {type(filled).__name__}, and X has categories: it must be a DataFrame with "
                    "the columns of X. (An imputer of scikit-learn gives one after set_output(transform='pandas').)"
                )
            return np.asarray(columns.values(filled, is_checked_later=True), dtype=float)
        try:
            return np.asarray(filled, dtype=float)
        except (TypeError, ValueError) as error:
            raise IpubError(f"{self.what} gives what is no table of numbers: {error}.") from None

    def filling(self, filled: Any) -> Filling:
        """Return the values of the holes.

        Raises IpubError if a filled table leaves holes, changes what was observed, or leaves the intervals.
        """
        holes, table = self.holes, self.table(filled)
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
        if self.clip:
            numbers = np.clip(numbers, holes.lower, holes.upper)
        outside = np.flatnonzero((numbers < holes.lower) | (numbers > holes.upper))
        if len(outside):
            k = int(outside[0])
            column = holes.label(int(holes.columns[k]))
            raise IpubError(
                "{what} has {value:g} for column {column} in {row}, outside its interval from {low:g} to {high:g}. "
                "Give a wider range, {remedy}{or_clip}.",
                what=self.what,
                value=float(numbers[k]),
                column=column,
                row=int(holes.rows[k]),
                low=float(holes.lower[k]),
                high=float(holes.upper[k]),
                remedy=GiveRange(column),
                or_clip="" if self.clip is None else ", or clip=True, which moves such values to the nearer end",
            )
        levels: Indices = np.zeros(len(holes.missing_categories), dtype=np.intp)
        for which, each in holes.missing_categories.by_category():
            levels[which] = table[np.ix_(holes.missing_categories.rows[which], each.columns)].argmax(axis=1)
        return Filling(numbers, levels)

    def _refuse(self, wrong: Any, table: Array, how: str) -> None:
        """Raise an error for the first of the wrong cells, if there are any."""
        if wrong.any():
            row, column = (int(place[0]) for place in np.nonzero(wrong))
            raise IpubError(
                "{what} " + how + ".",
                what=self.what,
                value=float(table[row, column]),
                column=self.holes.label(column),
                row=row,
            )


class UserImputer:
    """Fillings by an imputer of the user, which sees X as it was given to `fit`: with ``fit_transform``, or a callable.

    Values outside the intervals are moved to the nearer end with `clip`; else they raise an error.
    """

    def __init__(self, holes: Holes, imputer: Any, name: str, clip: bool) -> None:
        self._holes, self._imputer, self._reader = holes, imputer, FilledTableReader(holes, f"The imputer {name}", clip)
        self._seeds: list[str] = []
        if hasattr(imputer, "fit_transform"):
            names = imputer.get_params() if hasattr(imputer, "get_params") else {}
            self._seeds = sorted(each for each in names if each.split("__")[-1] == "random_state")
            if not self._seeds:
                raise IpubError(
                    f"The imputer {name} has no parameter random_state, so it cannot draw at random: use one that "
                    "does, such as IterativeImputer(sample_posterior=True), 'hot_deck' or 'chained'."
                )

    def _cannot_fill(self, error: Exception) -> str:
        sentence = f"{self._reader.what} cannot fill X in: {str(error).rstrip('.')}."
        if self._holes.learnt.columns.encoder is None:
            return sentence
        return (
            f"{sentence} X has columns of categories: use 'hot_deck' or 'chained', which take them, or give a function "
            "of X and a numpy.random.Generator that fills the numbers with this imputer and the categories otherwise."
        )

    def draw(self, rng: np.random.Generator) -> Filling:
        """Draw a filling, checked.

        Raises IpubError if the imputer leaves holes, changes what was observed, or leaves the intervals; the message
        names it.
        """
        X = self._holes.X
        if self._seeds:
            imputer = clone(self._imputer)
            imputer.set_params(**{name: int(rng.integers(SEEDS)) for name in self._seeds})
            try:
                filled = imputer.fit_transform(X)
            except (TypeError, ValueError) as error:
                raise IpubError(self._cannot_fill(error)) from error
        else:
            # A copy: a callable may fill in place.
            filled = self._imputer(X.copy() if hasattr(X, "copy") else X, rng)
        return self._reader.filling(filled)


def filling_of(given: Any, holes: Holes) -> Filling:
    """Return the values of the holes in what is `given` as the filling of a `Budget`; None is the middle.

    Raises IpubError if a filling leaves holes, changes observed cells or leaves the intervals.
    """
    if given is None or isinstance(given, str):
        return named_filling("middle" if given is None else given, holes)
    if isinstance(given, type):
        raise IpubError(f"filling is the class {given.__name__}: give an object, {given.__name__}(...).")
    if hasattr(given, "fit_transform"):
        imputer = clone(given)
        return FilledTableReader(holes, f"The imputer {type(given).__name__}").filling(imputer.fit_transform(holes.X))
    if callable(given):
        raise IpubError("filling is a function: give the table that it fills in, or an imputer.")
    return FilledTableReader(holes, "The filling").filling(given)


def named_filling(name: str, holes: Holes) -> Filling:
    """Return the middle of every interval, or the mean or median of the column, moved into the interval.

    Missing categories have the most frequent observed level.
    """
    if name == GIVEN:
        raise IpubError(
            "filling is 'given': a model file, or a pickle of a fitted model, holds no filling. Set the parameter "
            "uncertainty again before you fit."
        )
    if name not in FILLINGS:
        known = ", ".join(map(repr, FILLINGS))
        raise IpubError(f"filling is {name!r}: use {known}, an imputer, or a filled-in table.")
    levels = np.zeros(len(holes.missing_categories), dtype=np.intp)
    for which, each in holes.missing_categories.by_category():
        counts = np.nansum(holes.table[np.ix_(holes.counts, each.columns)], axis=0)
        levels[which] = int(np.argmax(counts))
    middles = holes.matrix.centers[holes.cells]
    if name == "middle":
        return Filling(middles, levels)
    numbers = middles.copy()
    for column in np.unique(holes.columns):
        here, observed = holes.columns == column, holes.table[holes.counts, column]
        observed = observed[~np.isnan(observed)]
        if len(observed):
            numbers[here] = np.mean(observed) if name == "mean" else np.median(observed)
    return Filling(np.clip(numbers, holes.lower, holes.upper), levels)
