"""What must work once the package is installed; run outside the repository, in an environment with nothing else."""

import csv
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path


def estimators():
    """Everything without extras: public names, the table, bounds, loops in C, files."""
    import ipub
    from ipub.datasets import load_mammographic_masses
    from ipub.numeric.compiled import loops

    assert "site-packages" in ipub.__file__, ipub.__file__
    assert all(hasattr(ipub, name) for name in ipub.__all__)
    assert Path(ipub.__file__).with_name("py.typed").exists()
    assert loops() is not None, "the loops in C are missing"
    X, y = load_mammographic_masses()
    clf = ipub.BoundedClassifier(alpha=1.0, scale="standard").fit(X[:700], y[:700])
    bounds, probability = clf.predict_proba_bounds(X[700:]), clf.predict_proba(X[700:])[:, 1]
    assert (bounds[:, 0] <= probability).all()
    assert (probability <= bounds[:, 1]).all()
    assert (clf.predict_set(X[700:]).sum(axis=1) == 1).mean() > 0.5
    ipub.save(clf, "model.ipub")
    assert (ipub.load("model.ipub").predict_proba_bounds(X[700:]) == bounds).all()
    reg = ipub.BoundedRegressor(scale="standard").fit(X[:700], 1.0 * (y[:700] == "malignant"))
    assert (reg.predict_bounds(X[700:])[:, 0] <= reg.predict(X[700:])).all()


def program(*arguments):
    done = subprocess.run(
        [sys.executable, "-I", "-m", "ipub.app", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def command_line():
    """Fit and predict of a file, and pictures."""
    from ipub.datasets import FEATURES, TARGET, load_mammographic_masses
    from ipub.plots import StatusDisplay

    X, y = load_mammographic_masses()
    with open("table.csv", "w", newline="", encoding="utf-8") as file:
        written = csv.writer(file)
        written.writerow([*FEATURES, TARGET])
        written.writerows([*("" if value != value else value for value in X[i]), y[i]] for i in range(200))
    for arguments in (
        ["fit", "table.csv", "--target", TARGET, "--alpha", "1", "-o", "cli.ipub"],
        ["predict", "cli.ipub", "table.csv", "-o", "bounds.csv"],
        ["predict", "cli.ipub", "table.csv", "-o", "bounds.parquet"],
        ["report", "table.csv", "--target", TARGET, "--alpha", "1", "-o", "report.html"],
    ):
        code, output = program(*arguments)
        assert code == 0, output
    assert Path("bounds.csv").read_text(encoding="utf-8").count("\n") == 201
    StatusDisplay.from_predictions(["certain", "open"]).figure_.savefig("status.png")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        estimators()
        if find_spec("typer"):
            command_line()
        else:
            code, output = program("--version")
            assert code == 2, output
            assert "ipub[cli]" in output, output
        os.chdir(os.pardir)  # Windows keeps a folder that is somebody's


if __name__ == "__main__":
    main()
