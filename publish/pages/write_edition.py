"""python -m publish.pages.write_edition EDITION FOLDER PARENT [--only-changed] [--later]: write one edition.

Jupyter Book writes it, in one process per edition, because Sphinx's message catalogues belong to the whole
process; it ends when process PARENT does. With --later, it leaves the processor to the edition that was started first.
"""

import gc
import os
import shutil
import signal
import sys
from pathlib import Path

from jupyter_book.sphinx import build_sphinx

from minipod.processes import die_with_parent
from publish import kept
from publish.page import ROOT
from publish.pages.published import address


def write(edition: str, build: Path, only_changed: bool = False) -> int:
    """Write `BUILD/html/EDITION` from the executed notebooks in `BUILD/src/EDITION`. A warning counts as a failure."""
    settings = {
        "external_toc_path": str(ROOT / "_toc.yml"),
        "nb_execution_mode": "off",
        "html_baseurl": f"{base}/{edition}/" if (base := address()) else "",
        "latex_individualpages": False,  # jupyter-book takes it out again; without it build_sphinx raises
    }
    kept.load(build / "kept", mine := build / "doctrees" / edition / "kept")
    status = build_sphinx(
        build / "src" / edition,
        build / "html" / edition,
        path_config=ROOT / "_config.yml",
        noconfig=True,
        doctreedir=build / "doctrees" / edition,
        confoverrides=settings,
        force_all=not only_changed,  # writes all pages (each shows the titles of all); reads again what has changed
        warningiserror=True,
        keep_going=True,
    )
    kept.save(mine)
    shutil.rmtree(build / "html" / "jupyter_execute", ignore_errors=True)  # MyST-NB's copies; ours are in notebooks/
    return 0 if status == 0 else 1


if __name__ == "__main__":
    die_with_parent(int(sys.argv[3]))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Sphinx would report it as a failure of the pages
    os.nice(5 if "--later" in sys.argv else 0)
    gc.set_threshold(50_000, 20, 20)  # nodes of trees stay: looking for garbage would take a sixth of the time
    sys.exit(write(sys.argv[1], Path(sys.argv[2]), "--only-changed" in sys.argv))
