"""Small data sets that look like those of the paper, in files and on a server."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd

from experiments.sources import DEFAULT, DRIVE, HIGGS


def counts(values):
    labels, numbers = np.unique(values, return_counts=True)
    return dict(zip(labels.tolist(), numbers.tolist(), strict=True))


def default_frame(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 1000, size=(n, len(DEFAULT.columns))), columns=list(DEFAULT.columns))
    frame["SEX"], frame["EDUCATION"], frame["MARRIAGE"] = (rng.integers(*ends, n) for ends in ((1, 3), (0, 7), (0, 4)))
    frame["default"] = (frame["AGE"] + rng.integers(0, 500, n) > 800).astype(int)
    return frame


def default_source(frame, url="http://127.0.0.1:9/data.csv"):
    return replace(DEFAULT, classes=counts(frame["default"]), url=url)


def drive_frame(n=88):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(n, 48)), columns=list(DRIVE.columns[:-1]))
    frame["class"] = np.resize(np.arange(1, 12), n)
    frame["f01"] += frame["class"] == 1
    return frame


def higgs_frame(n=120):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(n, 29)).astype(np.float32), columns=list(HIGGS.columns))
    frame["label"] = (frame["m_bb"] + rng.normal(size=n) > 0).astype(np.float32)
    return frame


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.cut])

    def log_message(self, *args):
        pass


@contextmanager
def serving(files, cut=None):
    """Serve files from this machine; with `cut`, hang up after so many bytes."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.files, server.cut, server.asked = files, cut, []
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
