"""How Sphinx makes the site: ``make docs``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ipub
from ipub.datasets import load_mammographic_masses

DOCS = Path(__file__).parent

project = "ipub"
author = "the authors of ipub"
version = release = ipub.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery", "results/cells"]
templates_path = ["_templates"]
nitpicky = True
suppress_warnings = ["config.cache"]  # the configuration holds functions, of which Sphinx keeps no copy
default_role = "literal"  # docstrings write names in single backticks
highlight_language = "none"

myst_enable_extensions = ["colon_fence", "dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections say the types, with shapes
numpydoc_show_class_members = False  # the template of classes documents every method in full
numpydoc_validation_checks = set()

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "True",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 5,
    "capture_repr": ("_repr_html_",),  # what an example wants to show as text it prints
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "doc_module": ("ipub",),
    "backreferences_dir": "api/backreferences",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "seaborn"),
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "ipub"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "ipub"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "changelog": [], "results": [], "benchmarks": [], "performance": []}
html_context = {"default_mode": "auto"}


def skip_what_scikit_learn_documents(_app: Any, _kind: str, _name: str, member: Any, skip: bool, _options: Any) -> bool:
    """Leave inherited methods of scikit-learn's to scikit-learn."""
    return skip or (getattr(member, "__module__", None) or "").startswith("sklearn")


def link_within_the_site(_app: Any, name: str, source: list[str]) -> None:
    """Let links to files of the repository's root lead to their pages here."""
    up = "../" * name.count("/")
    for file, page in {"CONTRIBUTING": "development/contributing", "CHANGELOG": "changelog"}.items():
        source[0] = re.sub(rf"\]\((\.\./)+{file}\.md", f"]({up}{page}.md", source[0])


def write_sample_report(app: Any, error: Exception | None) -> None:
    """Write the report that the first page shows, made of the built-in table by the code that the site documents."""
    if error is not None or app.builder.format != "html":
        return
    X, y = load_mammographic_masses(as_frame=True)
    clf = ipub.BoundedClassifier(alpha=0.1, scale="standard").fit(X.slice(0, 761), y[:761])
    title = "Is this mass malignant? What missing values can do to 60 predictions"
    clf.report(X.slice(761, 60), y[761:821], title=title).save(Path(app.outdir) / "sample-report.html")


def setup(app: Any) -> None:
    """Register what is above."""
    app.connect("build-finished", write_sample_report)
    app.connect("autodoc-skip-member", skip_what_scikit_learn_documents)
    app.connect("source-read", link_within_the_site)
