"""Find where the book is published; make links to its source and to services that run its notebooks.

The address comes from the environment, as in .github/workflows/book.yml, or else from _config.yml. Without a
repository there are no links. Colab and Binder open notebooks from the branch with the built pages, which also has
the package.

BOOK_SITE        the address of the whole site, https://someone.github.io/book
BOOK_VERSION     the version: stable, which is released, or dev, which is on main; each has a folder
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
    """Return stable, dev, or empty if the book is not one of several versions. Raises ValueError for any other word."""
    name = os.environ.get("BOOK_VERSION", "")
    if name not in ("", *VERSIONS):
        raise ValueError(f"BOOK_VERSION is “{name}”: give {' or '.join(VERSIONS)}")
    return name


def address() -> str:
    """Return this version's address, the folder above the editions; empty if not set. Raises ValueError if invalid."""
    site = os.environ.get("BOOK_SITE", "").rstrip("/")
    if site and not (urlsplit(site).scheme in ("https", "http") and urlsplit(site).netloc):
        raise ValueError(f"BOOK_SITE is “{site}”: give the address of the site, https://…")
    if not site:
        return _configured((ROOT / "_config.yml").read_text("utf-8")) if (ROOT / "_config.yml").exists() else ""
    return f"{site}/{version()}" if version() else site


def _branch() -> str:
    """Return the branch with the built pages if the book is one of several versions; else empty."""
    return BRANCH.format(version()) if version() else ""


def state() -> list[str]:
    """Return the facts about this edition that pages show, which the build compares with those of the last one."""
    return [version(), address(), os.environ.get("BOOK_REPOSITORY", "")]


@functools.cache
def _configured(config: str) -> str:
    return str((yaml.safe_load(config).get("html") or {}).get("baseurl") or "").rstrip("/")


@dataclass(frozen=True)
class Repository:
    """The `repository` of _config.yml. published: the branch with the built pages; empty if there is none."""

    url: str = ""
    branch: str = "main"
    published: str = "gh-pages"


def repository(root: Path = ROOT) -> Repository:
    """Return the address from the environment (`BOOK_…`), else from _config.yml. Raises ValueError if it is not one."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8")) if (root / "_config.yml").exists() else {}
    configured = (config or {}).get("repository") or {}
    url = (
        (os.environ.get("BOOK_REPOSITORY", "") or str(configured.get("url") or ""))
        .strip()
        .rstrip("/")
        .removesuffix(".git")
    )
    where = "BOOK_REPOSITORY" if os.environ.get("BOOK_REPOSITORY") else "_config.yml: repository.url"
    if url and not (urlsplit(url).scheme in ("https", "http") and urlsplit(url).path.strip("/")):
        raise ValueError(f'{where} is “{url}”: give its address, https://…, or ""')
    built = _branch() or configured.get("published", Repository.published)
    return Repository(url, str(configured.get("branch") or Repository.branch), str(built or ""))


def links(source: Repository, edition: str, page: str) -> dict[str, str]:
    """Map `source`, `edit`, `colab`, `binder` → address, as far as the host has them; empty without a repository.

    The link to edit a page of a derived edition leads to the page from which it is derived.
    """
    if not source.url:
        return {}
    made, host = {"source": source.url}, urlsplit(source.url).netloc
    file = f"{source.branch}/book/{EDITIONS[edition]}/{page}.md"
    if host == _GITHUB:
        made["edit"] = f"{source.url}/edit/{file}"
    elif "gitlab" in host:
        made["edit"] = f"{source.url}/-/edit/{file}"
    if host == _GITHUB and source.published:
        name, notebook = urlsplit(source.url).path.strip("/"), f"{edition}/notebooks/{page}.ipynb"
        made["colab"] = f"https://colab.research.google.com/github/{name}/blob/{source.published}/{notebook}"
        made["binder"] = f"https://mybinder.org/v2/gh/{name}/{source.published}?labpath={notebook}"
    return made


def write_environment(html: Path, source: Repository) -> None:
    """Write Binder's files, which name Python and the package, next to the pages; nothing without a link to Binder."""
    if "binder" in links(source, "en", "index"):
        files.write(html / "runtime.txt", "python-3.12\n")
        files.write(html / "requirements.txt", "".join(f"./{name}\n" for name in package.filenames()))
