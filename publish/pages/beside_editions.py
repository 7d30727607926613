"""Write the files next to the editions: the page that links to them and, if published, sitemap.xml and 404.html."""

from html import escape
from pathlib import Path
from xml.etree import ElementTree

from publish import files
from publish.page import EDITIONS
from publish.pages import editorial, terms
from publish.pages.published import address
from publish.versions import SITEMAP, XHTML

UNLISTED = ("genindex", "search")  # made by Sphinx

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}<link rel="icon" href="en/_static/icon.svg">
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 1.1rem/1.6 system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif; margin: 20vh auto 0;
    max-width: 34rem; padding: 0 1.5rem; }}
  h1 {{ font-size: 1rem; font-weight: 400; opacity: .7; }}
  ul {{ list-style: none; padding: 0; }}
  li {{ margin: 1.2rem 0; }}
  a {{ display: block; text-decoration: none; color: inherit; border-left: .25rem solid #3b6ea5; padding-left: 1rem; }}
  a:hover, a:focus {{ border-color: currentColor; }}
  strong {{ display: block; font-size: 1.3rem; font-weight: 600; }}
</style>
<main>
<h1>{title}</h1>
<ul>
{links}
</ul>
</main>
<script>
  // The reader's own choice (the language switch stores it), else the languages of the browser.
  let edition = null;
  try {{ edition = localStorage.getItem("edition"); }} catch {{ }}
  if (!["en", "zh-Hans", "zh-Hant"].includes(edition)) {{
    const language = (navigator.languages || [navigator.language]).find((l) => /^(en|zh)\\b/i.test(l)) || "en";
    edition = !/^zh/i.test(language) ? "en" : /hant|-(tw|hk|mo)\\b/i.test(language) ? "zh-Hant" : "zh-Hans";
  }}
  location.replace(edition + "/index.html");
</script>
</html>
"""
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


def write_root_page(folder: Path) -> None:
    """Write index.html into `folder`, which has one folder per edition; it links only to editions that exist."""
    ui = terms.ui()
    links = "\n".join(
        f'<li><a lang="{edition}" href="{edition}/index.html"><strong>{ui["title"][edition]}</strong>'
        f"{ui['language'][edition]}</a></li>"
        for edition in ("en", "zh-Hans", "zh-Hant")
        if (folder / edition / "index.html").exists()
    )
    about = f'<meta name="description" content="{escape(ui["language"]["en"])}">\n'
    about += f'<link rel="canonical" href="{escape(base)}/index.html">\n' if (base := address()) else ""
    files.write(folder / "index.html", _PAGE.format(title=ui["title"]["en"], head=about, links=links))


def write_for_search_engines(folder: Path) -> None:
    """Write sitemap.xml and 404.html into `folder`, above the editions; neither if the book has no address."""
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
    """Return the sitemap: every page of every edition, with its other editions and the day on which it changed."""
    ElementTree.register_namespace("", SITEMAP)
    ElementTree.register_namespace("xhtml", XHTML)
    root = ElementTree.Element(f"{{{SITEMAP}}}urlset")
    editions = _editions(folder)
    pages = {e: {p.stem for p in (folder / e).glob("*.html")} - set(UNLISTED) for e in editions}
    for edition in editions:
        for page in sorted(pages[edition]):
            entry = ElementTree.SubElement(root, f"{{{SITEMAP}}}url")
            urls = {e: editorial.About(e, page, "", "").url for e in editions if page in pages[e]}
            ElementTree.SubElement(entry, f"{{{SITEMAP}}}loc").text = urls[edition]
            if day := editorial.day(edition, page):
                ElementTree.SubElement(entry, f"{{{SITEMAP}}}lastmod").text = day
            for other, url in editorial.alternates(urls).items():
                ElementTree.SubElement(entry, f"{{{XHTML}}}link", rel="alternate", hreflang=other, href=url)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def lost(folder: Path, base: str) -> str:
    """Return the page for unknown addresses; it may be served from any folder, so its links are absolute."""
    ui = terms.ui()
    lines = [
        f'<p lang="{e}">{escape(ui["lost"][e])} '
        f'<a href="{escape(base)}/{e}/index.html">{escape(ui["lost_back"][e])}</a></p>'
        for e in _editions(folder)
    ]
    return _LOST.format(title=ui["title"]["en"], lines="\n".join(lines))
