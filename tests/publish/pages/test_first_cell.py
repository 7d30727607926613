"""The package beside the pages, and the first cell of a notebook, which installs it or says in a sentence why not."""

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from grader import home
from grader.messages import say
from grader.notebook.desk import Desk
from minipod import distribution
from publish import package
from publish.page import ROOT
from publish.pages import first_cell, terms

BOOK = "https://host.invalid/book"
PIP = "import subprocess, types\nsubprocess.run = lambda *_, **__: types.SimpleNamespace(returncode={}, stderr={!r})"


def stops(folder: Path, edition: str = "en", address: str = "", before: str = "") -> str:
    """The sentence with which it ends where neither JAX nor the package is installed. before: code that runs first."""
    script = folder / "first.py"
    script.write_text(f"{before}\n{first_cell.source(edition, 'start', address)}", "utf-8")
    env = os.environ | {"PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-S", "-E", "-s", str(script)]
    result = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 1 and "Stop: " in result.stderr, result.stderr
    return result.stderr.rpartition("Stop: ")[2].strip()


def words(key: str, edition: str) -> str:
    said = terms.ui()[f"first_{key}"][edition].replace("PACKAGE", package.filename())
    return said.replace("MINIPOD", package.minipods()).strip()


def test_it_says_what_pip_cannot_do_and_for_which_python_and_system_it_is(tmp_path):
    offline = "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError(…)': /simple/jax/"
    assert stops(tmp_path, "en", BOOK, PIP.format(1, offline)) == words("offline", "en")
    refused = stops(tmp_path, "zh-Hans", BOOK, PIP.format(1, "WARNING: a\nERROR: no room\n[notice] b"))
    assert refused == words("refused", "zh-Hans") + "ERROR: no room"
    assert stops(tmp_path, "en", BOOK, PIP.format(1, "python: No module named pip")).endswith("No module named pip")
    assert stops(tmp_path, "zh-Hant", BOOK, PIP.format(0, "")) == words("restart", "zh-Hant")
    # for which Python and system it is, and where the package is to be had
    assert stops(tmp_path, "zh-Hant") == words("nowhere", "zh-Hant")
    old = "import sys\nsys.version_info, sys.version = (3, 10), '3.10.1 (main)'"
    assert stops(tmp_path, before=old) == f"{words('python', 'en')} 3.10.1"
    assert stops(tmp_path, before="import sys\nsys.platform = 'win32'") == say("windows", "en")


def test_it_takes_the_package_from_beside_the_notebook_else_from_the_book(tmp_path):
    ask = "import subprocess\ndef run(to, **_): raise Exception('Stop: ' + '; '.join(to[-2:]))\nsubprocess.run = run"

    def wanted(folder: str) -> str:
        return f"{home.BOOK}[chapters] @ {folder}/{package.filename()}; minipod @ {folder}/{package.minipods()}"

    assert stops(tmp_path, "en", BOOK, ask) == wanted(BOOK)
    (tmp_path / package.filename()).touch()
    assert stops(tmp_path, "en", BOOK, ask) == wanted(tmp_path.as_uri())


def test_a_jax_that_the_book_is_not_for_is_named(monkeypatch):
    found = {"jax": "0.9.1", "jaxlib": "0.9.1"}
    monkeypatch.setattr(metadata, "version", lambda name: found[name])
    assert Desk().begin("en").text == say("notebook-jax", "en", needs="jax>=0.10", found="0.9.1")
    found["jax"] = "0.10.2"
    assert Desk().begin("zh-Hans").text == say("notebook-jax", "zh-Hans", needs="jaxlib>=0.10", found="0.9.1")
    found["jaxlib"] = "0.12.0.1"
    assert Desk().begin("en") is None
    found["jax"] = "0.13.1"
    assert Desk().begin("zh-Hans").text == say("notebook-untried", "zh-Hans", found="0.13.1", newest="0.12")


def test_the_packages_are_built_whole_and_once_and_the_start_page_links_them(tmp_path):
    assert package.write(tmp_path) and not package.write(tmp_path)
    names = {*zipfile.ZipFile(tmp_path / "html" / package.filename()).namelist()}
    assert {"lessons/__init__.py", "lessons/ch09_training/text.txt", "solutions/ch09_training.py"} <= names
    assert not [name for name in names if name.startswith("minipod/")]
    names = {*zipfile.ZipFile(tmp_path / "html" / package.minipods()).namelist()}
    assert {"minipod/__init__.py", "minipod/py.typed", "minipod/hlo/text.py"} <= names
    assert {name.partition("/")[0] for name in names} == {"minipod", f"minipod-{distribution.version()}.dist-info"}
    (tmp_path / "html" / package.filename()).unlink()
    assert package.write(tmp_path)
    for edition in ("en", "zh-Hans"):
        text = (ROOT / "book" / edition / "start.md").read_text("utf-8")
        assert all(f'<a href="../{name}">{name}</a>' in text for name in package.filenames())
