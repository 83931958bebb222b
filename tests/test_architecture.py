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
from ipub.losses import LOSSES, ClippedLine

PACKAGE = Path(ipub.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))

LAYERS = [
    {"errors", "progress_bars"},
    {"numeric"},
    {"losses"},
    {"tables"},
    {"rows"},
    {"promises"},
    {"problem"},
    {"model_sets"},
    {"certificates"},
    {"training"},
    {"answers"},
    {"estimators"},
    {"datasets", "plots"},
    {"app"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def unit_of(module: str) -> str:
    """Return the layer's name for a module: ``ipub.rows.memory`` belongs to ``rows``."""
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
            assert LEVEL.get(imported, 0) <= LEVEL["estimators"], f"ipub imports {module} on every start"
        elif imported in LEVEL and imported != importer:
            same_level = LEVEL[imported] == LEVEL[importer]
            shows_results = LEVEL[importer] >= LEVEL["plots"]
            assert LEVEL[imported] < LEVEL[importer] or (same_level and shows_results), f"{importer} imports {module}"
        elif imported == "":
            # Names of the package itself (its version, its estimators) are for what shows results only.
            assert LEVEL[importer] >= LEVEL["plots"], f"{importer} imports {module}"


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES} - {PACKAGE}), ids=lambda path: path.name)
def test_modules_of_a_folder_do_not_import_each_other_in_circles(folder):
    inside = {module_of(path): path for path in FILES if path.parent == folder and path.name != "__init__.py"}
    graph = {name: imports_of(path) & set(inside) for name, path in inside.items()}
    while graph:
        free = [name for name, needs in graph.items() if not needs & set(graph)]
        assert free, f"a circle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


KERNELS = ("certificates", "model_sets", "losses", "promises", "problem")
"""Where kernels are: they are the same functions on every engine."""


