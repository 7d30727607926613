"""Write the site as one zip that opens from disk: pages, notebooks and the package; all links stay inside it."""

import io
import re
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import unquote

from publish import files
from publish.page import EDITIONS
from publish.pages import beside_editions
from publish.print.whole import filename

_LINKS = re.compile(r"""<[a-z]+\b[^>]*?\s(?:href|src)=["']([^"']*)["']""")
_SCRIPTS = re.compile(r"<script\b[^>]*>.*?</script>", re.S)


def write(build: Path, editions: list[str]) -> Path:
    """Write `BUILD/one-program-many-devices-VERSION-site.zip`, whose name lists the editions unless it has all.

    Raises RuntimeError for a link that leads nowhere once the zip is on a different disk.
    """
    content = gathered(build / "html", editions)
    for line in dangling(content):
        raise RuntimeError(line)
    path = build / filename("site" if editions == list(EDITIONS) else "-".join(["site", *editions]), "zip")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as whole:
        for name in sorted(content):
            whole.writestr(zipfile.ZipInfo(f"{path.stem}/{name}"), content[name], zipfile.ZIP_DEFLATED)
    files.write_bytes(path, buffer.getvalue())
    return path


def gathered(html: Path, editions: list[str]) -> dict[str, bytes]:
    """Map each path in the site to its content. Links of the language switch lead only to editions that exist."""
    paths = [p for p in html.iterdir() if p.is_file()]
    paths += [p for edition in editions for p in (html / edition).rglob("*") if p.is_file()]
    paths = [p for p in paths if not any(part.startswith(".") for part in p.relative_to(html).parts)]
    content = {p.relative_to(html).as_posix(): p.read_bytes() for p in paths}
    if absent := "|".join(e for e in EDITIONS if e not in editions):
        switch = re.compile(
            rf'\s*<a\b[^>]*data-edition="(?:{absent})"[^>]*>.*?</a>|\s*<link\b[^>]*/(?:{absent})/[^>]*>', re.S
        )
        for name in [n for n in content if n.endswith(".html")]:
            content[name] = switch.sub("", content[name].decode()).encode()
    with tempfile.TemporaryDirectory(
        prefix="site-"
    ) as scratch:  # the page that links to the editions, with these alone
        for edition in editions:
            files.write(Path(scratch, edition, "index.html"), "")
        beside_editions.write_root_page(Path(scratch))
        page = Path(scratch, "index.html").read_text("utf-8")
    content["index.html"] = page.replace('"en/_static/', f'"{editions[0]}/_static/').encode()
    return content


def dangling(content: dict[str, bytes]) -> list[str]:
    """Return a sentence for each link in a page to a file that is not in `content`, or to a place on this disk."""
    lines, names = [], set(content)
    for page in sorted(n for n in names if n.endswith(".html")):
        for link in sorted(set(_LINKS.findall(_SCRIPTS.sub(_only_tag, content[page].decode())))):
            target = unquote(re.split("[?#]", link)[0])
            if re.match(r"(?:https?|mailto|data|javascript):", link) or not target:
                continue
            if target.startswith(("/", "file:")) or _joined(page, target) not in names:
                lines.append(f"{page} links to {link}, which is not in the zip")
    return lines


def _only_tag(script: re.Match) -> str:
    return script[0].partition(">")[0] + ">"


def _joined(page: str, target: str) -> str:
    parts = page.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            parts = parts[:-1] if parts else ["…"]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
