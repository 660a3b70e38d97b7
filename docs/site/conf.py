"""The documentation site: the guides in docs/, the gallery in examples/, and the API reference.

sphinx-build -c docs/site docs build/site (`make docs`). Nothing is downloaded.
"""

import re
import warnings
from pathlib import Path

import hidegl

ROOT = Path(__file__).parents[2]

project = "hidegl"
author = "the hidegl developers"
version = release = hidegl.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["site", "paper/trials"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = [str(ROOT / "docs" / "site" / "templates")]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "min_reported_time": 0,
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 300),
}
warnings.filterwarnings("ignore", category=UserWarning, module="hidegl")

html_theme = "pydata_sphinx_theme"
html_title = "hidegl"
html_favicon = "static/logo.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "api": []}
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "hidegl"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}
html_context = {"default_mode": "auto"}
copyright = "the hidegl developers, BSD-3-Clause"

PAPER_PAGES = """
```{toctree}
:hidden:

table2
table3
table4
table5
figure1
figure2
discussion
```
"""
"""The pages below that of the paper, which `hidegl paper all` makes."""

INCLUDED = re.compile(r"```\{include\} \.\./(\S+)\n```\n")
OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\((?:(?:\.\./)+[^)]*|trials|LICENSE)\)")
"""A link to a file of the repository that is no page."""


def linked_within_the_site(app, docname, source):
    """Include files of the repository with their links, and name files that are no page in place of linking to them."""
    text = INCLUDED.sub(lambda found: (ROOT / found[1]).read_text(), source[0])
    text = text.replace("](docs/", "](").replace("](CODE_OF_CONDUCT.md)", "](conduct.md)")
    source[0] = OUTSIDE.sub(r"\1", text) + (PAPER_PAGES if docname == "paper/README" else "")


def setup(app):
    app.connect("source-read", linked_within_the_site)
