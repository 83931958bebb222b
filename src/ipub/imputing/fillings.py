"""One filling of a training table: that of the user, of an imputer, or the middle of every interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ipub.errors import IpubError
from ipub.imputing.holes import Filling, Holes
from ipub.imputing.user_imputer import FilledTableReader


def filling_of(given: Any, holes: Holes) -> Filling:
    """Return the values of the holes.

    Parameters
    ----------
    given : array, DataFrame, imputer or None
        The filled-in table; or an object with ``fit_transform`` that fills X, of which a clone is used; or None for
        the middle of every interval and the most frequent level of a category.
    holes : Holes

    Raises
    ------
    IpubError
        If a filling leaves holes, changes observed cells or leaves the intervals.
    """
    if given is None:
        return middle_filling(holes)
    if isinstance(given, str):
        raise IpubError(f"filling is {given!r}: give a filled-in table, an imputer, or None for the middle.")
    if isinstance(given, type):
        raise IpubError(f"filling is the class {given.__name__}: give an object, {given.__name__}(...).")
    if hasattr(given, "fit_transform"):
        imputer = clone(given)
        return FilledTableReader(holes, f"The imputer {type(given).__name__}").filling(imputer.fit_transform(holes.X))
    return FilledTableReader(holes, "The filling").filling(given)


def middle_filling(holes: Holes) -> Filling:
    """Return the middle of every interval, and the most frequent observed level of every missing category."""
    levels = np.zeros(len(holes.missing_categories), dtype=np.intp)
    for which, each in holes.missing_categories.by_category():
        counts = np.nansum(holes.table[np.ix_(holes.counts, each.columns)], axis=0)
        levels[which] = int(np.argmax(counts))
    return Filling(holes.matrix.centers[holes.cells], levels)
