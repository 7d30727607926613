"""A book of two small pages in a folder of its own, made with this repository's publish/, book/ and minipod/."""

import contextlib
import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from publish.author.templates import FRONT

# In `make test` the real book has two editions: the third is zh-Hans in other characters and words.
EDITIONS = ("en", "zh-Hans", "zh-Hant")
each_edition = pytest.mark.parametrize("edition", [*EDITIONS[:2], pytest.param("zh-Hant", marks=pytest.mark.long)])
ROOT = Path(__file__).resolve().parents[2]

TOC = "format: jb-book\nroot: index\nparts:\n  - chapters:\n      - file: first\n"
DEMO = """# %% draw
from minipod import devices, pictures

devices.simulate(8)
pictures.devices()

# %% add
print(1 + 1)
"""
LIGHT = """# %% draw
from minipod import torus

torus.__name__

# %% add
print(1 + 1)
"""
INDEX = {"en": "(sec-index)=\n# A small book\n\nProse.\n", "zh-Hans": "(sec-index)=\n# 一本小书\n\n一段话。\n"}
PAGE = """(sec-first)=
# {}

{}

```{{code-cell}}
:cell: draw
```

(sec-second)=
## {}

{}

```{{code-cell}}
:cell: add
:tags: [mistake]
```
"""
SEE = "{ref}`sec-first`"
FIRST = {
    "en": PAGE.format(
        "First", "Some *prose*, and `jax.device_put`.", "Second", f"More prose about a collective, see {SEE}."
    ),
    "zh-Hans": PAGE.format(
        "第一页", "一段*话*，讲到 `jax.device_put`。\n第二行。", "第二节", f"再讲集合通信，见 {SEE}。"
    ),
}


def make(folder: Path, machine: bool = False, demo: str = DEMO) -> Path:
    """Write the small book into `folder`; with `machine` also those three, so that it can be built there.

    With the cells of LIGHT nothing imports JAX.
    """
    for edition in ("en", "zh-Hans"):
        pages = folder / "book" / edition
        pages.mkdir(parents=True)
        (pages / "index.md").write_text(FRONT + INDEX[edition], "utf-8")
        (pages / "first.md").write_text(FRONT + FIRST[edition], "utf-8")
    (folder / "lessons" / "first").mkdir(parents=True)
    (folder / "lessons" / "first" / "demo.py").write_text(demo, "utf-8")
    (folder / "_toc.yml").write_text(TOC, "utf-8")
    if machine:
        skip = shutil.ignore_patterns("en", "zh-Hans", "outputs", "addresses.txt", "record*")
        shutil.copytree(ROOT / "book", folder / "book", dirs_exist_ok=True, ignore=skip)
        for name in ("publish", "minipod"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "_config.yml", folder)
    return folder


def add(folder: Path, name: str, *cells: str) -> None:
    """One more page, with these cells (called one, two, three…) in a section each."""
    numbers = ("one", "two", "three", "four")[: len(cells)]
    label = name.replace("_", "-")
    for edition in ("en", "zh-Hans"):
        text = FRONT + f"(sec-{label})=\n# Page {name}\n"
        for number in numbers:
            text += f"\nProse.\n\n```{{code-cell}}\n:cell: {number}\n```\n"
        (folder / "book" / edition / f"{name}.md").write_text(text, "utf-8")
    (folder / "lessons" / name).mkdir()
    demo = "".join(f"# %% {number}\n{cell}\n\n" for number, cell in zip(numbers, cells, strict=True))
    (folder / "lessons" / name / "demo.py").write_text(demo, "utf-8")
    toc = folder / "_toc.yml"
    toc.write_text(toc.read_text("utf-8") + f"      - file: {name}\n", "utf-8")


def edit(folder: Path, name: str, *pairs: tuple[str, str], editions: tuple[str, ...] = ("en", "zh-Hans")) -> None:
    """Replace each first string of a page, which must be there, by the second; "" is the end."""
    for edition in editions:
        path = folder / "book" / edition / f"{name}.md"
        text = path.read_text("utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new, 1) if old else text + new
        path.write_text(text, "utf-8")


def replace(path: Path, old: str, new: str) -> None:
    """In a file, once."""
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), "utf-8")


@contextlib.contextmanager
def alone(path: Path):
    """One process at a time."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def once(factory: pytest.TempPathFactory, name: str, make_it: Callable[[Path], list[str]]) -> tuple[Path, list[str]]:
    """A folder, and what was said of it, that one worker makes for all of a run. Nobody changes it."""
    folder = factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / name
    said = folder.with_suffix(".json")
    with alone(folder.with_suffix(".lock")):
        if not said.exists():
            said.write_text(json.dumps(make_it(folder)))
    return folder, json.loads(said.read_text())


@functools.cache
def real_book(*editions: str) -> Path:
    """The pages of the real book in these editions, up to date: once a run. AssertionError with what went wrong.

    In a folder of the tests' own: timings taken beside other tests are for no reader. Executed cells stay there for the
    next run of the tests.
    """
    build = ROOT / ".cache" / "tested-book"
    build.mkdir(parents=True, exist_ok=True)
    made, run = build / "made-by", os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    with alone(build / "lock"):
        by, *there = made.read_text().split() if made.exists() else [""]
        if by != run or not {*editions} <= {*there}:
            command = [sys.executable, "-m", "publish.build", "--build", str(build), *editions]
            result = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=ROOT)
            assert result.returncode == 0, result.stdout + result.stderr
            made.write_text(" ".join([run, *editions]))
    return build / "html"


def tool(folder: Path, name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run `python -m publish.NAME` of the book in `folder`; its output as text."""
    command, env = [sys.executable, "-m", f"publish.{name}", *arguments], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=env)
