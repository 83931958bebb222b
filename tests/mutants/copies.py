"""Copies of the source, and tests run on one of them."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from functools import cache
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).parents[2]
PASSED, FAILED, WRONG_SOURCE = 0, 1, 99
"""Exit status of tests; any but the first two says that they could not be run."""
COMPILER = ("cc", "-std=c99", "-O1", "-fPIC", "-ffp-contract=off", f"-I{sysconfig.get_path('include')}")
_BUILDING = Lock()
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["numpy", "scipy.linalg", "scipy.special", "sklearn.linear_model", "pandas", "flint"])


def copy_source(folder: Path) -> Path:
    """Copy the source into a folder; return the package there."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "src" / "ipub"


@cache
def _binding() -> Path:
    """Compile the binding of the kernel of row sums, which no mutant changes."""
    loops, folder = ROOT / "src" / "ipub" / "compiled", Path(tempfile.mkdtemp(prefix="binding-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    translated, compiled = folder / "row_sum_loops.c", folder / "row_sum_loops.o"
    subprocess.run([sys.executable, "-m", "cython", "-3", loops / "row_sum_loops.pyx", "-o", translated], check=True)
    subprocess.run([*COMPILER, "-w", f"-I{loops}", "-c", translated, "-o", compiled], check=True)
    return compiled


def build_loops(package: Path) -> None:
    """Compile the kernel of row sums of a copy, less optimised than an installed one, which takes seconds."""
    loops = package / "compiled"
    for old in loops.glob("row_sum_loops*.so"):
        old.unlink()
    found = loops / f"row_sum_loops{sysconfig.get_config_var('EXT_SUFFIX')}"
    with _BUILDING:
        binding = _binding()
    subprocess.run([*COMPILER, "-shared", binding, loops / "row_sum_kernel.c", "-lm", "-o", found], check=True)


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
