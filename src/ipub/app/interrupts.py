"""Ctrl-C ends a command within a second, whatever it computes.

Python raises KeyboardInterrupt only between its own instructions, and a loop in C may run for minutes; a program also
waits for its threads. So a thread is woken by the signal itself, and where the command has not ended by then, ends it.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time

from ipub.app.files.atomic import UNFINISHED

GRACE = 0.6
"""Seconds after which the program is ended, unless it has by itself."""
EXIT_CODE = 130
"""128 and the number of the signal, as shells have it."""
SENTENCE = "Stopped. Files that were not complete are as they were before."

_is_said = threading.Event()


def first_to_say() -> bool:
    """Whether nobody has said yet that the command was stopped."""
    is_first = not _is_said.is_set()
    _is_said.set()
    return is_first


def end_soon_after_ctrl_c() -> None:
    """Start the thread that ends the program; in the main thread only, once."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_end, args=(woken, waking), daemon=True).start()


def _end(woken: socket.socket, _kept_open: socket.socket) -> None:
    while woken.recv(1) != bytes([signal.SIGINT]):
        pass
    time.sleep(GRACE)
    for path in list(UNFINISHED):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if first_to_say():
        os.write(2, f"\nError: {SENTENCE}\n".encode())
    os._exit(EXIT_CODE)
