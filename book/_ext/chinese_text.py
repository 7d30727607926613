"""How Chinese is set: no italics, no space where a link runs on, quotations that open where they begin."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

_HAN = r"[\u3400-\u9fff]"
_OPENS, _CLOSES = re.compile(r"[\u3400-\u9fff《〈]"), re.compile(r"[\u3400-\u9fff》〉]$")
_QUOTED = re.compile(r"(?<=[，。：；！？、（])(?:”([\w.-]+)”|」([\w.-]+)」)")


def chinese(app: Sphinx) -> bool:
    """Whether the pages are: an edition is the name of the folder they lie in."""
    return Path(app.srcdir).name.startswith("zh-")


def plain_emphasis(app: Sphinx, doctree: nodes.document) -> None:
    """Chinese has no italics: emphasis is bold."""
    if chinese(app):
        for node in list(doctree.findall(nodes.emphasis)):
            node.replace_self(nodes.strong(node.rawsource, "", *node.children))


def close_up(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """No space where Chinese runs on into the Chinese of a link: in a page's source one stands beside each link."""
    if not chinese(app):
        return
    for link in list(doctree.findall(nodes.reference)):
        around, text = link.parent, link.astext()
        at = around.index(link)
        before, after = around[at - 1] if at else None, around[at + 1] if at + 1 < len(around) else None
        if isinstance(before, nodes.Text) and _OPENS.match(text) and re.search(f"{_HAN} $", before):
            around[at - 1] = nodes.Text(before[:-1])
        if isinstance(after, nodes.Text) and _CLOSES.search(text) and re.match(f" {_HAN}", after):
            around[at + 1] = nodes.Text(after[1:])


def opening_quotes(app: Sphinx, doctree: nodes.document) -> None:
    """Behind full-width punctuation Sphinx closes a quotation that begins there: ，"y" becomes ，“y” all the same."""
    for text in list(doctree.findall(nodes.Text)):
        if "”" in text or "」" in text:
            put = _QUOTED.sub(lambda m: f"“{m[1]}”" if m[1] else f"「{m[2]}」", text)
            if put != text:
                text.parent.replace(text, nodes.Text(put))


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", plain_emphasis)
    app.connect("doctree-read", opening_quotes)
    app.connect("doctree-resolved", close_up, priority=900)  # when links have their words
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
