"""The page of benchmarks: each figure is kept when it is finished, and the page is written from what is kept."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.holed import most_rows
from benchmarks.lines import Screen
from benchmarks.pieces import Pieces
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
KEY = {"format": 2}
"""Version of the stored figures, increased when their form changes."""
HEAD = f"""\
# Benchmarks

Written by `{COMMAND}` (ipub {__version__}); every number below was printed by the command that its section names, on
the day and the machine that it names. What is compared was measured in one run, in turn; a number that misses its
target is marked with `!`. Times on another machine differ, ratios less so; widths and counts hardly."""
KEPT_FROM_EARLIER = "Kept from an earlier run."


def write_page(
    screen: Screen,
    names: Sequence[str],
    every: Sequence[str],
    path: Path,
    options: Sequence[str] = (),
    resume: bool = False,
) -> None:
    """Measure figures that are not kept yet, and write the page.

    Parameters
    ----------
    screen : Screen
    names : sequence of str
        Figures to measure, unless they were measured with this very code: the name of a benchmark, and its options.
    every : sequence of str
        All figures in the order of the page; those that are kept from earlier are shown with their date.
    path : Path
        A page that is there already keeps the sections of which nothing else is kept.
    options : sequence of str, default=()
        More options for every one of `names`.
    resume : bool, default=False
        Whether figures, and finished pieces of them, that were measured with other code count as measured.
    """
    folder = KEPT if most_rows() is None else KEPT / f"{most_rows()}_rows"
    store, code = Store(folder), _code()
    for name in names:
        command, kept = " ".join([name, *options]), _kept(store, name)
        if kept is not None and kept["command"] == command and (resume or kept["code"] == code):
            screen.print(f"{name}: kept from an earlier run ({store.folder})")
            continue
        benchmark, *given = name.split()
        screen.tables.clear()
        screen.pieces = Pieces(Store(folder / slug(name)), code, resume)
        given += options
        importlib.import_module(f"benchmarks.{benchmark}").run(screen, *([given] if given else []))
        tables = [{"title": table.title, "columns": table.columns, "rows": table.rows} for table in screen.tables]
        figures = {"tables": tables, "machine": machine("threads as by default"), "date": today(), "code": code}
        figures |= {"command": command} | ({"code": ""} if screen.pieces.is_mixed else {})
        screen.pieces = None
        store.put(slug(name), KEY, Measured(figures, {}))
        _write(store, every, path)
    _write(store, every, path)
    screen.print(f"Written to {path}")


def slug(name: str) -> str:
    """Return the name of a figure as one of a file, and of its section in links: ``bench-`` and this."""
    return re.sub(r"[^a-z0-9]+", "-", name)


def _write(store: Store, every: Sequence[str], path: Path) -> None:
    parts = [HEAD]
    earlier = _sections(path) if most_rows() is None else {}
    for name in every:
        kept = _kept(store, name)
        if kept is not None:
            parts.append(_section(name, kept))
        elif slug(name) in earlier:
            parts.append(earlier[slug(name)])
        else:
            parts.append(f"{_title(name)}\n\n{_words(name)}\n\nNot measured yet: `python -m benchmarks {name}`.")
    if most_rows() is not None:
        parts.insert(1, f"**Cut to {most_rows():,} rows: this run says nothing of the full size.**")
    parts.append(ON_A_GPU.read_text().strip())
    with whole_file(path) as file:
        file.write(("\n\n".join(parts) + "\n").encode())


def _kept(store: Store, name: str) -> Mapping[str, Any] | None:
    """Return what was measured last of a figure, with whatever options."""
    kept = store.get(slug(name), KEY)
    return None if kept is None else kept.figures


def _sections(path: Path) -> dict[str, str]:
    """Return the measured sections of a page, by the names of their links; none if there is no page."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = {}
    for section in re.split(r"^(?=\(bench-[a-z0-9-]+\)=$)|^(?=## On a GPU$)", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"\(bench-([a-z0-9-]+)\)=", section)
        if name and "\nNot measured yet: " not in section:
            measured = re.sub(r"^(`python -m benchmarks [^\n]*?\.)$", rf"\1 {KEPT_FROM_EARLIER}", section, flags=re.M)
            found[name.group(1)] = (section if KEPT_FROM_EARLIER in section else measured).strip()
    return found


def _title(name: str) -> str:
    return f"(bench-{slug(name)})=\n## {name.replace('_', ' ')}"


def _words(name: str) -> str:
    return (importlib.import_module(f"benchmarks.{name.split()[0]}").__doc__ or "").strip()


def _section(name: str, figures: Mapping[str, Any]) -> str:
    tables = [
        f"**{table['title']}**\n\n"
        + markdown_table(
            [column.strip() for column in table["columns"]], [[cell.strip() for cell in row] for row in table["rows"]]
        )
        for table in figures["tables"]
    ]
    measured = f"`python -m benchmarks {figures['command']}`, {figures['date']}, on: {figures['machine']}."
    if figures["code"] != _code():
        measured += " The code has changed since."
    return "\n\n".join([_title(name), _words(name), measured, *tables])


def _code() -> str:
    """Return a number that changes with the code."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
