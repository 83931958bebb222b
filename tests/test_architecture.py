"""The shape of the package: imports go one way, files stay small, the core needs no extras."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import ipub

PACKAGE = Path(ipub.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))

LAYERS = [
    {"rounding", "parallel", "user_warnings"},
    {"linalg", "losses", "penalties"},
    {"data"},
    {"engine"},
    {"problem"},
    {"solvers"},
    {"certificates"},
    {"attained"},
    {"baselines"},
    {"estimators"},
    {"sklearn_models", "penalty_path"},
    {"io", "plots", "datasets"},
    {"experiments", "app"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def unit_of(module: str) -> str:
    """Return the layer's name for a module: ``ipub.engine.rows`` belongs to ``data``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    parts = ("ipub", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    """Return the modules of this package that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "ipub"}
    return {name for name in found if name == "ipub" or name.startswith("ipub.")}


def public_definitions(body, prefix=""):
    """Yield the public classes, functions and methods of a module or a class."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield f"{prefix}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{prefix}{node.name}.")


@each_file
def test_every_module_has_a_place_in_the_layers(path):
    unit = unit_of(module_of(path))
    assert unit == "" or unit in LEVEL


@each_file
def test_imports_go_one_way(path):
    importer = unit_of(module_of(path))
    for module in imports_of(path):
        imported = unit_of(module)
        if importer == "":
            assert LEVEL.get(imported, 0) <= LEVEL["penalty_path"], f"ipub imports {module} on every start"
        elif imported in LEVEL and imported != importer:
            same_level = LEVEL[imported] == LEVEL[importer]
            shows_results = LEVEL[importer] >= LEVEL["io"]
            assert LEVEL[imported] < LEVEL[importer] or (same_level and shows_results), f"{importer} imports {module}"
        elif imported == "":
            # Names of the package itself (its version, its estimators) are for what shows results only.
            assert LEVEL[importer] >= LEVEL["io"], f"{importer} imports {module}"


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES} - {PACKAGE}), ids=lambda path: path.name)
def test_modules_of_a_folder_do_not_import_each_other_in_circles(folder):
    inside = {module_of(path): path for path in FILES if path.parent == folder and path.name != "__init__.py"}
    graph = {name: imports_of(path) & set(inside) for name, path in inside.items()}
    while graph:
        free = [name for name, needs in graph.items() if not needs & set(graph)]
        assert free, f"a circle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


@each_file
def test_no_module_asks_which_loss_it_has(path):
    if path.parent.name == "losses":
        return
    losses = {
        node.name
        for file in (PACKAGE / "losses").glob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    assert {"Loss", "Squared", "Hinge", "Logistic"} <= losses
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            asked |= {name.attr for name in ast.walk(node.args[1]) if isinstance(name, ast.Attribute)}
            assert not asked & losses


@each_file
def test_no_file_is_long(path):
    assert len(path.read_text().splitlines()) <= 500


@each_file
def test_no_module_is_named_after_nothing(path):
    assert path.stem not in {"utils", "helpers", "common", "misc"}
    assert path.parent.name not in {"utils", "helpers", "common", "misc"}


@each_file
def test_every_public_thing_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{path} has no docstring"
    for name, node in public_definitions(tree.body):
        overrides = "." in name and any(
            name.split(".")[-1] in vars(base)
            for base in getattr(importlib.import_module(module_of(path)), name.split(".")[0]).__mro__[1:]
        )
        assert ast.get_docstring(node) or overrides, f"{name} has no docstring"


TESTS = Path(__file__).parent
TEST_FILES = sorted(path for path in TESTS.rglob("*.py") if "__pycache__" not in path.parts)


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_tests_share_code_through_packages_alone(path):
    """No test module imports another one, or anything from a folder of tests: only `support` and `mutants`."""
    folders = {each.name for each in TESTS.iterdir() if each.is_dir()}
    packages = {name for name in folders if (TESTS / name / "__init__.py").exists()}
    assert packages == {"support", "mutants"}
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            imported.add(node.module)
    # `import io` is Python's own: folders of tests are no packages.
    no_packages = (folders - packages - {"io"}) | {each.stem for each in TESTS.glob("*.py")}
    assert not {name.split(".")[0] for name in imported} & no_packages


MODULES = sorted(
    {"ipub"} | {info.name for info in pkgutil.walk_packages([str(PACKAGE)], "ipub.") if "__main__" not in info.name}
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_estimators_and_the_matrix_have_examples():
    finder = doctest.DocTestFinder(recurse=False)
    for thing in (ipub.BoundedClassifier, ipub.BoundedRegressor, ipub.IntervalMatrix, ipub.certify, ipub.penalty_path):
        assert any(test.examples for test in finder.find(thing))


BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocker())
import numpy as np
import ipub
X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]])
bounds = ipub.BoundedRegressor(alpha=1.0).fit(X, [1.0, 2.0, 3.0, 4.0]).predict_bounds([[1.0, 1.0]])
assert np.isfinite(bounds).all()
bounds = ipub.BoundedClassifier().fit(X, [0, 1, 0, 1]).predict_proba_bounds([[1.0, 1.0]])
assert np.isfinite(bounds).all()
assert not {blocked!r} & set(sys.modules)
"""


def run_python(code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("blocked", [{"matplotlib"}, {"pandas"}, {"polars"}, {"matplotlib", "pandas", "polars"}])
def test_the_package_fits_and_bounds_without_optional_packages(blocked):
    run_python(BLOCKER.format(blocked=blocked))


def test_importing_the_package_loads_neither_the_command_line_nor_plots():
    loaded = "import sys, ipub; assert not {'ipub.app.cli', 'ipub.plots', 'matplotlib', 'typer'} & set(sys.modules)"
    run_python(loaded)


@pytest.mark.parametrize("name", ["ipub.app.cli", "ipub.io.tables", "ipub.io.modelfile", "ipub.datasets", "ipub.plots"])
def test_what_shows_results_imports_without_matplotlib(name):
    run_python(BLOCKER.format(blocked={"matplotlib"}).split("import numpy")[0] + f"import {name}")


def test_all_names_of_the_package_exist():
    for name in ipub.__all__:
        assert hasattr(ipub, name)
    assert {"BoundedClassifier", "BoundedRegressor", "IntervalMatrix", "certify"} <= set(ipub.__all__)
