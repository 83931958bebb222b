"""The program around the commands: errors become one sentence, help reads like a page of a manual.

Exit codes: 0 if all went well, 2 for input that cannot be used, 130 after Ctrl-C, 1 for a bound that `ipub verify`
finds violated, a reader of the output that went away, and a defect of this program, which shows where it is.
"""

from __future__ import annotations

import errno
import inspect
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn, get_args, get_type_hints

import typer
import typer.core

from ipub.app.interrupts import EXIT_CODE, SENTENCE, first_to_say
from ipub.app.near_names import near
from ipub.app.screen import complain, note, sentence_of

USAGE_ERROR: Any = typer.BadParameter.__bases__[0]
"""What is raised for an option that is missing or unknown, or whose value is of another type."""
BAD_INPUT = 2
VALUES = {Path: "FILE", int: "N", float: "X", str: "TEXT"}
"""What help calls the value of an option, by its type."""
OF_TABLES = ("delimiter", "decimal", "thousands", "encoding", "missing")
"""Options of every command that reads tables: the first fields of `ipub.app.files.reading.Reading`."""
TAB = {"\\t": "\t", "tab": "\t"}
"""How a tab is written on the command line."""
EXAMPLES = "Examples\n--------\n"


class Page(typer.core.TyperCommand):
    """A command whose help ends with examples: what its docstring has under that heading."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        text = inspect.cleandoc(settings.get("help") or "")
        settings["help"], _, examples = text.partition(EXAMPLES)
        settings["help"] = settings["help"].rstrip()
        if examples:
            settings["epilog"] = f"\b\nExamples:\n{examples}"
        super().__init__(*arguments, **settings)
        hints = get_type_hints(settings["callback"]) if settings.get("callback") else {}
        for parameter in self.params:
            kinds = [hints.get(parameter.name), *get_args(hints.get(parameter.name))]
            if parameter.metavar is None and bool not in kinds:
                is_argument = parameter.param_type_name == "argument"
                named = [name for kind, name in VALUES.items() if kind in kinds] or ["TEXT"]
                parameter.metavar = str(parameter.name).upper() if is_argument else named[0]
                if is_argument:  # of which newer versions of Typer repeat the type
                    vars(parameter)["display_type_rich"] = lambda **_: None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002 (of the program)
        """Return the arguments, which stand before the options, and what is required of these."""
        needed = [p for p in self.params if p.param_type_name == "option" and p.required]
        arguments = [
            str(p.metavar) if p.required else f"[{p.metavar}]" for p in self.params if p.param_type_name == "argument"
        ]
        return [*arguments, *(f"{p.opts[0]} {p.metavar}" for p in needed), "[OPTIONS]"]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of this command, and if it takes a file those of all commands about tables."""
        own = super().get_params(ctx)
        takes_file = any(parameter.param_type_name == "argument" for parameter in self.params)
        return [*own, *(_shared(ctx) if takes_file else [])]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options, and options about tables."""
        shared = _shared(ctx)
        own = [parameter for parameter in self.get_params(ctx) if parameter not in shared]
        for title, parameters in {
            "Arguments": [each for each in own if each.param_type_name == "argument"],
            "Options": [each for each in own if each.param_type_name == "option"],
            "How tables are read, if a file does not show it": shared if len(self.get_params(ctx)) > len(own) else [],
        }.items():
            records = [record for record in (each.get_help_record(ctx) for each in parameters) if record]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with tables read as the options say."""
        from ipub.app.files.reading import Reading, reading_as
        from ipub.app.files.standard_input import standard_input_once

        given = {each.name: ctx.params.pop(each.name, None) for each in _shared(ctx)}
        said = {name: value for name, value in given.items() if value}
        if said.get("delimiter") in TAB:
            said["delimiter"] = TAB[said["delimiter"]]
        if "missing" in said:
            said["missing"] = tuple(said["missing"])
        with reading_as(Reading(**said)) if said else nullcontext(), standard_input_once():
            return super().invoke(ctx)

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002 (whole sentences)
        """Return the first sentence of the help, whole."""
        return str(self.help or "").split("\n\n", 1)[0].replace("\n", " ").rstrip(".")

    def format_epilog(self, _context: Any, formatter: Any) -> None:
        """Write the examples as they are."""
        if self.epilog:
            formatter.write_paragraph()
            for line in self.epilog.removeprefix("\b\n").splitlines():
                formatter.write(f"  {line}\n" if line and not line.startswith("Examples") else f"{line}\n")


def _shared(ctx: Any) -> list[Any]:
    """Return the options of all commands, which are declared once, by the program."""
    if ctx.parent is None:
        return []
    return [each for each in ctx.parent.command.params if each.name in OF_TABLES]


class Program(typer.core.TyperGroup):
    """Commands whose bad inputs end in one sentence on stderr, and whose warnings are notes."""

    called = "ipub"

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options that are no options of commands, and the commands."""
        records = [each.get_help_record(ctx) for each in self.get_params(ctx) if each.name not in OF_TABLES]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record])
        self.format_commands(ctx, formatter)

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the options before the command; without any argument, show help."""
        if not args and not self.invoke_without_command:
            args = ["--help"]
        try:
            return super().make_context(info_name, args, parent, **extra)
        except USAGE_ERROR as error:
            _fail(f"{_sentence(error)}. See `{self.called} --help`.")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; the error for one that does not exist names the nearest that does."""
        if args and args[0] not in self.commands:
            close = near(args[0], self.commands)
            advice = f"Did you mean `{self.called} {close}`?" if close else f"See `{self.called} --help`."
            _fail(f"No such command {args[0]!r}. {advice}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; the one place where errors of the library are caught."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_args, **_kwargs: note(sentence_of(message))
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                if first_to_say():
                    complain(SENTENCE)
                raise typer.Exit(EXIT_CODE) from None
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise
                _fail(f"{error.filename}: {error.strerror}." if error.filename else str(error))
            except USAGE_ERROR as error:
                _fail(
                    f"{_sentence(error)}. See `{' '.join(filter(None, [self.called, ctx.invoked_subcommand]))} --help`."
                )
            except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
                _fail(sentence_of(error) or "Out of memory.")


def _sentence(error: Any) -> str:
    return " ".join(error.format_message().split()).rstrip(".")


def _fail(sentence: str) -> NoReturn:
    complain(sentence)
    raise typer.Exit(BAD_INPUT)
