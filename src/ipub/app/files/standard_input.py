"""Tables through pipes: "-" is standard input and output."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ipub.app.files.atomic import UNFINISHED, FileError

STANDARD = "-"
FIRST_BYTES = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}
"""First bytes of formats; anything else is CSV."""


def shown_name(path: Path) -> str:
    """Return what the screen calls a table."""
    return "standard input" if str(path) == STANDARD else str(path)


class _Spool:
    """The folder with what came through standard input."""

    file: Path | None = None


def spooled(path: Path) -> Path:
    """Return a path as it is; for standard input a file with all of it, as a table may be read more than once."""
    if str(path) != STANDARD:
        return path
    if _Spool.file is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise FileError("Nothing comes through standard input: name a file, or pipe a table into this command.")
        folder = Path(tempfile.mkdtemp(prefix="ipub-"))
        UNFINISHED.add(folder)
        first = sys.stdin.buffer.read(4)
        suffix = next((each for mark, each in FIRST_BYTES.items() if first.startswith(mark)), ".csv")
        _Spool.file = folder / f"standard-input{suffix}"
        with _Spool.file.open("wb") as file:
            file.write(first)
            shutil.copyfileobj(sys.stdin.buffer, file)
    return _Spool.file


@contextmanager
def standard_input_once() -> Iterator[None]:
    """Keep what came through standard input for as long as the context is open."""
    try:
        yield
    finally:
        if _Spool.file is not None:
            folder, _Spool.file = _Spool.file.parent, None
            shutil.rmtree(folder, ignore_errors=True)
            UNFINISHED.discard(folder)


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Open standard output for bytes."""
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
