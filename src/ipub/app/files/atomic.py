"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ipub.errors import IpubError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk that is full, or may hold no more of this user or in this file."""


UNFINISHED: set[Path] = set()
"""Files and folders that are removed at the end of what needs them, and if the program ends before."""


class FileError(IpubError):
    """A file that cannot be read or written; the message names it."""


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error, before any work is done, for a path that is no file, or whose folder takes none."""
    target = Path(path)
    if target.is_dir():
        raise FileError(f"{target} is a folder: add a file name.")
    if target.exists() and not target.is_file():
        raise FileError(f"{target} is no ordinary file, and would be replaced by one: write elsewhere.")
    if not target.parent.is_dir():
        raise FileError(f"The folder {target.parent} does not exist: create it first, or write elsewhere.")
    try:
        tempfile.TemporaryFile(dir=Path(os.path.realpath(target)).parent).close()
    except OSError as error:
        raise _not_written(target, error) from error


def _not_written(path: str | os.PathLike[str], error: OSError) -> FileError:
    return FileError(f"{path} cannot be written ({error.strerror or error}): write elsewhere, or make room there.")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that appears at `path` only when it is complete.

    It is written beside its goal and moved into place, so that a crash leaves what was there before.
    """
    check_folder(path)
    goal = Path(os.path.realpath(path))
    part = goal.parent / f".ipub-{secrets.token_hex(8)}.part"
    UNFINISHED.add(part)
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if goal.exists():
            part.chmod(goal.stat().st_mode & 0o7777)
        os.replace(part, goal)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and (error.errno in NO_ROOM or error.filename == str(part)):
            raise _not_written(path, error) from error
        raise
    finally:
        UNFINISHED.discard(part)
