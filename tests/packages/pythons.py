"""Which versions of Python are at hand: on the path, of pyenv, of uv."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def supported() -> list[str]:
    """Return the versions that pyproject.toml lists, such as "3.12"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [found[1] for each in project["classifiers"] if (found := re.search(r"Python :: (3\.\d+)$", each))]


def pythons_at_hand() -> dict[str, str]:
    """Return one interpreter for each supported version that is found."""
    found = {}
    for version in supported():
        for candidate in _candidates(version):
            if _version_of(candidate) == version:
                found[version] = candidate
                break
    return found


def _candidates(version: str) -> Iterator[str]:
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(home.glob(f"versions/{version}.*/bin/python"), reverse=True))
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    if uv := shutil.which("uv"):
        done = subprocess.run([uv, "python", "find", version], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            yield done.stdout.strip()


def _version_of(python: str) -> str | None:
    """Return the version of an interpreter with which environments can be made, None of any other."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
