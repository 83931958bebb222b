"""Run benchmarks: ``python -m benchmarks NAME...``, or the quick ones.

Names are tightness, cost, sphere_cost (the quick ones), pointwise, path, rivals and real_tables.
"""

from __future__ import annotations

import importlib
import platform
import sys

import numpy as np
from rich.console import Console

QUICK = ("tightness", "cost", "sphere_cost")
ALL = (*QUICK, "pointwise", "path", "rivals", "real_tables")


def main() -> None:
    console = Console(width=None if sys.stdout.isatty() else 120)
    unknown = set(sys.argv[1:]) - set(ALL)
    if unknown:
        sys.exit(f"Unknown benchmark(s) {', '.join(sorted(unknown))}; there are {', '.join(ALL)}.")
    console.print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    for name in sys.argv[1:] or QUICK:
        importlib.import_module(f"benchmarks.{name}").run(console)


if __name__ == "__main__":
    main()
