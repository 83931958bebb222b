"""Growth of resident memory during `fit`, at its peak, over the size of the training table, which is there before.

Each fit runs in a process of its own. "Kept" is what is still resident after `fit`: the fitted model with what it
remembers of the training, and what the allocator has not given back.
"""

from __future__ import annotations

from rich.console import Console

from benchmarks.fresh import fit_in_fresh_process, on_disk
from benchmarks.holed import like_higgs
from benchmarks.lines import Lines

TARGET = 0.5
CERTIFICATES = ("sphere", "tight")


def run(console: Console) -> None:
    table = like_higgs()
    lines = Lines(
        console,
        f"{table.size}, {table.X.nbytes / 2**20:.0f} MiB",
        "certificate",
        "peak MiB",
        "/ table",
        "target",
        "kept MiB",
        "s",
    )
    with on_disk(table.X, table.y, table.ranges) as folder:
        for certificate in CERTIFICATES:
            fit = fit_in_fresh_process(folder, certificate)
            share = fit.peak / fit.table
            mark = "!" if share > TARGET else " "
            lines.add(
                certificate,
                f"{fit.peak / 2**20:.0f}",
                f"{share:.2f}{mark}",
                f"<= {TARGET:g}",
                f"{fit.kept / 2**20:.0f}",
                f"{fit.seconds:.2f}",
            )
