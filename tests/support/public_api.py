"""The public names of the package and how they are called, as a text: `tests/public_api.txt`.

``PYTHONPATH=tests python -m support.public_api`` writes it anew; a test holds that the package is as it says.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import ipub
import ipub.app.cli
import ipub.datasets
import ipub.plots

PUBLIC_API = Path(__file__).parents[1] / "public_api.txt"
MODULES = (ipub, ipub.datasets, ipub.plots)
"""Modules whose ``__all__`` is public, with all public methods of the classes there."""


def public_api() -> str:
    """Return a line for each public name, method and command."""
    lines = [line for module in MODULES for line in _of_module(module)]
    return "\n".join([*lines, *_commands()]) + "\n"


def _of_module(module: Any) -> list[str]:
    lines = []
    for name in sorted(module.__all__):
        thing, where = getattr(module, name), f"{module.__name__}.{name}"
        if inspect.isclass(thing):
            lines += [f"{where}{_call(thing)}", *(f"{where}.{line}" for line in _members(thing))]
        else:
            lines.append(f"{where}{_call(thing)}" if callable(thing) else where)
    return lines


def _call(thing: Any) -> str:
    """Return the names and defaults of arguments, without types."""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return "(...)"
    parameters = [
        each.replace(annotation=inspect.Parameter.empty, default=_shown(each.default))
        for each in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


class _Other:
    """A default that is an object of its own."""

    def __repr__(self) -> str:
        return "..."


def _shown(default: Any) -> Any:
    is_plain = default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None)
    return default if is_plain else _Other()


def _members(kind: type[Any]) -> list[str]:
    """Return public methods and properties that the package defines, sorted."""
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("ipub"):
            for name in vars(base):
                if not name.startswith("_") and not name.endswith("_request"):  # which scikit-learn writes
                    found[name] = inspect.getattr_static(kind, name)
    return sorted(_member(name, getattr(kind, name, None), static) for name, static in found.items())


def _member(name: str, value: Any, static: Any) -> str:
    if isinstance(static, property) or not (callable(value) or callable(static)):
        return name
    return name + _call(value if callable(value) else static.fn if hasattr(static, "fn") else static)


def _commands() -> list[str]:
    """Return the commands of the command line with their arguments and options."""
    import typer

    lines = []
    program = typer.main.get_command(ipub.app.cli.app)
    for name, command in sorted(program.commands.items()):  # type: ignore[attr-defined]
        options = [each.opts[0] if each.param_type_name == "option" else each.name.upper() for each in command.params]
        lines.append(" ".join([f"$ ipub {name}", *sorted(options)]))
    return lines


if __name__ == "__main__":
    PUBLIC_API.write_text(public_api(), encoding="utf-8")
    print(f"{PUBLIC_API}: {len(public_api().splitlines())} names")
