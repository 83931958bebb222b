"""One filling of a training table: that of the user, of an imputer, or the middle of every interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ipub.errors import IpubError
from ipub.promises.budget import FILLINGS, GIVEN
from ipub.training.imputing.holes import Filling, Holes
from ipub.training.imputing.user_imputer import FilledTableReader


def filling_of(given: Any, holes: Holes) -> Filling:
    """Return the values of the holes.

    Parameters
    ----------
    given : "middle", "mean", "median", imputer, array, DataFrame or None
        As in `Budget`; None is the middle.
    holes : Holes

    Raises
    ------
    IpubError
        If a filling leaves holes, changes observed cells or leaves the intervals.
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
