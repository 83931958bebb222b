"""Copies of the source, and tests run on one of them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).parents[2]
PASSED, FAILED, WRONG_SOURCE = 0, 1, 99
"""Exit status of tests; any but the first two says that they could not be run."""
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["numpy", "scipy.linalg", "scipy.special", "sklearn.linear_model", "pandas", "flint"])


def copy_source(folder: Path) -> Path:
    """Copy the source into a folder; return the package there.

    With what is compiled already: it counts for files that keep their time and size, as copies do and mutants do not.
    """
    shutil.copytree(ROOT / "src", folder / "src")
    return folder / "src" / "ipub"


class CannotBuildError(Exception):
    """The loops in C cannot be compiled."""


class _Built:
    """The unchanged source with its loops compiled, of which copies are made: each compiles only what it changes."""

    lock = Lock()
    folder: tempfile.TemporaryDirectory[str] | None = None


def copy_built_source(folder: Path) -> Path:
    """Copy the source, and what is needed to compile its loops, into a folder; return the package there."""
    with _Built.lock:
        if _Built.folder is None:
            built = tempfile.TemporaryDirectory(prefix="built-")
            copy_source(Path(built.name))
            for name in ("pyproject.toml", "README.md", "LICENSE"):
                shutil.copy2(ROOT / name, built.name)
            # An optional extension that cannot be compiled would be left out without an error.
            setup = (ROOT / "setup.py").read_text(encoding="utf-8").replace("optional=True", "optional=False")
            (Path(built.name) / "setup.py").write_text(setup, encoding="utf-8")
            build_loops(Path(built.name))
            _Built.folder = built
    shutil.copytree(_Built.folder.name, folder, dirs_exist_ok=True)
    return folder / "src" / "ipub"


def build_loops(folder: Path) -> None:
    """Compile the loops of a copy, where they have changed; raise `CannotBuildError` if that fails."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuildError(done.stdout + done.stderr)


def run_tests(source: Path, tests: tuple[str, ...], *options: str, timeout: int | None = None) -> tuple[int, str]:
    """Run tests on a copy of the source, up to the first that fails; return the exit status and what was written.

    In a process of its own, forked from one that has imported what takes long. Raises TimeoutError.
    """
    with tempfile.NamedTemporaryFile(mode="r", encoding="utf-8", suffix=".log") as log:
        paths = [str(ROOT / "tests" / test) for test in tests]
        arguments = ["-x", "-q", "-p", "no:cacheprovider", *options, *paths]
        process = SERVER.Process(target=_run_pytest, args=(str(source), arguments, log.name))
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError
        return process.exitcode or 0, log.read()


def _run_pytest(source: str, arguments: list[str], log: str) -> None:
    with open(log, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = source
    sys.dont_write_bytecode = True
    sys.path.insert(0, source)
    import pytest

    try:
        from ipub import __file__ as imported
    except Exception:
        traceback.print_exc()
        sys.exit(WRONG_SOURCE)
    if not imported.startswith(source):
        print(f"ipub is imported from {imported}, not from the copy")
        sys.exit(WRONG_SOURCE)
    sys.exit(int(pytest.main(arguments)))
