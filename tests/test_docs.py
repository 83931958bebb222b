"""What the README says is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ipub import BoundedClassifier

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_of_the_readme_runs_and_shows_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a picture
    first, frames, pipeline, penalties, second, third = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    *statements, proba_bounds, label_set = first.strip().splitlines()
    scope: dict[str, object] = {}
    exec("\n".join(statements), scope)
    (low, high) = eval(proba_bounds, scope)[0]
    assert 0.5 < low < high < 1.0
    assert np.array_equal(eval(label_set, scope), [[False, True]])
    *statements, bounds_of_frames = frames.strip().splitlines()
    exec("\n".join(statements), scope)
    bounds = eval(bounds_of_frames, scope)
    assert bounds.index.tolist() == ["Ann", "Bob"]
    assert (bounds["lower"] < bounds["upper"]).all()
    *statements, bounds_of_pipeline = pipeline.strip().splitlines()
    exec("\n".join(statements), scope)
    low, high = np.asarray(eval(bounds_of_pipeline, scope)).T
    assert (low < high).all()
    exec(penalties, scope)
    alpha, share = re.search(r"alpha ([\d.]+): at least (\d+) %", penalties).groups()
    assert f"{scope['chosen'].alpha:.1g}" == alpha
    assert int(100 * scope["path"].guaranteed_score.max()) == int(share)
    assert (tmp_path / "path.png").exists()
    row, certified, attained, table = second.strip().splitlines()
    exec("\n".join([row, attained]), scope)
    for bounds, line in ((eval(certified, scope), certified), (scope["attained"], attained)):
        said = [float(number) for number in re.search(r"\[([\d.]+), ([\d.]+)\]", line.split("#")[1]).groups()]
        np.testing.assert_allclose(bounds[0], said, atol=0.006)
    again = BoundedClassifier(alpha=0.1).fit(eval(table, scope), scope["y"][:900])
    np.testing.assert_allclose(again.decision_function(scope["row"]), scope["attained"][0, 1], atol=1e-6)
    *statements, label_set = third.strip().splitlines()
    exec("\n".join(statements), scope)
    assert np.array_equal(eval(label_set, scope), [[False, True]])


def test_every_path_the_readme_names_exists():
    named = set(re.findall(r"\]\(([\w./-]+)\)", README))
    assert "docs/theory.md" in named
    tree = re.search(r"```\n(src/ipub/.*?)```", README, flags=re.DOTALL)
    assert tree is not None
    for line in tree.group(1).splitlines()[1:]:
        inside = line.startswith("  ")
        for word in re.split(r"\s{2,}", line.strip())[: None if inside else 1]:
            if re.fullmatch(r"[\w/]+(\.py|/)", word):
                named.add(f"src/ipub/{word}" if inside else word)
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing


def test_every_file_that_theory_cites_exists():
    cited = re.findall(r"`([\w/]+(?:\.py|/))`", (ROOT / "docs" / "theory.md").read_text(encoding="utf-8"))
    assert cited
    assert not [path for path in cited if not list((ROOT / "src" / "ipub").rglob(path.rstrip("/").split("/")[-1]))]
