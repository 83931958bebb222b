"""Warnings that point at the user's own line, however deep in the package they are issued."""

from __future__ import annotations

import sys
import warnings

INSIDE = {"ipub", "sklearn", "numpy", "contextlib", "rich"}
"""Packages whose frames are not the user's."""


def warn_user(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn, at the first line on the way out that is not of this package or of one that called it.

    Parameters
    ----------
    message : str or Warning
    category : type of warning
        Of a message that is a string.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
