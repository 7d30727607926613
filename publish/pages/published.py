"""Where the book is published, and links to its source and to services that run its notebooks.

The environment says where, as .github/workflows/book.yml does, else _config.yml. Without a repository there are no
links. Colab and Binder open notebooks from the branch that has the built pages, beside which the package lies.

BOOK_SITE        the address of the whole site, https://someone.github.io/book
BOOK_VERSION     which of its versions this is: stable, the released one, or dev, the one on main; each has a folder
BOOK_REPOSITORY  the address of the source
"""

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from publish import files, package
from publish.page import EDITIONS, ROOT
from publish.versions import VERSIONS

_GITHUB = "github.com"
BRANCH = "site-{}"  # of the repository: what was built of a version, from which Colab and Binder take it


def version() -> str:
    """stable, dev, or empty where the book is not one of several versions. ValueError for another word."""
    said = os.environ.get("BOOK_VERSION", "")
    if said not in ("", *VERSIONS):
        raise ValueError(f"BOOK_VERSION is «{said}»: give {' or '.join(VERSIONS)}")
    return said


def address() -> str:
    """Where this version is, the folder above those of the editions; empty where nobody says. ValueError: is none."""
    said = os.environ.get("BOOK_SITE", "").rstrip("/")
    if said and not (urlsplit(said).scheme in ("https", "http") and urlsplit(said).netloc):
        raise ValueError(f"BOOK_SITE is «{said}»: give the address of the site, https://…")
    if not said:
        return _configured((ROOT / "_config.yml").read_text("utf-8")) if (ROOT / "_config.yml").exists() else ""
    return f"{said}/{version()}" if version() else said


def _branch() -> str:
    """The branch with what was built, where the book is one of several versions; else empty."""
    return BRANCH.format(version()) if version() else ""


def said() -> list[str]:
    """All of that, to see whether it has changed."""
    return [version(), address(), os.environ.get("BOOK_REPOSITORY", "")]


@functools.cache
def _configured(config: str) -> str:
    return str((yaml.safe_load(config).get("html") or {}).get("baseurl") or "").rstrip("/")


@dataclass(frozen=True)
class Repository:
    """`repository` of _config.yml. published: the branch with the built pages; empty where there is none."""

    url: str = ""
    branch: str = "main"
    published: str = "gh-pages"


def repository(root: Path = ROOT) -> Repository:
    """What the environment (`BOOK_…`), else _config.yml, says of it. ValueError for an address that is none."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8")) if (root / "_config.yml").exists() else {}
    said = (config or {}).get("repository") or {}
    url = (os.environ.get("BOOK_REPOSITORY", "") or str(said.get("url") or "")).strip().rstrip("/").removesuffix(".git")
    where = "BOOK_REPOSITORY" if os.environ.get("BOOK_REPOSITORY") else "_config.yml: repository.url"
    if url and not (urlsplit(url).scheme in ("https", "http") and urlsplit(url).path.strip("/")):
        raise ValueError(f'{where} is «{url}»: give its address, https://…, or ""')
    built = _branch() or said.get("published", Repository.published)
    return Repository(url, str(said.get("branch") or Repository.branch), str(built or ""))


def links(found: Repository, edition: str, page: str) -> dict[str, str]:
    """`source`, `edit`, `colab`, `binder` → address, as far as the host has them; nothing without a repository.

    The page of a derived edition is edited where it is written.
    """
    if not found.url:
        return {}
    made, host = {"source": found.url}, urlsplit(found.url).netloc
    file = f"{found.branch}/book/{EDITIONS[edition]}/{page}.md"
    if host == _GITHUB:
        made["edit"] = f"{found.url}/edit/{file}"
    elif "gitlab" in host:
        made["edit"] = f"{found.url}/-/edit/{file}"
    if host == _GITHUB and found.published:
        name, notebook = urlsplit(found.url).path.strip("/"), f"{edition}/notebooks/{page}.ipynb"
        made["colab"] = f"https://colab.research.google.com/github/{name}/blob/{found.published}/{notebook}"
        made["binder"] = f"https://mybinder.org/v2/gh/{name}/{found.published}?labpath={notebook}"
    return made


def write_environment(html: Path, found: Repository) -> None:
    """What Binder reads beside the pages: the Python and the package. Nothing where there is no link to Binder."""
    if "binder" in links(found, "en", "index"):
        files.write(html / "runtime.txt", "python-3.12\n")
        files.write(html / "requirements.txt", "".join(f"./{name}\n" for name in package.filenames()))
