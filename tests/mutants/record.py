"""Which mutants were killed before: an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from threading import Lock

from mutants.entry import Mutant


class Record:
    """The tests that killed mutants, on disk, a line each.

    A mutant counts as killed as long as the file it changes, what it makes of it and the files of its tests are what
    they were; what else they import may have changed.

    Parameters
    ----------
    file : Path
        Its folder is made if it does not exist.
    package, tests : Path
        The package that mutants change, and the folder of their tests.
    """

    def __init__(self, file: Path, package: Path, tests: Path) -> None:
        self._file, self._package, self._tests, self._lock = file, package, tests, Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._killed_by = dict(json.loads(line) for line in lines if line.endswith("]"))

    def killed_by(self, mutant: Mutant) -> str:
        """Return the test that killed a mutant before; empty if it has to be tried."""
        return self._killed_by.get(self._key(mutant), "")

    def add(self, mutant: Mutant, killed_by: str) -> None:
        """Keep that a test killed a mutant; one line that is written at once."""
        line = json.dumps([self._key(mutant), killed_by])
        with self._lock, self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def _key(self, mutant: Mutant) -> str:
        files = sorted({test.partition("::")[0] for test in mutant.tests})
        texts = [(self._tests / file).read_text(encoding="utf-8") for file in files]
        found = hashlib.blake2b(digest_size=16)
        for text in (*mutant.tests, mutant.changed(self._package)[1], *texts):
            found.update(text.encode() + b"\0")
        return found.hexdigest()
