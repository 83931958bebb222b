"""What the commands print: one console for answers, one for notes and errors."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

OUTWARD = {"lower": decimal.ROUND_FLOOR, "upper": decimal.ROUND_CEILING}
"""How a bound is rounded for the screen, so that what is printed is a bound as well."""

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(sentence: str = "", style: str = "") -> None:
    """Print an answer."""
    _print(out, Text(sentence, style))


def note(sentence: str) -> None:
    """Print a note on stderr."""
    _print(err, Text.assemble(("Note: ", "yellow"), _in_words_of_the_command_line(" ".join(sentence.split()))))


def complain(sentence: str) -> None:
    """Print an error on stderr."""
    _print(err, Text.assemble(("Error: ", "bold red"), _in_words_of_the_command_line(sentence)))


def new_table(*headers: str, left: Sequence[str] = ()) -> Table:
    """Return an empty table; columns are aligned to the right unless named in `left`."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for header in headers:
        table.add_column(header, justify="left" if header in left else "right", overflow="fold")
    return table


def _in_words_of_the_command_line(sentence: str) -> str:
    """Say a remedy of the library as an option."""
    return re.sub(r"intervals=\{(.+?): \(low, high\)\}", r"a line \1 = [low, high] in a file for --ranges", sentence)


def _print(console: Console, text: Text) -> None:
    """Wrap at words on a terminal, and not at all in a pipe."""
    console.print(text, soft_wrap=not console.is_terminal)
