"""The shape of the package: imports go one way, files stay small, the core needs no extras."""

import ast
import doctest
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ipub
from ipub.losses import LOSSES

PACKAGE = Path(ipub.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def trees() -> dict[Path, ast.Module]:
    """Return all files of the package, parsed."""
    return {path: ast.parse(path.read_text()) for path in FILES}


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
    {"datasets", "plots", "verification"},
    {"app", "reports"},
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
    for node in ast.walk(trees()[path]):
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


def test_every_module_has_a_place_in_the_layers():
    assert {unit_of(module_of(path)) for path in FILES} <= {"", *LEVEL}


def may_import(importer: str, imported: str) -> bool:
    """Whether a module of a layer may import one of another; the package itself has the name ""."""
    if importer == "":  # it imports a name when it is asked for
        return True
    if imported in LEVEL and imported != importer:
        shows_results = LEVEL[importer] >= LEVEL["plots"]
        return LEVEL[imported] < LEVEL[importer] or (LEVEL[imported] == LEVEL[importer] and shows_results)
    # Names of the package itself are for what shows results, and for methods that call one (`save`).
    return imported != "" or LEVEL[importer] >= LEVEL["estimators"]


def test_imports_go_one_way():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path in FILES
        for module in sorted(imports_of(path))
        if not may_import(unit_of(module_of(path)), unit_of(module))
    ]
    assert wrong == []


def test_modules_do_not_import_each_other_in_circles():
    """Neither in one folder nor through a folder and one inside it; what a package imports for its users is apart."""
    inside = {module_of(path): path for path in FILES if path.name != "__init__.py"}
    graph = {name: imports_of(path) & set(inside) for name, path in inside.items()}
    while graph:
        free = [name for name, needs in graph.items() if not needs & set(graph)]
        assert free, f"a circle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


CERTIFICATES = [
    {"scores", "intercept", "uncertain_rows"},
    {"wrong_labels", "origin"},
    {"ball"},
    {"sphere", "slopes", "row_sums"},
    {"hints", "recipe"},
    {"tight"},
    {"per_row"},
    {"stored"},
]
"""Modules and folders of `certificates`: each imports only from those before."""


def test_certificates_import_only_from_those_before():
    folder, level = PACKAGE / "certificates", {name: k for k, names in enumerate(CERTIFICATES) for name in names}
    for path in sorted(folder.rglob("*.py")):
        unit = path.relative_to(folder).parts[0].removesuffix(".py")
        imported = {name.split(".")[2] for name in imports_of(path) if name.startswith("ipub.certificates.")} - {unit}
        if unit != "__init__":
            assert {name for name in imported if level[name] >= level[unit]} == set(), path


def test_no_module_has_the_name_of_what_it_defines():
    """But commands: `ipub fit` is the function `fit` of the file `commands/fit.py`."""
    for path, tree in trees().items():
        if path.parent.name == "commands":
            continue
        defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert path.stem not in defined, path


KERNELS = ("certificates", "model_sets", "losses", "promises", "problem")
"""Where kernels are: they are the same functions on every engine."""


