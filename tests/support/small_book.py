"""A book of two small pages in a folder of its own, made with this repository's publish/, book/ and minipod/."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from grader.author.templates import FRONT

ROOT = Path(__file__).resolve().parents[2]

TOC = "format: jb-book\nroot: index\nparts:\n  - chapters:\n      - file: first\n"
DEMO = """# %% draw
from minipod import devices, pictures

devices.simulate(8)
pictures.devices()

# %% add
print(1 + 1)
"""
INDEX = {"en": "(sec-index)=\n# A small book\n\nProse.\n", "zh-Hans": "(sec-index)=\n# 一本小书\n\n一段话。\n"}
FIRST = {
    "en": """(sec-first)=
# First

Some *prose*, and `jax.device_put`.

```{code-cell}
:cell: draw
```

(sec-second)=
## Second

More prose about a collective, see {ref}`sec-first`.

```{code-cell}
:cell: add
:tags: [mistake]
```
""",
    "zh-Hans": """(sec-first)=
# 第一页

一段*话*，讲到 `jax.device_put`。
第二行。

```{code-cell}
:cell: draw
```

(sec-second)=
## 第二节

再讲集合通信，见 {ref}`sec-first`。

```{code-cell}
:cell: add
:tags: [mistake]
```
""",
}


def make(folder: Path, machine: bool = False) -> Path:
    """Write the small book into `folder`; with `machine` also those three, so that it can be built there."""
    for edition in ("en", "zh-Hans"):
        pages = folder / "book" / edition
        pages.mkdir(parents=True)
        (pages / "index.md").write_text(FRONT + INDEX[edition], "utf-8")
        (pages / "first.md").write_text(FRONT + FIRST[edition], "utf-8")
    (folder / "lessons" / "first").mkdir(parents=True)
    (folder / "lessons" / "first" / "demo.py").write_text(DEMO, "utf-8")
    (folder / "_toc.yml").write_text(TOC, "utf-8")
    if machine:
        skip = shutil.ignore_patterns("__pycache__", "en", "zh-Hans", "outputs", "addresses.txt", "record*")
        shutil.copytree(ROOT / "book", folder / "book", dirs_exist_ok=True, ignore=skip)
        for name in ("publish", "minipod"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
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


def set_constant(folder: Path, script: str, name: str, value: object) -> None:
    """Change a constant in the small book's own copy of publish/SCRIPT."""
    path = folder / "publish" / script
    text, count = re.subn(rf"(?m)^{name} = [\d.]+", f"{name} = {value}", path.read_text("utf-8"))
    assert count == 1, name
    path.write_text(text, "utf-8")


@contextlib.contextmanager
def alone(path: Path):
    """Only one process at a time, so that tests on several cores build the book once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def real_book() -> Path:
    """The pages of the real book, up to date. AssertionError with what went wrong.

    In a folder of the tests' own: timings taken beside other tests are for no reader. Executed cells stay there for the
    next run of the tests.
    """
    build = ROOT / ".cache" / "tested-book"
    with alone(build / "lock"):
        result = subprocess.run(
            [sys.executable, "-m", "publish.build", "--build", str(build)],
            capture_output=True,
            text=True,
            timeout=3600,
            cwd=ROOT,
        )
    assert result.returncode == 0, result.stdout + result.stderr
    return build / "html"


def tool(folder: Path, name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run `python -m publish.NAME` of the book in `folder`; its output as text."""
    command, env = [sys.executable, "-m", f"publish.{name}", *arguments], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=env)
