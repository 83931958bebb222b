"""Per-block values reused between passes. An engine owns them; kernels never write to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class BlockCache:
    """Values of one block that are computed once and reused in later passes.

    Only code in ``engine/`` writes here, and only what can be computed again from the block: an engine may drop a cache
    at any time (`ipub.rows.rows.Rows.clear_cache`), and an engine whose blocks are in other processes has none.

    Parameters
    ----------
    keeps_rows : bool
        Whether values as long as the block are kept too: for small tables only.

    Examples
    --------
    >>> cache = BlockCache()
    >>> cache.kept("answer", lambda: 42), cache.kept("answer", lambda: 43)
    (42, 42)
    """

    __slots__ = ("_values", "keeps_rows")

    def __init__(self, keeps_rows: bool = False) -> None:
        self.keeps_rows = keeps_rows
        self._values: dict[str, Any] = {}

    def kept(self, name: str, make: Callable[[], T], *, row_sized: bool = False) -> T:
        """Return the value of this name, made at the first call; it is kept if its size allows that."""
        if name in self._values:
            value: T = self._values[name]
            return value
        value = make()
        if self.keeps_rows or not row_sized:
            self._values[name] = value
        return value

    def of_view(self, name: str) -> BlockCache:
        """Return the cache of the same block seen through a view."""
        return self.kept(f"view {name}", lambda: BlockCache(self.keeps_rows))
