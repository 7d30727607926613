"""What only a book that is published somewhere has: `sitemap.xml`, and `404.html`, both beside the editions."""

from html import escape
from pathlib import Path
from xml.etree import ElementTree

from publish import files
from publish.pages import editorial, terms
from publish.pages.notebooks import EDITIONS
from publish.pages.published import address
from publish.versions import SITEMAP, XHTML

UNLISTED = ("genindex", "search")  # made by Sphinx

_LOST = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>404 · {title}</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 1.1rem/1.6 system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif; margin: 20vh auto 0;
    max-width: 34rem; padding: 0 1.5rem; }}
  h1 {{ font-size: 1rem; font-weight: 400; opacity: .7; }}
  a {{ display: block; width: fit-content; color: inherit; padding: .25rem 0; }}
</style>
<main>
<h1>404 · {title}</h1>
{lines}
</main>
</html>
"""


def write(folder: Path) -> None:
    """Write both into `folder`, which holds one folder per edition; nothing where _config.yml has no address."""
    base = address()
    for name in ("sitemap.xml", "404.html"):
        if not base:
            (folder / name).unlink(missing_ok=True)
    if base:
        files.write(folder / "sitemap.xml", sitemap(folder))
        files.write(folder / "404.html", lost(folder, base))


def _editions(folder: Path) -> list[str]:
    return [edition for edition in EDITIONS if (folder / edition / "index.html").exists()]


def sitemap(folder: Path) -> str:
    """Every page of every edition, with its other editions and the day on which it changed."""
    ElementTree.register_namespace("", SITEMAP)
    ElementTree.register_namespace("xhtml", XHTML)
    root = ElementTree.Element(f"{{{SITEMAP}}}urlset")
    editions = _editions(folder)
    pages = {e: {p.stem for p in (folder / e).glob("*.html")} - set(UNLISTED) for e in editions}
    for edition in editions:
        for page in sorted(pages[edition]):
            entry = ElementTree.SubElement(root, f"{{{SITEMAP}}}url")
            there = {e: editorial.About(e, page, "", "").url for e in editions if page in pages[e]}
            ElementTree.SubElement(entry, f"{{{SITEMAP}}}loc").text = there[edition]
            if day := editorial.day(edition, page):
                ElementTree.SubElement(entry, f"{{{SITEMAP}}}lastmod").text = day
            for other, url in editorial.alternates(there).items():
                ElementTree.SubElement(entry, f"{{{XHTML}}}link", rel="alternate", hreflang=other, href=url)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def lost(folder: Path, base: str) -> str:
    """The page for an address that is none, from wherever it is asked for: its links are whole."""
    words = terms.ui()
    lines = [
        f'<p lang="{e}">{escape(words["lost"][e])} '
        f'<a href="{escape(base)}/{e}/index.html">{escape(words["lost_back"][e])}</a></p>'
        for e in _editions(folder)
    ]
    return _LOST.format(title=words["title"]["en"], lines="\n".join(lines))
