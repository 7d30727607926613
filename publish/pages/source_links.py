"""Links to the source of the book and to services that run its notebooks: none where nobody names a repository.

Colab and Binder open notebooks from the branch that has the built pages, beside which the package lies.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from publish import files, package
from publish.page import ROOT
from publish.pages import published
from publish.pages.notebooks import EDITIONS

_GITHUB = "github.com"


@dataclass(frozen=True)
class Repository:
    """`repository` of _config.yml. published: the branch with the built pages; empty where there is none."""

    url: str = ""
    branch: str = "main"
    published: str = "gh-pages"


def repository(root: Path = ROOT) -> Repository:
    """What the environment (published.py), else _config.yml, says of it. ValueError for an address that is none."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8")) if (root / "_config.yml").exists() else {}
    said = (config or {}).get("repository") or {}
    url = (published.repository() or str(said.get("url") or "")).strip().rstrip("/").removesuffix(".git")
    where = "BOOK_REPOSITORY" if published.repository() else "_config.yml: repository.url"
    if url and not (urlsplit(url).scheme in ("https", "http") and urlsplit(url).path.strip("/")):
        raise ValueError(f'{where} is «{url}»: give its address, https://…, or ""')
    built = published.branch() or said.get("published", Repository.published)
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
