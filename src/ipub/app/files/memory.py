"""How much memory there is, and whether a table fits into it."""

from __future__ import annotations

import os
from pathlib import Path

CELL_BYTES = 32
"""Bytes that a cell of a table takes at most while it is read and fitted in memory."""
TEXT_FACTOR = {False: 6, True: 30}
"""Bytes that a byte of a CSV file takes, and one of a compressed file."""

MEMINFO = Path("/proc/meminfo")
LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)
"""Where Linux says how much memory a container may use, and uses."""


def available_memory() -> int:
    """Return how many bytes of memory can still be used, by this process or its container."""
    found = [_total_memory()]
    if MEMINFO.is_file():
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024 * int(line.split()[1]))
    for limit, usage in LIMITS:
        if limit.is_file() and usage.is_file() and limit.read_text().strip().isdigit():
            found.append(max(0, int(limit.read_text()) - int(usage.read_text())))
    return min(found)


def _total_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def cells_fit(n_cells: int) -> bool:
    """Whether a table of so many cells can be read and fitted in memory."""
    return CELL_BYTES * n_cells <= available_memory()


def text_fits(path: str | os.PathLike[str]) -> bool:
    """Whether the table of a CSV file can be read and fitted in memory."""
    is_compressed = Path(path).suffix.lower() == ".gz"
    return TEXT_FACTOR[is_compressed] * Path(path).stat().st_size <= available_memory()
