"""One hand-made error: where it is, what it changes, what is wrong with it and which tests should notice."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LOOPS = (".c", ".h", ".pyx")
"""Suffixes of sources that have to be compiled."""


class StaleMutantError(Exception):
    """The source that a mutant changes is not there any more, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """A change of the source.

    It is found by the name of what it changes, in whichever file that is, so that it outlives a move to another file.

    Attributes
    ----------
    name : str
        What is wrong, in a few words; no two mutants of a function have the same.
    where : str
        A function, ``Class.method``, class or constant of the package, or a function of its loops in C.
    old, new : str
        The source that is replaced, which occurs exactly once there, and what replaces it.
    tests : tuple of str
        Test files or tests, those most likely to notice first; paths are relative to ``tests``.
    equivalent : str
        Why no bound becomes wrong, for a change that no test can notice.
    """

    name: str
    where: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""

    def find(self, package: Path) -> tuple[Path, int]:
        """Return the file that holds the old source and its position; raise `StaleMutantError` if it is not there once.

        Where several things have the same name, the old source tells which is meant.
        """
        found = [
            (path, start + each.start())
            for path, start, source in _named(package).get(self.where, ())
            for each in re.finditer(re.escape(self.old), source)
        ]
        if len(found) != 1:
            raise StaleMutantError(
                f"{self.name!r}: its source occurs {len(found)} times, not once, in {self.where}; bring the mutant up "
                f"to date:\n{self.old}"
            )
        return found[0]

    def changed(self, package: Path) -> tuple[Path, str]:
        """Return the file that holds the old source, and its text with the new one."""
        path, start = self.find(package)
        text = path.read_text(encoding="utf-8")
        return path, text[:start] + self.new + text[start + len(self.old) :]

    def is_compiled(self, package: Path) -> bool:
        """Whether the source has to be compiled."""
        return self.find(package)[0].suffix in LOOPS

    def apply(self, package: Path) -> Path:
        """Make the change in a package; return the file."""
        path, text = self.changed(package)
        path.write_text(text, encoding="utf-8")
        return path


Place = tuple[Path, int, str]
"""A file, a position in it, and the source that starts there."""


@cache
def _named(package: Path) -> dict[str, list[Place]]:
    """Return all places of a package by name."""
    places: dict[str, list[Place]] = {}
    for path in sorted(each for suffix in (".py", *LOOPS) for each in package.rglob(f"*{suffix}")):
        text = path.read_text(encoding="utf-8")
        for name, start, end in _definitions(text) if path.suffix == ".py" else _functions_of_loops(text):
            places.setdefault(name, []).append((path, start, text[start:end]))
    return places


def _definitions(text: str) -> list[tuple[str, int, int]]:
    """Return name, start and end of all functions, classes, methods and assigned names of a module."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found: list[tuple[str, int, int]] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            names: list[str] = []
            first = node.lineno
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
                first = min([first, *(each.lineno for each in node.decorator_list)])
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            found.extend((prefix + name, lines[first - 1], lines[node.end_lineno or first]) for name in names)

    visit(ast.parse(text).body, "")
    return found


def _functions_of_loops(text: str) -> list[tuple[str, int, int]]:
    """Return name, start and end of all functions and macros of a source in C or Cython.

    Each ends where another starts. What comes before the first has the name "head".
    """
    starts = [(0, "head")]
    for line in re.finditer(r"^(?:#define |[a-zA-Z_].*?)\b(\w+)\(.*$", text, flags=re.MULTILINE):
        if not line[0].rstrip().endswith(";"):
            starts.append((line.start(), line[1]))
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [(name, start, end) for (start, name), end in zip(starts, ends, strict=True)]
