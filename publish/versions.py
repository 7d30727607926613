"""python3 -m publish.versions FOLDER: make one site of the versions of the book in FOLDER/stable and FOLDER/dev.

Each version was built to work with or without the other: a link marked data-if-there stays if its target exists; if
not, it gets the address in data-else or is removed. A page of dev names the same page of the released book, if there is
one, as the address for search engines. Next to the folders are the sitemap, the page for unknown addresses, and one
that leads to the released book. Only the standard library is used: this runs where the site is put online, without the
book's environment.
"""

import os
import re
import sys
from html import escape, unescape
from pathlib import Path
from xml.etree import ElementTree

VERSIONS = ("stable", "dev")  # the first of them that exists represents the book
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML = "http://www.w3.org/1999/xhtml"
_MARKED = re.compile(r"\s*<(a|meta)\b([^>]*?) data-if-there\b([^>]*)>(?:(?<=>)([^<]*)</a>)?")
_ATTRIBUTE = re.compile(r' (href|content|data-else)="([^"]*)"')
_OWN = re.compile(r'(<(?:link rel="(?:canonical|alternate)"|meta property="og:url")[^>]*"https?://[^"]*)/dev/([^"]*)"')
_ROOT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<link rel="canonical" href="{address}">
<meta http-equiv="refresh" content="0; url={version}/index.html">
<p><a href="{version}/index.html">{title}</a></p>
</html>
"""


def join(folder: Path) -> list[str]:
    """Make the site of the versions in `folder`, and return these. Raises ValueError if there is none."""
    present = [version for version in VERSIONS if (folder / version / "index.html").is_file()]
    if not present:
        raise ValueError(f"there is neither {' nor '.join(f'{folder}/{v}/index.html' for v in VERSIONS)}")
    for version in present:
        for page in sorted((folder / version).rglob("*.html")):
            text = page.read_text("utf-8")
            made = settled(text, page, folder)
            if version == "dev":
                made = _OWN.sub(lambda m: _released(m, folder), made)
            if made != text:
                page.write_text(made, "utf-8")
    first = folder / present[0]
    _write_sitemap(folder, present)
    if (lost := first / "404.html").is_file():
        (folder / "404.html").write_bytes(lost.read_bytes())
    for version in present:
        for name in ("404.html", "sitemap.xml"):
            (folder / version / name).unlink(missing_ok=True)
    front = (first / "index.html").read_text("utf-8")
    title, address = (re.search(p, front) for p in (r"<title>([^<]*)", r'<link rel="canonical" href="([^"]*)'))
    values = {"title": title[1] if title else "", "address": address[1] if address else f"{present[0]}/index.html"}
    (folder / "index.html").write_text(_ROOT.format(version=present[0], **values), "utf-8")
    (folder / ".nojekyll").touch()  # or GitHub leaves out folders such as _static
    return present


def settled(text: str, page: Path, folder: Path) -> str:
    """Return a page in which each link marked data-if-there has been kept, changed or removed."""

    def decide(mark: re.Match) -> str:
        tag, inner = mark[1], mark[4]
        attributes = mark[2] + mark[3]
        given = dict(_ATTRIBUTE.findall(attributes))
        name = "href" if tag == "a" else "content"
        for target in (given.get(name), given.get("data-else")):
            if target and _is_there(unescape(target), page, folder):
                kept = _ATTRIBUTE.sub(lambda m, to=target: f' {name}="{to}"' if m[1] == name else "", attributes)
                lead = mark[0][: len(mark[0]) - len(mark[0].lstrip())]
                return f"{lead}<{tag}{kept}>" + (f"{inner}</a>" if tag == "a" else "")
        return ""

    return _MARKED.sub(decide, text)


def _is_there(target: str, page: Path, folder: Path) -> bool:
    """Return whether a link leads to a file of the site; in an address with a host, the part after the version."""
    if "://" in target:
        version = page.relative_to(folder).parts[0]
        return (folder / version / target.rpartition(f"/{version}/")[2]).is_file()
    path = Path(os.path.normpath(page.parent / target))
    return path.is_relative_to(folder) and path.is_file()


def _released(link: re.Match, folder: Path) -> str:
    """Return the address of a dev page: the released page's if there is one, since both say nearly the same."""
    released = (folder / "stable" / unescape(link[2])).is_file()
    return f'{link[1]}/{"stable" if released else "dev"}/{link[2]}"'


def _write_sitemap(folder: Path, present: list[str]) -> None:
    """Merge the sitemaps of all versions; of a page that both have, list the released one."""
    ElementTree.register_namespace("", SITEMAP)
    ElementTree.register_namespace("xhtml", XHTML)
    root, known = ElementTree.Element(f"{{{SITEMAP}}}urlset"), set[str]()
    for version in present:
        path = folder / version / "sitemap.xml"
        for entry in ElementTree.parse(path).getroot() if path.is_file() else ():
            name = (entry.findtext(f"{{{SITEMAP}}}loc") or "").rpartition(f"/{version}/")[2]
            if name not in known:
                known.add(name)
                root.append(entry)
    ElementTree.indent(root)
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
    (folder / "sitemap.xml").write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(f"{escape(arguments[0])}: {' and '.join(join(Path(arguments[0]).resolve()))}")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
