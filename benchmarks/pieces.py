"""Finished pieces of a figure on disk: an interrupted run goes on with the next piece."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from experiments.store import Measured, Store


class Piece(NamedTuple):
    """What measuring one piece gave."""

    rows: Sequence[Sequence[str]]
    """The lines that it added to its table."""
    value: Any
    """What it returned, as JSON gives it back."""


class Pieces:
    """The pieces of one figure.

    Parameters
    ----------
    store : Store
    code : str
        Changes with the code; pieces of other code count as missing.
    resume : bool, default=False
        Whether pieces of other code count, too.
    """

    def __init__(self, store: Store, code: str, resume: bool = False) -> None:
        self._store, self._code, self._resume = store, code, resume
        self.is_mixed = False
        """Whether a piece of other code was used."""

    def measured(self, title: str, name: str, measure: Callable[[], Piece]) -> tuple[Piece, bool]:
        """Return a piece of the table with this title, measured if it is not kept, and whether it was."""
        file = hashlib.blake2b(f"{title}\n{name}".encode(), digest_size=8).hexdigest()
        key = {"title": title, "name": name}
        kept = self._store.get(file, key)
        if kept is not None and (self._resume or kept.figures["code"] == self._code):
            self.is_mixed |= kept.figures["code"] != self._code
            return Piece(kept.figures["rows"], kept.figures["value"]), True
        piece = measure()
        self._store.put(file, key, Measured({**piece._asdict(), "code": self._code}, {}))
        return piece, False
