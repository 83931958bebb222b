"""The program `ipub`: starts the command line, or says which packages it still needs."""

from __future__ import annotations

import sys

NEEDED = ("typer", "rich", "pyarrow")
"""What the command line needs beside the library: the extra ``cli``."""


def main() -> None:
    """Run the command line; without its packages, end with one sentence that names the extra."""
    try:
        from ipub.app.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in NEEDED:
            raise
        print(f'Error: the command line needs {error.name}: pip install "ipub[cli]"', file=sys.stderr)
        sys.exit(2)
    app()


if __name__ == "__main__":
    main()
