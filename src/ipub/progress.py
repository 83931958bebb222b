"""Progress bars for long jobs, drawn by rich where it is installed (the extra ``cli``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, TypeVar

from ipub.user_warnings import warn_user

T = TypeVar("T")


class Progress:
    """The few methods of ``rich.progress.Progress`` that long jobs need; without rich, nothing is drawn.

    Parameters
    ----------
    disable : bool
        Whether to draw nothing. Only a bar that is drawn imports rich; if rich is missing, a warning names the extra.
    """

    def __init__(self, disable: bool) -> None:
        self._bar: Any = None
        if disable:
            return
        try:
            from rich.progress import Progress as RichProgress
        except ImportError:
            warn_user('Progress bars need rich: pip install "ipub[cli]". The job runs without one.', UserWarning)
        else:
            self._bar = RichProgress()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add_task(self, description: str, total: float) -> Any:
        """Add a bar for a job of size `total`; return what `update` takes."""
        return None if self._bar is None else self._bar.add_task(description, total=total)

    def update(self, task: Any, completed: float) -> None:
        """Draw how much of a task is done."""
        if self._bar is not None:
            self._bar.update(task, completed=completed)

    def track(self, items: Iterable[T], description: str) -> Iterator[T]:
        """Yield the items, and draw how many are done."""
        yield from items if self._bar is None else self._bar.track(items, description=description)
