"""Settings of Sphinx for the site. `tools.documentation.site` calls it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from docutils import nodes

from deniable_shared import __version__
from tools.documentation.page_texts import SCRIPT

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REWORDED: Final = {" -- ": ": ", "Variables": "Attributes"}
"""What Sphinx says in descriptions of classes and functions, and what is said instead."""


project = "Deniable"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
default_role = "code"  # docstrings write code in single backticks, as Markdown does
smartquotes = False  # options begin with two hyphens
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_heading_anchors = 6  # as code hosts give them
suppress_warnings = ["misc.highlighting_failure"]  # of code in a language without colours

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes stand in their class, and are not described a second time

html_theme = "furo"
html_title = "Deniable"
html_static_path = ["static"]
html_css_files = ["deniable.css"]
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False

# The colours of the aggregator's pages.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5a9c",
        "color-brand-content": "#0b5a9c",
        "color-brand-visited": "#0b5a9c",
        "color-foreground-primary": "#1b1f24",
        "color-foreground-secondary": "#57606a",
        "color-foreground-muted": "#57606a",
        "color-background-primary": "#ffffff",
        "color-background-secondary": "#f5f7f9",
        "color-background-border": "#dfe3e8",
        "color-code-background": "#f5f7f9",
        "color-code-foreground": "#1b1f24",
        "color-api-name": "#0b5a9c",
        "color-api-pre-name": "#57606a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8cc4f2",
        "color-brand-content": "#8cc4f2",
        "color-brand-visited": "#8cc4f2",
        "color-foreground-primary": "#e6edf3",
        "color-foreground-secondary": "#9da7b3",
        "color-foreground-muted": "#9da7b3",
        "color-background-primary": "#14181d",
        "color-background-secondary": "#1d232a",
        "color-background-border": "#333b45",
        "color-code-background": "#1d232a",
        "color-code-foreground": "#e6edf3",
        "color-api-name": "#8cc4f2",
        "color-api-pre-name": "#9da7b3",
    },
}


def reword(_: Sphinx, document: nodes.document) -> None:
    """Names and their meanings are divided by a colon; attributes are called so."""
    for text in list(document.findall(nodes.Text)):
        if text.astext() in REWORDED:
            text.parent.replace(text, nodes.Text(REWORDED[text.astext()]))


def let_the_search_read_pages(app: Sphinx, page: str, *_: object) -> None:
    """The page of results has a script with the texts of all pages."""
    if page == "search":
        app.add_js_file(SCRIPT)


def leave_out_fields(*about: object) -> bool | None:
    """Fields of a named tuple stand in its own description, and are not described again."""
    described = about[3]
    return True if str(described.__doc__).startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    """Connects what is said here to Sphinx."""
    app.connect("autodoc-skip-member", leave_out_fields)
    app.connect("html-page-context", let_the_search_read_pages)
    app.connect("doctree-read", reword)
