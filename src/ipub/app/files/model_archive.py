"""The zip archive of a model file: a header and arrays, which never unpack to much more than the file is large."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

HEADER = "model.json"
LARGEST_HEADER = 2**26
"""Bytes of the header, at most: it is parsed at once, which takes some thirty times as much memory."""
USUAL_SIZE, LARGEST_RATIO = 2**28, 50
"""A file may unpack to so many bytes, or to so many times its own size if that is more."""

ARRAY_KINDS = "biufcUS"
"""Kinds of NumPy arrays that are stored as they are."""

Arrays = Mapping[str, np.ndarray[Any, Any]]


class ModelArchive:
    """The members of a model file that is not trusted: each is read once, and no more of it than it says.

    Raises
    ------
    ValueError
        If the file would unpack to much more than its own size, or an array to another size than its member.
    zipfile.BadZipFile
        If the file is damaged.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._archive = zipfile.ZipFile(file)
        self._arrays: dict[str, Any] = {}
        size = file.seek(0, io.SEEK_END)
        if not _is_bounded(self._archive, size):
            raise ValueError(f"its {size} bytes unpack to {_unpacked(self._archive)}")

    def header(self) -> bytes | None:
        """Return the header; None if there is none."""
        if HEADER not in self._archive.namelist():
            return None
        if self._archive.getinfo(HEADER).file_size > LARGEST_HEADER:
            raise ValueError(f"its header has more than {LARGEST_HEADER} bytes")
        return self._read(HEADER)

    def array(self, name: str) -> Any:
        """Return an array; the same object if it is asked for again."""
        if name not in self._arrays:
            self._arrays[name] = _array(self._read(name))
        return self._arrays[name]

    def _read(self, name: str) -> bytes:
        # With a length no more is unpacked; and all of it at once, for only then is the checksum verified.
        info = self._archive.getinfo(name)
        with self._archive.open(info) as member:
            return member.read(info.file_size)


def write_archive(file: BinaryIO, header: bytes, arrays: Arrays) -> None:
    """Write a model file; one that would unpack to too much is not compressed."""
    if len(header) > LARGEST_HEADER:
        raise ValueError(f"it has {len(header)} bytes of text and lists, and a file holds at most {LARGEST_HEADER}")
    if not _written(file, header, arrays, zipfile.ZIP_DEFLATED):
        file.seek(0)
        file.truncate()
        _written(file, header, arrays, zipfile.ZIP_STORED)


def _written(file: BinaryIO, header: bytes, arrays: Arrays, method: int) -> bool:
    """Write members, without the time of day: a model has the same bytes. Return whether `ModelArchive` reads them."""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER), header, method)
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name), content.getvalue(), method)
    return _is_bounded(archive, file.tell())


def _unpacked(archive: zipfile.ZipFile) -> int:
    return sum(info.file_size for info in archive.infolist())


def _is_bounded(archive: zipfile.ZipFile, size: int) -> bool:
    return _unpacked(archive) <= max(USUAL_SIZE, LARGEST_RATIO * size)


def _array(content: bytes) -> Any:
    """Return an array in NumPy's format; nothing is allocated before it is known to be there, and nothing unpickled."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array is stored in another way")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in ARRAY_KINDS or not dtype.itemsize:
        raise ValueError(f"an array holds values of the type {dtype}")
    return np.ndarray(shape, dtype, content, file.tell(), order="F" if is_fortran else "C").copy("K")
