"""Copies of the source, and tests run on one of them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[2]
PASSED, FAILED, WRONG_SOURCE = 0, 1, 99
"""Exit status of tests; any but the first two says that they could not be run."""
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["numpy", "scipy.linalg", "scipy.special", "sklearn.linear_model", "pandas", "flint"])


def copy_source(folder: Path) -> Path:
    """Copy the source into a folder; return the package there."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "src" / "ipub"


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
