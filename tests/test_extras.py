"""What works without the extras: the estimators, model files and the built-in table; and what the program then says."""

import subprocess
import sys

import pytest

OF_THE_COMMAND_LINE = {"typer", "rich", "pyarrow"}
OPTIONAL = {"matplotlib", "pandas", "polars", "dask", "distributed"} | OF_THE_COMMAND_LINE

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run_without(blocked, code):
    """Run code in an interpreter in which some packages are not installed."""
    program = BLOCKER.format(blocked=blocked) + code
    return subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)


def test_models_are_saved_and_data_loaded_without_any_extra(tmp_path):
    path = str(tmp_path / "model.ipub")
    done = run_without(
        OPTIONAL,
        f"""
from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses
from ipub.app.files.modelfile import load, save
X, y = (each[:200] for each in load_mammographic_masses())
clf = BoundedClassifier(scale="standard").fit(X, y)
save(clf, {path!r})
assert (load({path!r}).predict(X) == clf.predict(X)).all()
assert not {OPTIONAL!r} & set(sys.modules)
""",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", sorted(OF_THE_COMMAND_LINE))
def test_the_program_without_its_packages_names_the_extra_in_one_sentence(missing):
    done = run_without({missing}, "from ipub.app.__main__ import main\nmain()")
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert missing in sentence
    assert 'pip install "ipub[cli]"' in sentence


def test_files_without_pyarrow_name_the_extra():
    code = "from ipub import BoundedClassifier\nBoundedClassifier().fit('a.parquet', 'y')"
    done = run_without({"pyarrow"}, code)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        'ImportError: Parquet files are read with pyarrow: pip install "ipub['
    )


def test_a_fault_of_the_program_itself_is_not_taken_for_a_missing_extra():
    done = run_without({"sklearn"}, "from ipub.app.__main__ import main\nsys.argv[1:] = ['demo']\nmain()")
    assert done.returncode == 2
    assert "ipub[cli]" not in done.stderr
    assert "sklearn" in done.stderr


def test_the_folder_of_the_program_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "ipub.app", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("ipub ")


def test_reports_without_jinja2_are_json_and_name_the_extra():
    done = run_without(
        {"jinja2", "markupsafe", "matplotlib"} | OF_THE_COMMAND_LINE,
        """
from ipub import BoundedClassifier
X = [[0.0, 1.0], [1.0, None], [2.0, 1.5], [3.0, 0.5]]
report = BoundedClassifier().fit(X, [0, 1, 0, 1]).report(X)
assert report.json().startswith("{")
assert report._repr_html_() is None
report.html()
""",
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == 'ImportError: Reports are rendered with jinja2: pip install "ipub[report]".'
