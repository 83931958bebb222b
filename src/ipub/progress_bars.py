"""Progress of a long computation: a bar if rich is installed, lines on stderr if it is not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES = 10
"""Lines printed for one computation without rich, at most."""


@contextmanager
def progress(description: str, total: float, is_shown: bool) -> Iterator[Callable[[float], None]]:
    """Show the progress of what is computed inside the context.

    Parameters
    ----------
    description : str
    total : float
        What the last call reports.
    is_shown : bool
        If false, nothing is shown, and rich is not imported. Nor is anything shown inside another progress: a part of
        what is shown already.

    Yields
    ------
    callable
        Takes how much of `total` is done.
    """
    if not is_shown or _Shown.is_one:
        yield lambda done: None  # noqa: ARG005 (nothing to show)
        return
    _Shown.is_one = True
    try:
        try:
            from rich.progress import Progress
        except ImportError:
            yield _in_lines(description, total)
            return
        with Progress() as bar:
            task = bar.add_task(description, total=total)
            yield lambda done: bar.update(task, completed=done)
    finally:
        _Shown.is_one = False


class _Shown:
    """Whether a progress is shown."""

    is_one = False


def _in_lines(description: str, total: float) -> Callable[[float], None]:
    """Return a function that prints a line whenever another tenth is done."""
    shown = 0

    def report(done: float) -> None:
        nonlocal shown
        tenths = int(LINES * done / total) if total else LINES
        if tenths > shown:
            shown = tenths
            print(f"{description}: {tenths / LINES:.0%}", file=sys.stderr)

    return report
