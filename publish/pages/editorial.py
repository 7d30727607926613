"""Write a page's metadata: version, the day its source changed, how to cite it, and words for search engines."""

import functools
import subprocess
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

from publish.page import EDITIONS, ROOT
from publish.pages import terms
from publish.pages.published import address

LONGEST = 200  # characters of a description
LOCALES = {"en": "en_US", "zh-Hans": "zh_CN", "zh-Hant": "zh_TW"}


@functools.cache
def version() -> str:
    """Return the version in pyproject.toml; empty for pages without a project."""
    project = ROOT / "pyproject.toml"
    return tomllib.loads(project.read_text("utf-8"))["project"]["version"] if project.exists() else ""


@functools.cache
def days(root: Path = ROOT) -> dict[str, str]:
    """Map each file of the book → the day of the last commit that changed it, 2026-11-23; empty without a history."""
    command = ["git", "log", "--format=//%cs", "--name-only", "--", "book/en", "book/zh-Hans"]
    try:
        log = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or a copy without its history
        return {}
    last: dict[str, str] = {}
    day = ""
    for line in log.splitlines():
        if line.startswith("//"):
            day = line[2:]
        elif line:
            last.setdefault(line, day)
    return last


def day(edition: str, page: str) -> str:
    """Return when a page's source last changed; empty if unknown."""
    return days().get(f"book/{EDITIONS.get(edition, edition)}/{page}.md", "")


@dataclass(frozen=True)
class About:
    """Facts about a page for its head and foot. title: of the page, as text. description: its first paragraph."""

    edition: str
    page: str
    title: str
    description: str

    @property
    def url(self) -> str:
        """Return the address at which the page is published; empty if _config.yml has none."""
        return f"{base}/{self.edition}/{self.page}.html" if (base := address()) else ""

    def cite(self) -> str:
        """Return a reference to the page, as text."""
        ui = terms.ui_in(self.edition)
        reference = ui["cite_page" if self.page != "index" else "cite_book"].format(
            title=self.title, book=ui["title"], version=version()
        )
        parts = [reference, day(self.edition, self.page), self.url]
        return ui["cite_comma"].join(part for part in parts if part) + ui["cite_stop"]

    def card(self, page: str = "") -> str:
        """Return the address of the picture for a shared link to a page."""
        return f"{address()}/{self.edition}/cards/{page or self.page}.png"

    def head(self, editions: list[str]) -> str:
        """Return the tags of the head. editions: those that have the page."""
        short = self.description
        tags = [("name", "description", short)] if short else []
        tags += [("property", "og:title", self.title), ("property", "og:type", "article")]
        tags += [("property", "og:description", short)] if short else []
        tags += [("property", "og:site_name", terms.ui()["title"][self.edition])]
        tags += [("property", "og:locale", LOCALES[self.edition])]
        lines = []
        if self.url:
            tags += [("property", "og:url", self.url)]
            urls = {edition: About(edition, self.page, "", "").url for edition in editions}
            lines = [f'<link rel="alternate" hreflang="{e}" href="{escape(u)}">' for e, u in alternates(urls).items()]
            # publish/versions.py replaces or removes a card that is not there
            card = f'content="{escape(self.card())}" data-else="{escape(self.card("index"))}" data-if-there'
            lines += [f'<meta property="og:image" {card}>', '<meta name="twitter:card" content="summary_large_image">']
        lines += [f'<meta {kind}="{name}" content="{escape(text)}">' for kind, name, text in tags]
        return "\n".join(lines)


def alternates(urls: dict[str, str]) -> dict[str, str]:
    """Map each language → the address of a page in these editions; other languages get that in the first edition."""
    return urls | {"x-default": next(iter(urls.values()))} if urls else {}


def shortened(text: str) -> str:
    """Return as many whole sentences of a paragraph as fit into a description, at least the first, cut if necessary."""
    text = " ".join(text.split())
    ends = [i + 1 for i, c in enumerate(text) if c in "。？！" or (c in ".?!" and text[i + 1 : i + 2] in ("", " "))]
    fits = [end for end in ends if end <= LONGEST]
    if fits:
        return text[: fits[-1]]
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
