"""Every line runs: the cells of the book, executed here and now, give what is recorded, in text and in pictures."""

import json
import re
import shutil

import pytest

from publish import sync
from publish.outputs import execute, recordings
from publish.outputs.execute import chapter, measures
from publish.page import ROOT, read_page

NOW = ("start", "ch03_sharding", "ch10_processes")  # `make test`; the others take minutes: `make test-long`
CHAPTERS = [c for c in sync.chapters() if read_page(ROOT / "book/en" / f"{c}.md").cells]

# Cells whose outputs are never the same twice: their form is compared.
VARYING = {
    "ch01_devices": {"dispatch", "queue-measured"},  # measure
    "ch06_shard_map": {"print-inside"},  # devices print as they come
    "ch10_processes": {
        "behind-proxy",  # times and pids in a log; whichever process gives up first
        "one-missing",  # how far the other has come when it is ended
    },
    "ch09_training": {"all-losses"},  # the last digit: in which order threads add
    "ch11_data": {
        "the-comparison",  # measures
        "to-the-bit",  # the last digit
        "a-file-is-missing",  # which of both processes has ended first
        "half-a-checkpoint",  # says how many bytes a compressed file has
    },
    "ch12_pitfalls": {  # seconds; which of several faults comes first, and what Gloo says of it
        "own-longest",
        "three-and-five",
        "a-hundred",
        "with-a-timeout",
        "late-found",  # in which of two calls a process waits
        "own-decision",
        "one-raises",
        "killed-suspended-slow",
        "survivors",
        "guarded-others",
        "guard-cost",
        "the-matrix",
    },
    "ch16_capstone": {  # seconds; which of both processes has ended first; which save had finished when it was killed
        "told-to-go",
        "repeated",
        "sixteen",
        "sixteen-logs",
        "what-saving-costs",
        "hangs",
        "killed",
        "asked-every-tenth",
        "unusable",
        "full",
    },
}


def form(text: str) -> list[str]:
    """Which lines there are, without numbers, widths and order; of a failure only that it is one, whoever was first."""
    text = re.sub(r"(both processes|process \d+) (aborted|raised|was killed|ended with).*", "failed", text)
    text = re.sub(r"JaxRuntimeError: .*", "JaxRuntimeError", text)
    text = re.sub(r"(process \d+) (was|is|is still) (waiting|busy)( in `.*?` \(.*?\))?", r"\1 was there", text)
    return sorted({re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", line)) for line in text.splitlines()})


def kinds(output: dict) -> list[str]:
    return [output["output_type"], *sorted(output.get("data", {}))]


def comparable(output: dict) -> dict:
    """Where Graphviz is installed it places nodes a little otherwise than its WebAssembly: the words are compared."""
    data = output.get("data", {})
    if shutil.which("dot") is None or "<svg" not in data.get("text/html", ""):
        return output
    return {**output, "data": {**data, "text/html": re.findall(r">([^<>]+)<", data["text/html"])}}


def texts(outputs: list[dict]) -> list[str]:
    return [text for o in outputs for text in (o.get("text", ""), o.get("data", {}).get("text/plain", ""))]


@pytest.mark.parametrize("name", [n if n in NOW else pytest.param(n, marks=pytest.mark.long) for n in CHAPTERS])
def test_a_page_executed_here_gives_what_is_recorded(name):
    page = read_page(ROOT / "book/en" / f"{name}.md")
    recorded = recordings.read(page, ROOT, execute.sources(page, ROOT))
    assert recorded, f"the outputs of {name} are not recorded: `make record PAGES={name}`"
    result = execute.fresh(page, ROOT)
    assert not result.failure, result.failure.report
    same_versions = recorded.made.packages == recordings.versions()  # others may say the same in other words
    for cell, before, after in zip(page.cells, recorded.outputs, result.outputs, strict=True):
        what = f"{name}: cell «{cell.name}»"
        assert [kinds(o) for o in after] == [kinds(o) for o in before], what
        if measures(name, ROOT) or not same_versions:
            continue
        if cell.name in VARYING.get(name, ()):
            assert [form(t) for t in texts(after)] == [form(t) for t in texts(before)], what
        else:
            ours, theirs = ([comparable(o) for o in outputs] for outputs in (after, before))
            assert ours == theirs or close(json.dumps(ours), json.dumps(theirs)), f"{what}: {ours} != {theirs}"


def close(ours: str, theirs: str) -> bool:
    """Whether two texts differ at most in the last digits of numbers, which another processor may add up otherwise."""
    a, b = (re.split(r"(-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)", text) for text in (ours, theirs))
    words = [[re.sub(r"\s+", " ", word) for word in parts[::2]] for parts in (a, b)]
    numbers = [[float(number) for number in parts[1::2]] for parts in (a, b)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=1e-5, abs=2e-6)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("device 0: [-0.74145526 -0.58]", "device 0: [-0.7414554  -0.58]", True),
        ("20 4.2203593", "20 4.22036", True),
        ("at most 7e-07 away", "at most 5e-07 away", True),
        ("20 4.2203593", "20 4.2205", False),
        ("8 devices", "9 devices", False),
        ("a 1.0", "b 1.0", False),
    ],
)
def test_only_last_digits_may_differ(a, b, same):
    assert close(a, b) == same


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_book_is_recorded(name, tmp_path, monkeypatch):
    """Who changes a cell, or what it imports, records its page again: a newcomer's book takes seconds."""
    monkeypatch.setattr(execute, "fresh", lambda page, root: pytest.fail(f"not recorded: `make record PAGES={name}`"))
    assert chapter(read_page(ROOT / "book/en" / f"{name}.md"), ROOT, tmp_path).made


def test_no_recording_names_this_machine():
    for path in (ROOT / "book/outputs").iterdir():
        found = re.search(r"/(?:home|root|Users|tmp|var|work|usr|opt)/|site-packages", path.read_text("utf-8"))
        assert not found, f"{path.name}: {found}"


def test_every_varying_cell_is_a_cell():
    for name, cells in VARYING.items():
        assert cells <= {cell.name for cell in read_page(ROOT / "book/en" / f"{name}.md").cells}, name
