"""Script and style of the players, on the pages that have one (minipod/pictures/player.py)."""

from docutils import nodes
from sphinx.application import Sphinx

MARK = '<div class="player"'


def load(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Both, where a cell of the page shows frames."""
    if MARK in context.get("body", ""):
        app.add_css_file("player.css")
        app.add_js_file("player.js", loading_method="defer")


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
