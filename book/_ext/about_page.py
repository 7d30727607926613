"""Each page's head says what it is about, and its foot which version it is and how to cite it."""

import re
import sys
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

BOOK = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BOOK), str(BOOK.parent)]  # Jupyter Book starts elsewhere

from _ext.edition import NAMES, edition_of  # noqa: E402

from publish.pages import editorial, terms  # noqa: E402


def first_paragraph(doctree: nodes.document) -> str:
    """The page's first paragraph of prose, as text."""
    for section in doctree.findall(nodes.section):
        for child in section.children:
            if isinstance(child, nodes.paragraph):
                return child.astext()
    return ""


def about(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    if doctree is None and page != "search":
        return
    edition = edition_of(app)
    editions = list(NAMES) if Path(app.outdir).name == edition else [edition]
    title = unescape(re.sub(r"<[^>]+>", "", context.get("title", "")))  # without the tags around its code
    description = editorial.shortened(first_paragraph(doctree)) if doctree else terms.ui()["search"][edition]
    about_page = editorial.About(edition, page, title, description)
    context["metatags"] = context.get("metatags", "") + "\n" + about_page.head(editions)
    context["cite"] = about_page.cite()
    context["version"], context["day"] = editorial.version(), editorial.day(edition, page)


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", about)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
