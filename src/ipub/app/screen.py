"""Output of the commands: one console for results, one for notes and errors."""

from __future__ import annotations

import decimal
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ipub.app.plain_json import as_json
from ipub.errors import WithMessage, Wording
from ipub.progress_bars import progress_of_step

OUTWARD = {"lower": decimal.ROUND_FLOOR, "upper": decimal.ROUND_CEILING}
"""How a bound is rounded for the screen, so that what is printed is a bound as well."""

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class CommandLineWording(Wording):
    """Wording of errors on the command line: rows are counted from 1, and a remedy is an option."""

    def row(self, number: int) -> str:
        return f"row {number + 1}"

    def give_range(self, column: Any) -> str:
        from ipub.app.files.tables import toml_key

        return f"a line {'column' if column is None else toml_key(str(column))} = [low, high] in a file for --ranges"

    def drop_column(self, column: Any) -> str:
        return f"leave it out with --drop {shlex.quote(str(column))}"

    def make_missing(self) -> str:
        return "leave the cell empty"

    def allow_any_level(self) -> str:
        return self.make_missing()

    def let_one_differ(self) -> str:
        return "--budget 1"


def sentence_of(problem: BaseException) -> str:
    """Return what an error or a warning says, in the wording of the command line and on one line.

    An error of the package is composed from its fields. Any other is printed as it is.
    """
    return problem.text(CommandLineWording()) if isinstance(problem, WithMessage) else " ".join(str(problem).split())


def say(sentence: str = "", style: str = "") -> None:
    """Print a result."""
    _print(out, Text(sentence, style))


def say_command(command: str) -> None:
    """Print a command on one line, however narrow the screen is, so that it can be copied."""
    out.print(Text(f"    {command}"), soft_wrap=True)


def note(sentence: str) -> None:
    """Print a note on stderr."""
    _print(err, Text.assemble(("Note: ", "yellow"), sentence))


def complain(sentence: str) -> None:
    """Print an error on stderr."""
    _print(err, Text.assemble(("Error: ", "bold red"), sentence))


def working(description: str) -> AbstractContextManager[None]:
    """Show what is being done, and how long it will take: a bar on a terminal, a line every ten seconds in a pipe."""
    return progress_of_step(description, is_shown=True)


@contextmanager
def json_instead(is_wanted: bool, *, prints: bool = True) -> Iterator[dict[str, Any]]:
    """Print what is put into the dictionary as one JSON object at the end, and of what is said nothing, if wanted.

    Notes and errors still go to stderr. With ``prints=False`` nothing is printed in place of what is said.
    """
    found: dict[str, Any] = {}
    before = out.quiet
    out.quiet = out.quiet or is_wanted
    try:
        yield found
    finally:
        out.quiet = before
    if is_wanted and prints:
        say_json(found)


def say_json(value: Any) -> None:
    """Print a value as JSON: arrays as lists, what is no finite number as null."""
    out.print(Text(as_json(value)), soft_wrap=True)


def new_table(*headers: str, left: Sequence[str] = ()) -> Table:
    """Return an empty table; columns are aligned to the right unless named in `left`."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for header in headers:
        table.add_column(header, justify="left" if header in left else "right", overflow="fold")
    return table


def _print(console: Console, text: Text) -> None:
    """Wrap at words on a terminal, and not at all in a pipe."""
    console.print(text, soft_wrap=not console.is_terminal)