def test_kernels_know_no_array_library_but_numpy():
    for path in FILES:
        if unit_of(module_of(path)) not in KERNELS:
            continue
        names = {
            name.partition(".")[0] if not name.startswith("ipub") else name
            for node in ast.walk(trees()[path])
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert not names & {"torch", "cupy", "array_api_compat", "array_api_strict", "dask", "pyarrow"}, path
        assert not {name for name in names if name.startswith(("ipub.rows.device", "ipub.rows.array"))}, path


LOSS_CLASSES = {
    node.name
    for path in (PACKAGE / "losses").rglob("*.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.ClassDef)
}


def questions_about_the_loss(tree: ast.AST) -> list[str]:
    """Return each test of a loss's class, or comparison with a loss's name, in a piece of code.

    Patterns of ``match`` and literal tables that are looked up at once (``{"hinge": ...}[loss]``) are such questions.
    """
    found = []
    for node in ast.walk(tree):
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


def test_no_module_asks_which_loss_it_has():
    asked = {
        path: questions_about_the_loss(tree)
        for path, tree in trees().items()
        if not path.is_relative_to(PACKAGE / "losses")
    }
    assert {path: questions for path, questions in asked.items() if questions} == {}


@pytest.mark.parametrize("kind", [type(loss) for loss in LOSSES.values()])
def test_a_loss_is_a_file_of_its_own(kind):
    tree = trees()[Path(sys.modules[kind.__module__].__file__)]
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
    assert questions_about_the_loss(ast.parse(question))


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
    assert not questions_about_the_loss(ast.parse(code))


NOT_OURS = {"os._exit", "sys._getframe", "estimator._validate_params"}
"""Private names of Python and of scikit-learn, used where there are no public ones."""


OF_NAMED_TUPLES = {"_asdict", "_replace", "_fields"}


def private_names_of_others(tree: ast.AST) -> list[str]:
    """Return what a module uses that is private to another one."""
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")}
    private = [
        ast.unparse(node)
        for node in attributes
        if node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in OF_NAMED_TUPLES | own
    ]
    imported = [
        f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ipub")
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "__version__"
    ]
    return [name for name in private if name not in NOT_OURS] + imported


def test_no_module_uses_private_names_of_another():
    used = {path: private_names_of_others(tree) for path, tree in trees().items()}
    assert {path: names for path, names in used.items() if names} == {}


@pytest.mark.parametrize(
    "code", ["import numpy\nnumpy._core", "self.model._weights()", "from ipub.rows.block import _sum", "x = y._z"]
)
def test_a_private_name_of_another_module_is_noticed(code):
    assert private_names_of_others(ast.parse(code))


def test_no_file_is_long():
    assert [path for path in FILES if len(path.read_text().splitlines()) > 500] == []


def test_no_module_is_named_after_nothing():
    names = {"utils", "helpers", "common", "misc"}
    assert [path for path in FILES if {path.stem, path.parent.name} & names] == []


def test_every_public_thing_has_a_docstring():
    for path, tree in trees().items():
        assert ast.get_docstring(tree), f"{path} has no docstring"
        for name, node in public_definitions(tree.body):
            overrides = "." in name and any(
                name.split(".")[-1] in vars(base)
                for base in getattr(importlib.import_module(module_of(path)), name.split(".")[0]).__mro__[1:]
            )
            assert ast.get_docstring(node) or overrides, f"{name} of {path} has no docstring"


TESTS = Path(__file__).parent
TEST_FILES = sorted(path for path in TESTS.rglob("*.py") if "__pycache__" not in path.parts)


def test_tests_share_code_through_packages_alone():
    """No test module imports another one, or anything from a folder of tests: only `support`, `mutants`, `packages`."""
    folders = {each.name for each in TESTS.iterdir() if each.is_dir()} - {"__pycache__"}
    packages = {name for name in folders if (TESTS / name / "__init__.py").exists()}
    assert packages == {"support", "mutants", "packages"}
    # `experiments` is the folder beside `tests`: folders of tests are no packages.
    no_packages = (folders - packages - {"experiments"}) | {each.stem for each in TESTS.glob("*.py")}
    for path in TEST_FILES:
        imported = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"a relative import in {path}"
                imported.add(node.module)
        assert not {name.split(".")[0] for name in imported} & no_packages, path


def test_the_examples_in_docstrings_run():
    """What fails is printed."""
    modules = [importlib.import_module(module_of(path)) for path in FILES if ">>>" in path.read_text()]
    assert len(modules) > 10
    done = {module.__name__: doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE) for module in modules}
    assert {name for name, results in done.items() if results.failed} == set()
    assert all(results.attempted for results in done.values())


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


@pytest.mark.parametrize("blocked", [{"pandas"}, {"polars"}, {"matplotlib", "pandas", "polars"}])
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


def test_what_shows_results_imports_without_matplotlib():
    names = "ipub.app.cli, ipub.app.files.tables, ipub.app.files.modelfile, ipub.datasets, ipub.plots"
    run_python(BLOCKER.format(blocked={"matplotlib"}).split("import numpy")[0] + f"import {names}")


def test_all_names_of_the_package_exist():
    for name in ipub.__all__:
        assert hasattr(ipub, name)
    assert {"BoundedClassifier", "BoundedRegressor", "IntervalMatrix", "certify"} <= set(ipub.__all__)
