"""Figures that a command saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipub.app.files.atomic import FileError, check_folder, whole_file


def check_picture(output: Path) -> None:
    """Raise an error, before any work is done, for a folder that is none, or a suffix that is no format of pictures."""
    check_folder(output)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:  # there will be no picture
        return
    if _format(output) not in FigureCanvasBase.get_supported_filetypes():
        raise FileError(f"{output} has the suffix {output.suffix!r}: use .png, .pdf or .svg.")


def save_picture(output: Path, draw: Callable[[], Any]) -> None:
    """Save the figure of the axes that `draw` returns, whole or not at all."""
    figure: Any = draw().figure
    with whole_file(output) as file:
        figure.savefig(file, format=_format(output))


def _format(output: Path) -> str:
    return output.suffix.lstrip(".").lower() or "png"
