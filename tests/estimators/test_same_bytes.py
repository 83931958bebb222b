"""The same input gives the same bytes, whatever the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

FITS = """
import hashlib, tempfile
from pathlib import Path
import numpy as np
import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget

def show(model, X, y):
    model.fit(X, y)
    rows = np.nan_to_num(X[:5])
    bounds = model.decision_bounds(rows) if hasattr(model, "classes_") else model.predict_bounds(rows)
    print(hashlib.sha256(bounds.tobytes()).hexdigest())
    with tempfile.TemporaryDirectory() as folder:
        for with_rows in (True, False):
            ipub.save(model, Path(folder) / "model.ipub", rows=with_rows)
            print(hashlib.sha256((Path(folder) / "model.ipub").read_bytes()).hexdigest())

rng = np.random.default_rng(0)
X = rng.normal(size=(160, 150))
y = X[:, 0] + rng.normal(size=160)
X[rng.random(X.shape) < 0.01] = np.nan
show(BoundedRegressor(scale="standard", alpha=1.0), X, y)
few = X[:, :3].copy()
few[:9, 0] = np.nan
show(BoundedClassifier(alpha="1se"), few, y > 0)
show(BoundedClassifier(certificate="pointwise", effort=0.05), few, y > 0)
show(BoundedClassifier(uncertainty=Budget(share=0.2)), few, y > 0)
"""


def test_models_files_and_bounds_have_the_same_bytes_with_one_thread_and_with_two():
    running = [
        subprocess.Popen(
            [sys.executable, "-c", FITS],
            env={**os.environ, "OMP_NUM_THREADS": str(n), "OPENBLAS_NUM_THREADS": str(n)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in (1, 2)
    ]
    first, second = (each.communicate()[0] for each in running)
    assert [each.returncode for each in running] == [0, 0]
    assert len(first.split()) == 12
    assert first == second
