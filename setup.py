"""Build the compiled loops; where there is no compiler the package is installed without them, and NumPy does the same.

All else is in pyproject.toml.
"""

from __future__ import annotations

import re
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "src/ipub/numeric/compiled"

FLAGS = {"msvc": ["/O2", "/fp:precise"]}
"""Of compilers that are not like GCC."""

# Operations are those that are written, in their order, none fused: bounds are proved for these (fp-loops).
# -O3 would take a compiler longer; loops are as fast without.
LIKE_GCC = ["-O2", "-ftree-vectorize", "-g0", "-fno-fast-math", "-ffp-contract=off"]


class BuildLoops(build_ext):
    """Compile with the flags that proofs need."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.cython_c_in_temp = True

    def build_extension(self, ext: Extension) -> None:
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, LIKE_GCC)
        super().build_extension(ext)


def extension(name: str, *sources: str) -> Extension:
    """Return an extension of `ipub.numeric.compiled`, of a binding in Cython and loops in C."""
    return Extension(
        f"ipub.numeric.compiled.{name}",
        sources=[f"{FOLDER}/{each}" for each in (f"{name}.pyx", *sources)],
        depends=sorted(glob(f"{FOLDER}/*.h")),
        include_dirs=[FOLDER],
        optional=True,
    )


def long_description() -> str:
    """Return the README as a package index can show it, where pictures and links to files beside it lead nowhere.

    Once the repository has a public address, write it before these targets instead.
    """
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[[^]]*\]\((?!https?://)[^)]*\)\n(\n\*[^*]*\*\n)?\n?", "", text)  # with its caption
    return re.sub(r"\[([^]]*)\]\((?!https?://|#)[^)]*\)", r"\1", text)


setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": BuildLoops},
    ext_modules=[extension("kernels", "outward.c", "gram_loops.c"), extension("row_sum_loops", "row_sum_kernel.c")],
)
