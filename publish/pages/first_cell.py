"""Write the first cell of a downloaded notebook, which installs missing packages or says in one sentence how to."""

from grader.home import BOOK
from grader.messages import say
from grader.notebook.blank_cells import digest
from publish import package
from publish.page import ROOT
from publish.pages import terms

_MODULES = ("jax", "lessons", "minipod", "graphviz", "orbax", "pytest")  # of the base and of the extra `chapters`
_CODE = """
# {needs}
BOOK = {address!r}  # {where}
PACKAGE, MINIPOD = {package!r}, {minipod!r}

import importlib
import os
import pathlib
import subprocess
import sys
from importlib.util import find_spec


class Stop(Exception):
    def _render_traceback_(self):  # the sentence alone
        return [str(self)]


if sys.platform == "win32":
    raise Stop({windows!r})
if sys.version_info < (3, 11):
    raise Stop({python!r} + sys.version.split()[0])
if not all(map(find_spec, {modules!r})):
    places = [os.path.join(folder, PACKAGE) for folder in (".", "../..", BOOK)]
    found = next(filter(os.path.exists, places), places[-1] if "://" in BOOK else "")
    if not found:
        raise Stop({nowhere!r})
    if "://" not in found:
        found = pathlib.Path(found).absolute().as_uri()
    print({installing!r}, flush=True)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-color", "--retries", "2"]
    both = ["{name}[chapters] @ " + found, "minipod @ " + found.replace(PACKAGE, MINIPOD)]
    pip = subprocess.run([*install, *both], capture_output=True, text=True)
    if pip.returncode and "connection broken" in pip.stderr:
        raise Stop({offline!r})
    if pip.returncode:
        said = pip.stderr.strip().splitlines() or [""]
        told = [line for line in said if line.lower().startswith("error")] or said
        raise Stop({refused!r} + told[-1][:300])
    importlib.invalidate_caches()
    if not find_spec("lessons"):
        raise Stop({restart!r})
    print({ready!r})

import lessons

lessons.begin({begin})
"""


def source(edition: str, name: str, address: str) -> str:
    """Return the code for the page `name`. address: of the published book, or empty."""
    ui = terms.ui_in(edition, "first_")
    arguments = [edition, name, digest(ROOT / "lessons" / name)]
    begin = ", ".join(repr(a) for a in (arguments if all(arguments) else [edition]))
    values = {
        "address": address,
        "package": package.filename(),
        "minipod": package.minipods(),
        "begin": begin,
        "windows": say("windows", edition),
    }
    values |= {"modules": _MODULES, "name": BOOK}
    ui = {
        key: text.replace("PACKAGE", package.filename()).replace("MINIPOD", package.minipods())
        for key, text in ui.items()
    }
    return _CODE.format(**ui, **values).strip()
