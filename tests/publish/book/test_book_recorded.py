"""Recorded outputs: taken where they are of the same code, executed where not, written by `make record`, held against
what the cells give by `make verify`."""

import dataclasses
import json
import shutil
import subprocess
import sys
from unittest import mock

import pytest
import small_book

from publish import progress_line, record, verify
from publish.outputs import execute, recordings
from publish.outputs.dependencies import SAID, TOOLS, reached
from publish.outputs.execute import Executed
from publish.page import ROOT, read_page

FIRST, OLDEST = "book/outputs/first.json", "book/outputs/oldest/first.json"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A small book whose outputs have been recorded, and what recording said."""

    def make(folder) -> list[str]:
        small_book.make(folder, machine=True, demo=small_book.LIGHT)
        small_book.add(folder, "other", "print('of the other')")
        assert small_book.tool(folder, "sync").returncode == 0
        result = small_book.tool(folder, "record")
        assert result.returncode == 0, result.stdout + result.stderr
        return [result.stdout]

    return small_book.once(tmp_path_factory, "recorded", make)


@pytest.fixture
def folder(recorded, tmp_path):
    """A copy of the recorded book that may be changed."""
    return shutil.copytree(recorded[0], tmp_path / "book")


def of_page(folder, name: str = "first"):
    """A page, and what its recording is to be of."""
    page = read_page(folder / f"book/en/{name}.md", folder)
    return page, folder, execute.sources(page, folder)


@pytest.fixture
def outputs(folder, monkeypatch):
    """The outputs of the first page as a build would have them; executing gives the text “fresh” without executing."""

    def fresh(page, root):
        return Executed([[{"output_type": "stream", "name": "stdout", "text": "fresh"}] for _ in page.cells], 2, 1, [])

    monkeypatch.setattr(execute, "fresh", fresh)

    def first() -> Executed:
        return execute.chapter(of_page(folder)[0], folder, folder / "_build")

    return first


def test_record_writes_a_file_for_each_page_with_code(recorded):
    folder, (said,) = recorded
    assert sorted(p.name for p in (folder / "book/outputs").iterdir()) == ["first.json", "other.json"]
    assert f"{FIRST}: recorded in" in said and not (folder / "_build").exists()
    text = (folder / FIRST).read_text("utf-8")
    found = json.loads(text)
    assert [cell["name"] for cell in found["cells"]] == ["draw", "add"] and '      "2\\n"' in text.splitlines()
    assert found["made"]["python"] and found["made"]["packages"]["jax"] and found["made"]["on"] and found["seconds"] > 0


@pytest.mark.long
def test_fresh_executes_every_cell_and_leaves_the_recordings(folder):
    shutil.copy(folder / FIRST, folder / "book/outputs/third.json")  # of no page
    before = {path: path.read_bytes() for path in (folder / "book/outputs").iterdir()}
    for _ in range(2):  # what was kept is no excuse
        result = small_book.tool(folder, "build", "--fresh", "en")
        assert result.returncode == 0 and "cells executed by edition: en 3" in result.stdout, result.stderr
        assert {path: path.read_bytes() for path in (folder / "book/outputs").iterdir()} == before
        assert "note: book/outputs/third.json belongs to no page" in result.stdout


def test_make_passes_fresh_and_pages_on():
    def said(*words: str) -> str:
        return subprocess.run(["make", "-n", "-C", ROOT, *words], capture_output=True, text=True, timeout=600).stdout

    chosen = said("book", "record", "verify", "FRESH=1", "EDITIONS=en", "PAGES=ch10_processes", "SINCE=main")
    assert "-m publish.build --fresh en" in chosen and "-m publish.record ch10_processes" in chosen
    assert "-m publish.verify --since 'main'" in chosen
    assert "-m publish.record --what '*_plans'" in said("record", "WHAT=*_plans")


def test_a_line_of_a_tool_or_of_what_no_cell_names_executes_nothing(folder, outputs, capsys):
    for module in ("minipod/drawing/svg.py", "minipod/__init__.py", "minipod/torus.py", "lessons/first/exercises.py"):
        with (folder / module).open("a") as file:
            file.write("\n# changed\n")
    assert outputs().ran == 0 and outputs().made and not capsys.readouterr().out


def test_a_line_of_what_a_cell_says_executes_its_page_and_is_named(folder, outputs, capsys):
    (folder / "lessons/first/figures.toml").write_text("a = 1\n")
    small_book.edit(folder, "first", ("print(1 + 1)", "print(1 + 2)"), editions=("en",))
    assert outputs().ran == 2 and not outputs().made
    said = f"note: {FIRST} was recorded from other code (its cells, lessons/first/figures.toml changed): not used "
    assert set(capsys.readouterr().out.splitlines()) == {said + "(`make record PAGES=first` records it again)"}


def test_a_recording_edited_by_hand_is_not_shown_and_one_of_other_versions_is_both_named(folder, outputs, capsys):
    (folder / "book/recordings.toml").write_text('[pages]\nversions = { jax = "0.9.0" }\n')
    assert outputs().ran == 0
    said = capsys.readouterr().out
    assert said.startswith(f"note: {FIRST} was recorded with jax ") and said.count("\n") == 1
    assert "but the book uses jax 0.9.0" in said
    small_book.replace(folder / FIRST, '"2\\n"', '"3\\n"')
    assert outputs().ran == 2 and (folder / FIRST).exists()
    assert "first.json was changed after it was recorded: not used (`make record" in capsys.readouterr().out


@pytest.fixture
def of_two(folder):
    """The small book as recorded with a JAX of the future, which gives 3 for the cell `add`; ours is the oldest."""
    here = recordings.now()
    numbers = f'[pages]\nversions = {{ jax = "99" }}\noldest = {{ jax = "{here.packages["jax"]}" }}\n'
    (folder / "book/recordings.toml").write_text(numbers)
    page, _, of = of_page(folder)
    kept = recordings.read(page, folder, of)
    made = dataclasses.replace(here, packages={**here.packages, "jax": "99"})
    outputs = [kept.outputs[0], [{**kept.outputs[1][0], "text": "3\n"}]]
    recordings.write(page, folder, dataclasses.replace(kept, made=made, outputs=outputs))
    return folder


def test_with_the_oldest_jax_only_what_differs_is_recorded_and_verified(of_two):
    newest, other = (of_two / FIRST).read_bytes(), of_two / "book/outputs/other.json"
    other.write_text("spoilt")  # only the page that is asked for is looked at
    result = small_book.tool(of_two, "record", "first")
    assert result.returncode == 0, result.stderr
    assert "first, cell add: line 1: - 3 + 2" in result.stdout and f"{OLDEST}: recorded in" in result.stdout
    found = json.loads((of_two / OLDEST).read_text("utf-8"))["cells"]
    assert found == [{"name": "add", "outputs": [{"output_type": "stream", "name": "stdout", "text": ["2\n"]}]}]
    assert (of_two / FIRST).read_bytes() == newest and other.read_text() == "spoilt"
    assert said(of_two, "first")[1][-1].endswith("all as recorded")
    (of_two / OLDEST).unlink(), other.unlink()
    code, lines = said(of_two)
    assert code == 1 and "first, cell add: line 1: - 3 + 2" in lines
    assert "other is not recorded: `make record PAGES=other`" in lines


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: text.replace('"stream"', '"strem"'), "is damaged"),
        (lambda text: "[]", "is damaged"),
        (lambda text: text.replace("3\\n", "4\\n"), "was changed after it was recorded"),
        (lambda text: text.replace('s": "', 's": "1', 1), "was recorded from other code (its cells changed)"),
    ],
    ids=["half", "no output", "a list", "edited", "other code"],
)
def test_what_the_oldest_jax_gave_is_left_out_where_it_does_not_fit(of_two, outputs, capsys, change, why):
    newest = recordings.read(*of_page(of_two))
    path = recordings.write(of_page(of_two)[0], of_two, newest, {"add"})
    assert outputs().oldest.cells == {"add": newest.outputs[1]}
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    assert outputs().oldest is None and outputs().outputs == newest.outputs
    assert f"note: {OLDEST} {why}: not used" in capsys.readouterr().out


def test_what_failed_is_not_recorded_and_the_rest_is(folder):
    before = (folder / FIRST).read_bytes()
    small_book.replace(folder / "lessons/first/demo.py", "1 + 1", "1 / 0")
    assert small_book.tool(folder, "sync").returncode == 0
    (folder / "book/outputs/other.json").unlink()
    result = small_book.tool(folder, "record")
    assert result.returncode == 1 and "book/en/first.md:" in result.stderr
    assert "cell `add` failed: ZeroDivisionError" in result.stderr and "----> 1 print(1 / 0)" in result.stderr
    assert f"{FIRST} is unchanged" in result.stderr and (folder / FIRST).read_bytes() == before
    assert recordings.read(*of_page(folder, "other")).outputs[0][0]["text"] == "of the other\n"


@pytest.mark.parametrize("tool", [record, verify])
def test_a_page_that_does_not_exist_is_one_sentence(tool, capsys):
    assert tool.main(["thrid"]) == 2
    assert capsys.readouterr().err.startswith("no page is called “thrid”: choose from index, start, ch01_devices, ")


def said(folder, *arguments: str) -> tuple[int, list[str]]:
    """The exit status of `make verify` and what it said, without the passing news."""
    done = small_book.tool(folder, "verify", *arguments)
    return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if "executing" not in line]


def test_a_changed_output_is_named_by_page_and_cell_and_the_same_one_is_taken_over(folder):
    with (folder / "minipod/torus.py").open("a") as file:
        file.write("\nprint('told')\n")
    (folder / "lessons/other/figures.toml").write_text("a = 1\n")
    before = (folder / "book/outputs/other.json").read_text("utf-8").splitlines()
    code, lines = said(folder)
    assert code == 1 and lines.count("told") == 1 and len(lines) == 4
    (told,) = (line for line in lines if line.startswith("first, cell draw: its outputs were execute_result "))
    assert "and are stream, execute_result" in told
    assert "book/outputs/other.json: same outputs; the recording now belongs to the current page" in lines
    assert lines[-1].startswith("2 pages executed in ") and lines[-1].endswith("s: 1 cells differ, on first")
    assert recordings.read(*of_page(folder, "other"))
    changed = {*(folder / "book/outputs/other.json").read_text("utf-8").splitlines()} ^ {*before}
    assert [line for line in changed if "figures.toml" not in line and "its cells" not in line] == []


def test_only_pages_that_reach_what_has_changed_are_verified(capsys):
    names = ["index", "ch03_sharding", "ch10_processes", "ch15_pods"]
    for changed, found in {
        "minipod/pods/plan.py": ["ch15_pods"],
        "minipod/cluster/launch.py": ["index", "ch10_processes"],
        "minipod/hlo/loops.py": names,
        "lessons/ch10_processes/hello.py": ["ch10_processes"],
        "minipod/doctor/report.py": [],
    }.items():
        assert verify.reaching({changed, "README.md"}, names) == found
    assert verify.main(["--since", "no-such-commit"]) == 1
    said = capsys.readouterr()
    assert (said.out + said.err).startswith("git cannot compare with “no-such-commit”: ")


def test_what_is_written_is_read_back_as_it_was(tmp_path):
    page = read_page(small_book.make(tmp_path) / "book/en/first.md", tmp_path)
    texts = ["a\n\nb\n", "<svg><g></g>\n<text>1 &gt; 0</text></svg>", "", "\n", "no end"]
    data = {"text/html": texts[1], "application/json": {"a": [1]}}
    kept = [[{"output_type": "stream", "name": "stdout", "text": text} for text in texts]]
    kept.append([{"output_type": "execute_result", "data": data, "metadata": {}}])
    recording = recordings.Recording({"its cells": "1"}, recordings.now(), 1.5, kept)
    recordings.write(page, tmp_path, recording)
    assert recordings.read(page, tmp_path, {"its cells": "1"}) == recording


def test_what_cells_reach_is_followed_through_imports_and_names(tmp_path):
    small_book.make(tmp_path)
    sources = {
        "lessons/__init__.py": "",
        "lessons/other/__init__.py": "",
        "lessons/other/used.py": "def f():\n    import lessons.other.deep.inner\n    return '-m', 'lessons.child'\n",
        "lessons/other/deep/__init__.py": "",
        "lessons/other/deep/inner.py": "from . import beside\nfrom ..far import x\n",
        "lessons/other/deep/beside.py": "import lessons.other.used, minipod.torus",
        "lessons/other/far.py": "syntax error",
        "lessons/child.py": "",
        "lessons/first/hello.py": "import neighbour\n",
        "lessons/first/neighbour.py": "open('data.txt')",
        "lessons/first/data.txt": "",
        "solutions/first.py": "",
    }
    never = {"lessons/other/other.py": "", "lessons/first/never.py": "", "solutions/other.py": ""}
    tools = {"minipod/__init__.py": "", "minipod/torus.py": "from grader import run", "grader/run.py": ""}
    for name, text in (sources | never | tools).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    page = tmp_path / "book/en/first.md"
    cell = "import json, lessons.other.used, solutions.first\nrun('hello.py')"
    page.write_text(page.read_text().replace(":cell: draw\n", f":cell: draw\n{cell}\n"))

    def found(*rooms: str) -> set[str]:
        return {p.relative_to(tmp_path).as_posix() for p in reached(read_page(page, tmp_path), tmp_path, rooms)}

    assert found(*SAID) == {*sources} - {"lessons/__init__.py"}  # which only hands readers of notebooks to the checker
    assert found(*SAID, *TOOLS) == found(*SAID) | {*tools}


def test_a_message_is_one_piece_so_that_those_of_two_pages_do_not_mix(monkeypatch):
    """Two pages that ended at once stood in one line of `make verify`, and then there was an empty one."""
    out = mock.Mock(isatty=lambda: False)
    monkeypatch.setattr(sys, "stdout", out)
    progress_line.done("first: done")
    assert [call.args for call in out.write.call_args_list] == [("first: done\n",)]
