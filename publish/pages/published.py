"""Where the book is published: what the environment says, as .github/workflows/book.yml does, else _config.yml.

BOOK_SITE        the address of the whole site, https://someone.github.io/book
BOOK_VERSION     which of its versions this is: stable, the released one, or dev, the one on main; each has a folder
BOOK_REPOSITORY  the address of the source
"""

import functools
import os
from urllib.parse import urlsplit

import yaml

from publish.page import ROOT
from publish.versions import VERSIONS

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


def repository() -> str:
    """The address of the source, as the environment says it; empty where it does not."""
    return os.environ.get("BOOK_REPOSITORY", "")


def branch() -> str:
    """The branch with what was built, where the book is one of several versions; else empty."""
    return BRANCH.format(version()) if version() else ""


def said() -> list[str]:
    """All of that, to see whether it has changed."""
    return [version(), address(), repository()]


@functools.cache
def _configured(config: str) -> str:
    return str((yaml.safe_load(config).get("html") or {}).get("baseurl") or "").rstrip("/")
