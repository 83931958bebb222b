"""A table that is printed line by line, so that finished measurements are shown even if a later one fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from benchmarks.pieces import Piece, Pieces

LEAST_WIDTH = 7


class Screen(Console):
    """A console that remembers the tables printed on it, for the page."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.tables: list[Lines] = []
        self.pieces: Pieces | None = None
        """Where finished pieces of the figure are kept, if they are."""


class Lines:
    """Right-aligned columns, each as wide as its title or its first cell.

    Parameters
    ----------
    console : Console
        A `Screen` remembers the table.
    title : str
    *columns : str
        Titles; the first column is aligned to the left.
    """

    def __init__(self, console: Console, title: str, *columns: str) -> None:
        self._console = console
        self.title, self.columns = title, columns
        self.rows: list[tuple[str, ...]] = []
        self._widths = [max(len(column), LEAST_WIDTH) for column in columns]
        if isinstance(console, Screen):
            console.tables.append(self)
        self._print(f"\n{title}")

    def add(self, *cells: str) -> None:
        """Print one line, and the titles before the first."""
        if not self.rows:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=True)]
            self._line(self.columns)
        self.rows.append(cells)
        self._line(cells)

    def piece(self, name: str, measure: Callable[[], Any]) -> Any:
        """Call what measures some lines and adds them; where pieces are kept and it is there, only show them again.

        Returns
        -------
        object
            What it returned: numbers, or lists of them.
        """
        kept = self._console.pieces if isinstance(self._console, Screen) else None
        if kept is None:
            return measure()
        before = len(self.rows)

        def measured() -> Piece:
            value = measure()
            return Piece(self.rows[before:], value)

        piece, was_kept = kept.measured(self.title, name, measured)
        if was_kept:
            for cells in piece.rows:
                self.add(*cells)
        return piece.value

    def _line(self, cells: tuple[str, ...]) -> None:
        first, *others = (
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, self._widths, strict=True))
        )
        self._print("  ".join([first, *others]).rstrip())

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
