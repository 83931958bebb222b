"""Progress of a long computation: a bar if rich is installed, lines on stderr if it is not."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES = 10
"""Lines printed for one computation without rich, at most."""

SECONDS = 10.0
"""In a pipe a line is printed whenever so many have passed."""


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
    if _Shown.part is not None:
        part = _Shown.part
        yield lambda done: part(done / total if total else 1.0)
        return
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


@contextmanager
def progress_of_step(description: str, is_shown: bool) -> Iterator[None]:
    """Show how far one step is, by the progress of what it is made of, and about how long it will take.

    On a terminal it is a bar that vanishes; in a pipe a line on stderr every ten seconds. A step that says nothing of
    its progress has lines without an estimate.
    """
    if not is_shown or _Shown.is_one:
        yield
        return
    _Shown.is_one = True
    try:
        with _bar(description) if sys.stderr.isatty() else _lines_in_time(description) as _Shown.part:
            yield
    finally:
        _Shown.is_one, _Shown.part = False, None


@contextmanager
def part_of_progress(report: Callable[[float], None], first: float, last: float) -> Iterator[None]:
    """Let progress inside the context count as one part of another: from `first` to `last` of what that reports."""
    before = _Shown.part
    _Shown.part = lambda share: report(first + share * (last - first))
    try:
        yield
    finally:
        _Shown.part = before
        report(last)


@contextmanager
def _bar(description: str) -> Iterator[Callable[[float], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda share: bar.update(task, total=1.0, completed=share)


@contextmanager
def _lines_in_time(description: str) -> Iterator[Callable[[float], None]]:
    start, shares, is_done = time.monotonic(), [0.0], threading.Event()

    def run() -> None:
        while not is_done.wait(SECONDS):
            spent, share = time.monotonic() - start, shares[-1]
            left = f"{share:.0%}, about {spent * (1.0 / share - 1.0):.0f} s left" if share else f"{spent:.0f} s so far"
            print(f"{description}: {left}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield shares.append
    finally:
        is_done.set()
        thread.join()


class _Shown:
    """Whether a progress is shown, and where a part of it tells how far it is."""

    is_one = False
    part: Callable[[float], None] | None = None


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