@pytest.mark.parametrize(
    "path", [path for path in FILES if unit_of(module_of(path)) in KERNELS], ids=lambda path: module_of(path)
)
def test_kernels_know_no_array_library_but_numpy(path):
    names = {
        name.partition(".")[0] if not name.startswith("ipub") else name
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not names & {"torch", "cupy", "array_api_compat", "array_api_strict", "dask", "pyarrow"}
    assert not {name for name in names if name.startswith(("ipub.rows.device", "ipub.rows.array"))}


LOSS_CLASSES = {
    node.name
    for file in (PACKAGE / "losses").rglob("*.py")
    for node in ast.parse(file.read_text()).body
    if isinstance(node, ast.ClassDef)
}


def questions_about_the_loss(source: str) -> list[str]:
    """Return each test of a loss's class, or comparison with a loss's name, in a piece of code.

    Patterns of ``match`` and literal tables that are looked up at once (``{"hinge": ...}[loss]``) are such questions.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            asked = node.args[1:2] if node.func.id in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.match_case):
            asked = [node.pattern]
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
            asked = [key for key in node.value.keys if key is not None]
        if any(_names_a_loss(part) for each in asked for part in _own_parts(each)):
            found.append(ast.unparse(node))
    return found


def _own_parts(node: ast.AST) -> list[ast.AST]:
    """Return a node and its parts, without the keys of a registry (``LOSSES["hinge"]``) and arguments of calls."""
    if isinstance(node, ast.Call):
        return _own_parts(node.func)
    parts = [node.value] if isinstance(node, ast.Subscript) else list(ast.iter_child_nodes(node))
    return [node, *(part for child in parts for part in _own_parts(child))]


def _names_a_loss(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value in LOSSES
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
    return name in LOSS_CLASSES


@each_file
def test_no_module_asks_which_loss_it_has(path):
    if not path.is_relative_to(PACKAGE / "losses"):
        assert questions_about_the_loss(path.read_text()) == []


@pytest.mark.parametrize("kind", [type(loss) for loss in LOSSES.values() if not isinstance(loss, ClippedLine)])
def test_a_loss_that_is_no_clipped_line_is_a_file_of_its_own(kind):
    tree = ast.parse(Path(sys.modules[kind.__module__].__file__).read_text())
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == [kind.__name__]


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(loss, Hinge)",
        "isinstance(loss, (int, losses.Huber))",
        "issubclass(kind, ClippedLine)",
        "self.loss == Huber.name",
        "self.loss != losses.SmoothedHinge.name",
        "'hinge' == loss.name",
        "loss in ('hinge', 'log_loss')",
        "type(loss) is Logistic",
        "{'hinge': 1, 'huber': 2}[loss.name]",
        "match loss.name:\n    case 'hinge' | 'huber': pass",
        "match loss:\n    case Huber(delta=1.0): pass",
    ],
)
def test_a_question_about_the_loss_is_noticed(question):
    assert questions_about_the_loss(question)


@pytest.mark.parametrize(
    "code",
    [
        "loss == 'auto'",
        "loss not in LOSSES",
        "LOSSES['hinge'].task == 'classification'",
        "loss.is_smooth",
        "BoundedClassifier('hinge') is None",
        "isinstance(y, str)",
        "options = {'loss': 'log_loss'}",
    ],
)
def test_what_a_loss_declares_may_be_asked(code):
    assert not questions_about_the_loss(code)


NOT_OURS = {"sys._getframe", "estimator._validate_params"}
"""Private names of Python and of scikit-learn, used where there are no public ones."""


OF_NAMED_TUPLES = {"_asdict", "_replace", "_fields"}


@each_file
def test_no_module_uses_private_names_of_another(path):
    tree = ast.parse(path.read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and hasattr(node.target, "id")}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if ast.unparse(node.value) in ("self", "cls")}
    for node in attributes:
        if node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in OF_NAMED_TUPLES:
            assert node.attr in own or ast.unparse(node) in NOT_OURS, f"{ast.unparse(node)} is private"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("ipub"):
            private = [alias.name for alias in node.names if alias.name.startswith("_") and alias.name != "__version__"]
            assert not private, f"{private} of {node.module} is private"


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
    # `experiments` is the folder beside `tests`: folders of tests are no packages.
    no_packages = (folders - packages - {"experiments"}) | {each.stem for each in TESTS.glob("*.py")}
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
assert ipub.penalty_path(ipub.BoundedClassifier(verbose=1), X, [0, 1, 0, 1], X, alphas=2).bounds.shape == (2, 4, 2)
assert np.isfinite(ipub.BoundedRegressor(verbose=1).fit(X, [1.0, 2.0, 3.0, 4.0]).attained_bounds(X)).all()
assert not {blocked!r} & set(sys.modules)
"""


def run_python(code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("blocked", [{"matplotlib"}, {"pandas"}, {"polars"}, {"matplotlib", "pandas", "polars"}])
def test_the_package_fits_and_bounds_without_optional_packages(blocked):
    run_python(BLOCKER.format(blocked=blocked))


def test_importing_the_package_loads_nothing_else():
    run_python("import sys, ipub; assert not {'numpy', 'sklearn', 'ipub.errors'} & set(sys.modules)")


NOT_FOR_A_FIT = {
    "matplotlib",
    "typer",
    "dask",
    "sklearn.linear_model",
    "sklearn.neighbors",
    "ipub.app.cli",
    "ipub.answers.attained",
    "ipub.certificates.stored",
    "ipub.certificates.per_row.tilted_search",
    "ipub.tables.quantile_regression",
    "ipub.answers.flips",
    "ipub.training.imputing",
    "ipub.plots",
    "ipub.training.reading.long_table",
    "ipub.estimators.sklearn_models",
}


def test_fitting_a_model_loads_only_what_it_uses():
    run_python(
        "import sys\nfrom ipub import BoundedClassifier\n"
        "BoundedClassifier().fit([[0.0], [1.0], [float('nan')], [3.0]], [0, 1, 0, 1]).predict_proba_bounds([[1.0]])\n"
        f"assert not {NOT_FOR_A_FIT!r} & set(sys.modules), {NOT_FOR_A_FIT!r} & set(sys.modules)"
    )


def test_checkers_of_types_see_the_names_that_are_imported_when_they_are_asked_for():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("ipub.")
        for alias in node.names
    }
    assert {*seen, "__version__"} == set(ipub.__all__) <= set(dir(ipub))
    for name, module in seen.items():
        assert getattr(ipub, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ipub.nothing  # noqa: B018


@pytest.mark.parametrize(
    "name", ["ipub.app.cli", "ipub.app.files.tables", "ipub.app.files.modelfile", "ipub.datasets", "ipub.plots"]
)
def test_what_shows_results_imports_without_matplotlib(name):
    run_python(BLOCKER.format(blocked={"matplotlib"}).split("import numpy")[0] + f"import {name}")


def test_all_names_of_the_package_exist():
    for name in ipub.__all__:
        assert hasattr(ipub, name)
    assert {"BoundedClassifier", "BoundedRegressor", "IntervalMatrix", "certify"} <= set(ipub.__all__)
