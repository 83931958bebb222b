"""The page of benchmarks: each figure is kept when it is finished, and the page is written from what is kept."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.holed import most_rows
from benchmarks.lines import Screen
from experiments.page import markdown_table
from experiments.run import machine, today
from experiments.store import Measured, Store
from ipub import __version__
from ipub.app.files.atomic import whole_file

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "benchmarks"
ON_A_GPU = ROOT / "benchmarks" / "on_a_gpu.md"
"""What `python -m benchmarks device` printed on a machine with a GPU; the one that writes the page need have none."""
COMMAND = "python -m benchmarks page"
FORMAT = 1
"""Version of the stored figures, increased when their form changes."""
HEAD = f"""\
# Benchmarks

Written by `{COMMAND}` (ipub {__version__}); every number below was measured by it. One figure alone:
`python -m benchmarks NAME`. What is compared was measured in one run, in turn; a number that misses its target is
marked with `!`. Times on another machine differ, ratios less so."""


def write_page(screen: Screen, names: Sequence[str], every: Sequence[str], path: Path) -> None:
    """Measure figures that are not kept yet, and write the page.

    Parameters
    ----------
    screen : Screen
    names : sequence of str
        Figures to measure, unless they were measured with this very code.
    every : sequence of str
        All figures in the order of the page; those that are kept from earlier are shown with their date.
    path : Path
    """
    store = Store(KEPT if most_rows() is None else KEPT / f"{most_rows()}_rows")
    for name in names:
        kept, code = store.get(name, _key()), _code()
        if kept is not None and kept.figures["code"] == code:
            screen.print(f"{name}: kept from an earlier run of the same code ({store.folder})")
            continue
        screen.tables.clear()
        importlib.import_module(f"benchmarks.{name}").run(screen)
        tables = [{"title": table.title, "columns": table.columns, "rows": table.rows} for table in screen.tables]
        figures = {"tables": tables, "machine": machine("threads as by default"), "date": today(), "code": code}
        store.put(name, _key(), Measured(figures, {}))
        _write(store, every, path)
    _write(store, every, path)
    screen.print(f"Written to {path}")


def _write(store: Store, every: Sequence[str], path: Path) -> None:
    parts = [HEAD]
    for name in every:
        kept = store.get(name, _key())
        if kept is not None:
            parts.append(_section(name, kept.figures))
    if most_rows() is not None:
        parts.insert(1, f"**Cut to {most_rows():,} rows: this run says nothing of the full size.**")
    parts.append(ON_A_GPU.read_text().strip())
    missing = [name for name in every if store.get(name, _key()) is None]
    if missing:
        parts.append(f"Not measured yet: {', '.join(missing)}.")
    with whole_file(path) as file:
        file.write(("\n\n".join(parts) + "\n").encode())


def _section(name: str, figures: Mapping[str, Any]) -> str:
    words = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").strip()
    tables = [
        f"**{table['title']}**\n\n"
        + markdown_table(
            [column.strip() for column in table["columns"]], [[cell.strip() for cell in row] for row in table["rows"]]
        )
        for table in figures["tables"]
    ]
    measured = f"`python -m benchmarks {name}`, {figures['date']}, on: {figures['machine']}."
    if figures["code"] != _code():
        measured += " The code has changed since."
    return "\n\n".join([f"## {name.replace('_', ' ')}", words, measured, *tables])


def _key() -> dict[str, Any]:
    return {"format": FORMAT}


def _code() -> str:
    """Return a number that changes with the code."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
