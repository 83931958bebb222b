"""Build the distributions, and try them in empty environments.

    python -m packages [VERSION ...]

For each Python that is at hand (of those that are named, such as 3.12) a wheel is made from the source distribution, as
pip does that installs it, and installed with the oldest and with the newest dependencies: alone first, then with all
extras. Each time `smoke.py` must pass. The README must look on a package index as it should. What was made is in
build/packages; the exit status is 1 if anything fails.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from packages.pythons import ROOT, pythons_at_hand, supported
from packages.readme import broken_targets, description_of

MADE = ROOT / "build" / "packages"
OLDEST = ROOT / "tests" / "oldest-requirements.txt"
SHOWN = ("numpy", "scipy", "scikit-learn")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
INSTALL = ("install", "--no-compile", "--prefer-binary")


class FailedError(Exception):
    """A step failed; the message is the end of what it printed."""


def run(*command: object, cwd: Path | None = None) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise FailedError(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def environment(python: str, folder: Path) -> Path:
    """Make an empty environment and return its interpreter."""
    run(python, "-m", "venv", folder)
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def try_wheel(python: str, wheel: Path, constraints: list[object]) -> str:
    """Install a wheel without and with extras, run the smoke test after each, and return what was installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        its_python = environment(python, folder / "env")
        for extras in ("", "[all]"):
            run(its_python, *PIP, *INSTALL, f"{wheel}{extras}", *constraints)
            run(its_python, "-I", ROOT / "tests" / "packages" / "smoke.py", cwd=folder)
        run(its_python, *PIP, "check")
        frozen = dict(line.split("==") for line in run(its_python, *PIP, "freeze").splitlines() if "==" in line)
        return ", ".join(f"{each} {frozen[each]}" for each in SHOWN)


def main(versions: list[str]) -> int:
    """Build, and try with each Python; return the exit status."""
    shutil.rmtree(MADE, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", MADE, ROOT)
    (sdist,) = MADE.glob("*.tar.gz")
    broken = broken_targets(description_of(sdist))
    print(f"{sdist.name}; README: {', '.join(broken) or 'no broken pictures or links'}", flush=True)
    n_failed, found = int(bool(broken)), pythons_at_hand()
    for version in versions or supported():
        if version not in found:
            print(f"Python {version}: not at hand")
            continue
        for name, constraints in (("oldest", ["-c", OLDEST]), ("newest", [])):
            start = time.perf_counter()
            try:
                wheels = MADE / version
                if not wheels.exists():
                    builder = environment(found[version], MADE / f"builder-{version}")
                    run(builder, *PIP, "wheel", "--no-deps", "--wheel-dir", wheels, sdist)
                (wheel,) = wheels.glob("*.whl")
                said = try_wheel(found[version], wheel, constraints)
            except FailedError as error:
                n_failed, said = n_failed + 1, f"FAILED: {error}"
            print(f"Python {version}, {name} dependencies: {said} ({time.perf_counter() - start:.0f} s)", flush=True)
    return int(n_failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
