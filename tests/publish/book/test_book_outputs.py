"""Every line runs: the cells of the book, executed here and now, give what is recorded, in text and in pictures."""

import re
import subprocess
import sys

import pytest

from publish import sync
from publish.outputs import execute, ledger, recordings
from publish.outputs.compare import differences
from publish.outputs.execute import chapter, measures
from publish.page import ROOT, read_page

NOW = ("ch03_sharding",)  # `make test`; the others are long
# One to four minutes each, sixteen processes or a whole training run: here in the weekly run only, as recorded outputs
# of other code fail below; `bash .ci/newest` can execute every page.
SLOW = ("ch09", "ch10", "ch11", "ch12", "ch13", "ch16", "ch17", "ch19", "ch20", "ch21", "ch22", "ch23", "ch24")
LONG, RARELY = pytest.mark.long, pytest.mark.rarely
RECORDED = sorted(path.stem for path in ROOT.glob("book/outputs/*.json"))


def english(name: str):
    """A page, as it is executed."""
    return read_page(ROOT / "book/en" / f"{name}.md")


@pytest.mark.page
@pytest.mark.parametrize(
    "name", [n if n in NOW else pytest.param(n, marks=[LONG, RARELY] if n[:4] in SLOW else LONG) for n in RECORDED]
)
def test_a_page_executed_here_gives_what_is_recorded(name):
    page, book = english(name), ledger.read(ROOT)
    recorded = recordings.read(page, ROOT, execute.sources(page, ROOT))
    assert recorded, f"the outputs of {name} are not recorded: `make record PAGES={name}`"
    result = execute.fresh(page, ROOT)
    assert not result.failure, result.failure.report
    # A JAX that nobody has recorded with may say the same in other words.
    tried = any(ledger.of_versions(recordings.now(), of) for of in (book.versions, book.oldest))
    only_kinds = measures(name, ROOT) or not tried
    expected, varying = execute.expected(page, ROOT, recorded), book.varying.get(name, ())
    found = differences(page, expected, result.outputs, varying, only_kinds)
    if found and found.keys() <= {*varying}:  # on a busy machine one process ends before the other speaks
        again = execute.fresh(page, ROOT).outputs
        found = differences(page, expected, again, varying, only_kinds)
        if found and found.keys() <= {*varying}:  # nor does it always wait at the same line
            found = differences(page, expected, again, varying, True)
    assert found == {}


def text(said: str) -> list[dict]:
    return [{"output_type": "stream", "name": "stdout", "text": said}]


def picture(markup: str, **metadata: int) -> list[dict]:
    return [{"output_type": "display_data", "data": {"text/html": markup}, "metadata": metadata}]


def told(before: list[dict], after: list[dict], varies: bool = False, measures: bool = False) -> str:
    """How the first cell of a page differs from what it gave."""
    page = english("index")
    name, rest = page.cells[0].name, [[] for _ in page.cells[1:]]
    found = differences(page, [before, *rest], [after, *rest], (name,) if varies else (), measures)
    assert {*found} <= {name}
    return found.get(name, "")


def test_a_difference_is_said_with_its_line_and_only_last_digits_may_differ():
    for before, after, said in (
        (text("a\n8 devices\n"), text("a\n9 devices\n"), "line 2: - 8 devices + 9 devices"),
        (text("a\n"), text("a\nb\n"), "it had 1 lines and has 2"),
        (text("a\n"), [], "its outputs were stream and are none"),
        (picture("<p>1</p><p>2</p>"), picture("<p>1</p><p>3</p>"), "line 2: - <p>2</p> + <p>3</p>"),
        (picture(""), picture("", a=1), "- {'output_type': 'display_data', 'metadata': {}} + {"),
        (text("20 4.2203593"), text("20 4.2205"), "line 1: - 20 4.2203593 + 20 4.2205"),
        (text("a 1.0"), text("b 1.0"), "line 1: - a 1.0 + b 1.0"),
    ):
        assert told(before, after).startswith(said)
    for before, after in (
        ("20 4.2203593\n", "20 4.22036\n"),
        ("device 0: [-0.74145526 -0.58]", "device 0: [-0.7414554  -0.58]"),
        ("at most 7e-07 away", "at most 5e-07 away"),
    ):
        assert told(text(before), text(after)) == ""


def test_of_what_is_never_the_same_the_form_is_compared_and_of_what_measures_the_kinds():
    took, other = text("a took 8 s\nb 1\n"), text("b 3\na  took 11.5 s\n")
    assert told(took, other) and not told(took, other, varies=True)
    assert told(took, text("c took 8 s"), varies=True)
    one, two = (
        text(f"In 2 steps\n{t} s after the first start: stage {k} has ended F0.\n")
        for t, k in ((0.2, "0"), (0.3, "0; stage 1"))
    )
    assert told(one, two) and not told(one, two, varies=True)
    assert not told(took, text("c"), measures=True) and told(took, picture("c"), measures=True)


def test_the_book_is_recorded(tmp_path, monkeypatch):
    """Who changes a cell, or a file of its lesson, records its page again: a newcomer's book takes seconds."""
    monkeypatch.setattr(execute, "fresh", lambda page, _: pytest.fail(f"`make record PAGES={page.path.stem}`"))
    book, pages = ledger.read(ROOT), [english(name) for name in sync.chapters()]
    for page in (page for page in pages if page.cells):
        made = chapter(page, ROOT, tmp_path).made
        assert made and any(ledger.of_versions(made, of) for of in (book.versions, book.oldest)), page.path
        recordings.oldest_outputs(page, ROOT, execute.sources(page, ROOT))  # raises where it is of other code
    cells = {page.path.stem: {cell.name for cell in page.cells} for page in pages}
    assert all({*varying} <= cells[name] for name, varying in book.varying.items())


def test_no_recording_names_this_machine():
    for path in (ROOT / "book/outputs").rglob("*.json"):
        found = re.search(r"/(?:home|root|Users|tmp|var|work|usr|opt)/|site-packages", path.read_text("utf-8"))
        assert not found, f"{path.name}: {found}"


FIRST = """
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

from traitlets import traitlets

from publish.outputs import execute


def late(thing, kind):
    found = isinstance(thing, kind)
    time.sleep(0.01 if kind is str else 0)
    return found


traitlets.isinstance = late  # whether a class is still given by its name, and the other thread comes in between
execute.NotebookClient.execute = lambda client, **_: client.create_kernel_manager().client()
page = SimpleNamespace(path=Path("p.md"), cells=[SimpleNamespace(name="a", body="1", kind="")])
with ThreadPoolExecutor(2) as pool:
    print(len([*pool.map(execute.fresh, [page] * 2, [Path()] * 2)]))
"""


def test_the_first_two_kernels_may_be_made_at_once():
    assert subprocess.check_output([sys.executable, "-c", FIRST], cwd=ROOT, text=True) == "2\n"
