"""CSV files as people have them: with semicolons, decimal commas, other encodings, thousands in groups."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from ipub.app.files.atomic import FileError
from ipub.app.files.reading import TEXT, Reading, current_reading
from ipub.errors import IpubWarning, warn_user

NULLS = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "Null", "null", "None")
"""What a CSV file may write in a missing cell."""

SEPARATORS = {".csv": ",", ".tsv": "\t"}
OTHER_SEPARATORS = (";", "\t", "|")
"""What a .csv file may have in place of commas."""
SNIFFED_BYTES, SNIFFED_ROWS = 1 << 16, 50
"""Beginning of a file that its dialect is found in."""
CHUNK_BYTES = 1 << 22
"""Bytes whose encoding is checked at a time."""
FALLBACK = "cp1252"
"""Encoding of a file that is not in UTF-8 and does not say what it is: Latin-1, with the letters of Windows."""
SHOWN = 40
"""Characters of a wrong row that an error shows."""
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""First bytes of a file that say its encoding."""


class TableError(FileError):
    """A table that cannot be read, or lacks a column; the message names file and column."""


class TableWarning(IpubWarning):
    """Something in a file was left out, or taken for something."""


class Dialect(NamedTuple):
    """How a CSV file is written."""

    delimiter: str
    decimal: str
    thousands: str
    encoding: str

    def read_options(self, **settings: Any) -> pa_csv.ReadOptions:
        """Return the options of PyArrow about blocks and encoding."""
        return pa_csv.ReadOptions(encoding=self.encoding, **settings)

    def parse_options(self, **settings: Any) -> pa_csv.ParseOptions:
        """Return the options of PyArrow about cells."""
        return pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, **settings)

    def convert_options(self, kinds: Mapping[str, pa.DataType]) -> pa_csv.ConvertOptions:
        """Return how cells are read, with the types of some columns."""
        return pa_csv.ConvertOptions(
            null_values=list(NULLS), strings_can_be_null=True, column_types=dict(kinds), decimal_point=self.decimal
        )

    def plain_numbers(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column of text with its numbers as programs write them: no groups, and a decimal point."""
        if not self.thousands and self.decimal == ".":
            return column
        decimal, group = re.escape(self.decimal), re.escape(self.thousands)
        whole = rf"([0-9]+|[0-9]{{1,3}}({group}[0-9]{{3}})+)" if self.thousands else "[0-9]+"
        is_one = pc.match_substring_regex(column, rf"^[+-]?{whole}({decimal}[0-9]*)?([eE][+-]?[0-9]+)?$")
        plain = pc.replace_substring(column, self.thousands, "") if self.thousands else column
        plain = pc.replace_substring(plain, self.decimal, ".")
        return pc.if_else(is_one, plain, column)


def dialect_of(path: Path, suffix: str, reading: Reading | None = None) -> Dialect:
    """Return how a CSV file is written: as is said, else as its beginning looks; raise an error if it is empty."""
    reading = current_reading() if reading is None else reading
    with pa.input_stream(str(path), compression="detect") as stream:
        content = stream.read(SNIFFED_BYTES)
    encoding = reading.encoding or _encoding_of(path, content)
    beginning = content.decode(encoding, "replace").removeprefix("\ufeff")
    if "\0" in beginning:
        raise TableError(f"{path} is no text in the encoding {encoding}: say with --encoding which it has.")
    if not beginning.strip():
        raise TableError(f"{path} is empty: it needs a line with the names of the columns, and one for each row.")
    lines = beginning.splitlines(keepends=True)
    text = "".join(lines[:-1] if len(content) == SNIFFED_BYTES and len(lines) > 1 else lines)
    delimiter = reading.delimiter or (_delimiter_of(text) if suffix == ".csv" else SEPARATORS[suffix])
    has_comma = not reading.decimal and delimiter != "," and reading.thousands != "," and _has_comma(text, delimiter)
    return Dialect(delimiter, "," if has_comma else reading.decimal or ".", reading.thousands, encoding)


def _encoding_of(path: Path, content: bytes) -> str:
    """Return the encoding of a file: what its first bytes say, UTF-8 if all of it is, else that of Windows."""
    for mark, encoding in MARKS:
        if content.startswith(mark):
            return encoding
    if b"\0" in content:
        raise TableError(f"{path} is no text in the encoding UTF-8: say with --encoding which it has.")
    decoder = codecs.getincrementaldecoder("utf-8")()
    with pa.input_stream(str(path), compression="detect") as stream:
        try:
            while chunk := stream.read(CHUNK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            warn_user(
                f"{path} is not in UTF-8: read as Windows-1252, which has Latin-1; --encoding gives another.",
                TableWarning,
            )
            return FALLBACK
    return "utf-8"


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """Return the first rows that have any cell."""
    found = []
    with suppress(csv.Error):
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                found.append(row)
            if len(found) == SNIFFED_ROWS:
                break
    return found


def _delimiter_of(text: str) -> str:
    """Return what separates the cells of a .csv file: what gives all rows the same number of cells, and most of them.

    A comma, unless something else does that and the comma does not, or it stands in the header alone.
    """

    def n_cells(delimiter: str) -> int:
        widths = {len(row) for row in _rows(text, delimiter)}
        return widths.pop() if len(widths) == 1 else 0

    best = max((",", *OTHER_SEPARATORS), key=n_cells)
    if n_cells(",") > 1 or n_cells(best) <= 1:
        header = _rows(text, ",")[:1]
        is_one = not header or len(header[0]) == 1
        return next((mark for mark in OTHER_SEPARATORS if mark in text.splitlines()[0]), ",") if is_one else ","
    return best


def _has_comma(text: str, delimiter: str) -> bool:
    """Whether numbers have a decimal comma: some do, none has a point, and not all could be thousands in groups."""
    cells = {cell.strip() for row in _rows(text, delimiter)[1:] for cell in row}
    if any(re.fullmatch(r"[+-]?\d+\.\d+", cell) for cell in cells):
        return False
    return any(
        re.fullmatch(r"[+-]?\d+,\d+", cell) and not re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in cells
    )


def read_csv(path: Path, suffix: str, text: Collection[str] = ()) -> pa.Table:
    """Read a CSV file; the columns `text` are text, whatever their cells look like."""
    reading = current_reading()
    text = {*text, *(name for name, kind in reading.types.items() if kind == TEXT)}
    dialect = dialect_of(path, suffix, reading)
    parse, convert = dialect.parse_options(), dialect.convert_options(dict.fromkeys(text, pa.string()))
    try:
        table = pa_csv.read_csv(path, dialect.read_options(), parse, convert)
    except pa.ArrowInvalid:
        _refuse_ragged(path, dialect)
        raise
    for j, name in enumerate(table.column_names):
        column = table.column(j)
        if pa.types.is_binary(column.type):
            raise pa.ArrowInvalid(f"column {name!r} is not in UTF-8; say with --encoding which it has")
        if pa.types.is_string(column.type):
            column = _without_spaces(column, dialect, keeps_text=name.strip() in text)
        table = table.set_column(j, name.strip(), column)
    return table


def _refuse_ragged(path: Path, dialect: Dialect) -> None:
    """Raise an error that names the first row with too few or too many cells, if there is one."""
    wrong: list[Any] = []

    def remember(row: Any) -> str:
        wrong.append(row)
        return "error"

    # In threads nobody counts the rows, so this is done only where reading has failed.
    parse = dialect.parse_options(invalid_row_handler=remember)
    # A row that is not in the file's encoding cannot be handed over, which PyArrow would print with a traceback.
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with suppress(pa.ArrowInvalid):
            pa_csv.read_csv(path, read_options=dialect.read_options(use_threads=False), parse_options=parse)
    finally:
        sys.unraisablehook = hook
    if wrong and wrong[0].number is not None:
        raise TableError(
            "{path} has {actual} cells in {row} ({text!r}), and {expected} columns: give each row as many cells as the "
            "header has, and put a text that holds {separator!r} in quotes.",
            path=path,
            actual=wrong[0].actual_columns,
            row=wrong[0].number - 2,
            text=wrong[0].text[:SHOWN],
            expected=wrong[0].expected_columns,
            separator=dialect.delimiter,
        )


def _without_spaces(column: pa.ChunkedArray, dialect: Dialect, keeps_text: bool) -> pa.ChunkedArray:
    """Take spaces off the values of a text column; nulls may come to light, and numbers unless it keeps its text."""
    found = dialect.plain_numbers(trimmed(column))
    if found.equals(column):
        return column
    for number in () if keeps_text else (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            return found.cast(number)
    return found


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take spaces off the values of a text column; what stands for a missing value then becomes null."""
    found = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(found, value_set=pa.array(NULLS)), pa.scalar(None, pa.string()), found)
