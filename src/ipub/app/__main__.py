"""The program `ipub`: starts the command line, or says which packages it still needs."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich", "pyarrow")
"""What the command line needs beside the library: the extra ``cli``."""


def main() -> None:
    """Run the command line; without its packages, end with one sentence that names the extra."""
    for name in NEEDED:
        if not _is_installed(name):
            print(f'Error: the command line needs {name}: pip install "ipub[cli]"', file=sys.stderr)
            sys.exit(2)
    from ipub.app.cli import app
    from ipub.app.interrupts import end_soon_after_ctrl_c

    end_soon_after_ctrl_c()
    app(prog_name="ipub")  # also as python -m ipub.app


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


if __name__ == "__main__":
    main()
