"""Search by section in place of Sphinx's by page: an index that publish/search makes, and search.html."""

from pathlib import Path

from sphinx.application import Sphinx

from publish.search import index  # edition.py, loaded before, has put the repository on the path


def replace_sphinx_search(app: Sphinx) -> None:
    """No searchindex.js, and no page of Sphinx's for it."""
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]  (of the HTML builders)


def own_page(app: Sphinx):
    """search.html: for links to it, for opening in a tab, and for browsers without JavaScript."""
    yield "search", {}, "search.html"


def write_index(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        index.write(Path(app.outdir), sorted(app.env.found_docs))


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", replace_sphinx_search)
    app.connect("html-collect-pages", own_page)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
