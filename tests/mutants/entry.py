"""One hand-made error: where it is, what it changes, what is wrong with it and which tests should notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class StaleMutantError(Exception):
    """The source that a mutant changes is not there any more, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """A change of the source.

    Attributes
    ----------
    name : str
        What is wrong, in a few words; no two mutants have the same.
    where : str
        File or folder below ``src/ipub``. In a folder the old source may be in any of its files.
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

    @property
    def is_compiled(self) -> bool:
        """Whether the source has to be compiled."""
        return Path(self.where).suffix in (".c", ".h", ".pyx")

    def file(self, package: Path) -> Path:
        """Return the file of a package that holds the old source; raise `StaleMutantError` if it is not there once."""
        place = package / self.where
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        found = [path for path in files for _ in range(path.read_text(encoding="utf-8").count(self.old))]
        if len(found) != 1:
            raise StaleMutantError(
                f"{self.name!r}: its source occurs {len(found)} times, not once, in {self.where}; bring the mutant up "
                f"to date:\n{self.old}"
            )
        return found[0]

    def apply(self, package: Path) -> Path:
        """Make the change in a package; return the file."""
        path = self.file(package)
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")
        return path
