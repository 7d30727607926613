"""Recorded outputs: taken where they are of the same code, executed where they are not, written by `make record`."""

import dataclasses
import json
import re
import shutil
import subprocess

import pytest
import small_book
from bs4 import BeautifulSoup

from publish import sync
from publish.outputs import execute, recordings
from publish.outputs.dependencies import SAID, TOOLS, reached
from publish.outputs.execute import Executed
from publish.page import ROOT, read_page


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A small book whose outputs have been recorded, and what recording said."""
    folder = small_book.make(tmp_path_factory.mktemp("recorded"), machine=True)
    small_book.add(folder, "other", "print('of the other')")
    assert small_book.tool(folder, "sync").returncode == 0
    result = small_book.tool(folder, "record")
    assert result.returncode == 0, result.stdout + result.stderr
    return folder, result.stdout


@pytest.fixture
def folder(recorded, tmp_path):
    """A copy of the recorded book that may be changed."""
    return shutil.copytree(recorded[0], tmp_path / "book")


@pytest.fixture
def outputs(folder, monkeypatch):
    """The outputs of the first page as a build would have them; executing gives the text «fresh» without executing."""

    def fresh(page, root):
        return Executed([[{"output_type": "stream", "name": "stdout", "text": "fresh"}] for _ in page.cells], 2, 1, [])

    monkeypatch.setattr(execute, "fresh", fresh)

    def first(**options) -> Executed:
        page = read_page(folder / "book/en/first.md", folder)
        return execute.chapter(page, folder, folder / "_build", **options)

    return first


def append(path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + text, "utf-8")


def test_record_writes_a_file_for_each_page_with_code(recorded):
    folder, said = recorded
    assert sorted(p.name for p in (folder / "book/outputs").iterdir()) == ["first.json", "other.json"]
    assert "book/outputs/first.json: recorded in" in said and not (folder / "_build").exists()
    text = (folder / "book/outputs/first.json").read_text("utf-8")
    found = json.loads(text)
    assert [cell["name"] for cell in found["cells"]] == ["draw", "add"] and '      "2\\n"' in text.splitlines()
    assert found["made"]["python"] and found["made"]["packages"]["jax"] and found["made"]["on"] and found["seconds"] > 0
    assert str(folder) not in text and len(text.splitlines()) > 60  # a picture is many lines


def test_a_recorded_book_executes_nothing_and_says_when_and_with_what_it_was_recorded(folder):
    for edition in ("en", "zh-Hans"):
        append(folder / "book" / edition / "index.md", "\n% status table\n")
    result = small_book.tool(folder, "build")
    assert result.returncode == 0, result.stderr
    assert "cells executed by edition: en 0 · zh-Hans 0 · zh-Hant 0" in result.stdout
    assert "outputs of 2 pages as recorded; `make book FRESH=1` executes every cell here" in result.stdout
    assert "note:" not in result.stdout and not (folder / "_build/cells").exists()
    assert "device 7" in (folder / "_build/html/en/first.html").read_text("utf-8")
    made = json.loads((folder / "book/outputs/first.json").read_text("utf-8"))["made"]
    status = (folder / "_build/html/en/index.html").read_text("utf-8")
    said = f"Recorded on {made['on']}: with Python {made['python']}, jax {made['packages']['jax']}, jaxlib "
    assert said in status and f"on {made['platform']}." in status and "Executed here" not in status
    assert status.count(f"<p>recorded on {made['on']}</p>") == 2
    assert f"{made['on']} 錄製" in (folder / "_build/html/zh-Hant/index.html").read_text("utf-8")


@pytest.mark.long
def test_fresh_executes_every_cell_and_leaves_the_recordings(folder):
    before = {path: path.read_bytes() for path in (folder / "book/outputs").iterdir()}
    result = small_book.tool(folder, "build", "--fresh", "en")
    assert result.returncode == 0 and "cells executed by edition: en 3" in result.stdout, result.stderr
    assert {path: path.read_bytes() for path in (folder / "book/outputs").iterdir()} == before
    again = small_book.tool(folder, "build", "--fresh", "en")  # what was kept is no excuse
    assert "cells executed by edition: en 3" in again.stdout


def test_make_passes_fresh_and_pages_on():
    make = ["make", "-n", "-C", str(ROOT)]
    said = subprocess.run([*make, "book", "FRESH=1", "EDITIONS=en"], capture_output=True, text=True, timeout=600).stdout
    assert "-m publish.build --fresh en" in said
    said = subprocess.run([*make, "record", "PAGES=ch10_processes"], capture_output=True, text=True, timeout=600).stdout
    assert "-m publish.record ch10_processes" in said
    said = subprocess.run([*make, "record", "WHAT=*_plans"], capture_output=True, text=True, timeout=600).stdout
    assert "-m publish.record --what '*_plans'" in said
    said = subprocess.run([*make, "verify", "SINCE=main"], capture_output=True, text=True, timeout=600).stdout
    assert "-m publish.verify --since 'main'" in said


@pytest.mark.parametrize("module", ["minipod/drawing/svg.py", "minipod/__init__.py", "lessons/first/exercises.py"])
def test_a_line_of_a_tool_or_of_what_no_cell_names_executes_nothing(folder, outputs, module, capsys):
    (folder / module).touch()
    append(folder / module, "\n# changed\n")
    assert outputs().ran == 0 and outputs().made and not capsys.readouterr().out


def test_a_line_of_what_a_cell_says_executes_its_page_and_is_named(folder, outputs, capsys):
    (folder / "lessons/first/figures.toml").write_text("a = 1\n")
    page = folder / "book/en/first.md"
    page.write_text(page.read_text("utf-8").replace("print(1 + 1)", "print(1 + 2)"), "utf-8")
    assert outputs().ran == 2 and not outputs().made
    said = "note: book/outputs/first.json is of other code (its cells, lessons/first/figures.toml changed): not used "
    assert set(capsys.readouterr().out.splitlines()) == {said + "(`make record PAGES=first` writes it anew)"}


def test_what_was_executed_here_is_executed_again_with_other_tools(folder):
    page = read_page(folder / "book/en/first.md", folder)
    before = execute.key(page, folder)
    append(folder / "minipod/torus.py", "# changed\n")
    assert execute.key(page, folder) != before


def _cut(text: str) -> str:
    return text[: len(text) // 2]


def _one_cell_less(text: str) -> str:
    found = json.loads(text)
    found["cells"].pop()
    return json.dumps(found)


def _no_output(text: str) -> str:
    return text.replace('"output_type": "stream"', '"output_type": "strem"')


@pytest.mark.parametrize(
    "spoil",
    [_cut, _one_cell_less, _no_output, lambda _: "", lambda _: "[]", lambda _: "{}", lambda text: text + "}"],
)
def test_a_spoilt_recording_counts_as_absent_and_is_named(folder, outputs, spoil, capsys):
    path = folder / "book/outputs/first.json"
    path.write_text(spoil(path.read_text("utf-8")), "utf-8")
    assert outputs().ran == 2
    said = capsys.readouterr().out
    assert said.startswith("note: book/outputs/first.json ") and said.count("\n") == 1
    assert path.exists()


def test_a_recording_edited_by_hand_is_not_shown(folder, outputs, capsys):
    path = folder / "book/outputs/first.json"
    edited = path.read_text("utf-8").replace('"2\\n"', '"3\\n"')
    assert edited != path.read_text("utf-8")
    path.write_text(edited, "utf-8")
    assert outputs().ran == 2
    assert "first.json was changed after it was recorded: not used (`make record" in capsys.readouterr().out


def test_a_recording_of_other_versions_than_promised_is_shown_and_named(folder, outputs, capsys):
    (folder / "book/recordings.toml").write_text('[pages]\nversions = { jax = "0.9.0" }\n')
    assert outputs().ran == 0
    said = capsys.readouterr().out
    assert said.startswith("note: book/outputs/first.json was recorded with jax ") and said.count("\n") == 1
    assert "and the book is to be with jax 0.9.0" in said


@pytest.fixture
def of_two(folder):
    """The small book as recorded with a JAX of the future, which gives 3 for the cell «add»; ours is the oldest."""
    here, page = recordings.now(), read_page(folder / "book/en/first.md", folder)
    oldest = here.packages["jax"]
    numbers = f'[pages]\nversions = {{ jax = "99" }}\noldest = {{ jax = "{oldest}" }}\n'
    (folder / "book/recordings.toml").write_text(numbers)
    kept = recordings.read(page, folder, execute.sources(page, folder))
    assert kept
    outputs = [kept.outputs[0], [{**kept.outputs[1][0], "text": "3\n"}]]
    made = dataclasses.replace(here, packages={**here.packages, "jax": "99"})
    recordings.write(page, folder, dataclasses.replace(kept, made=made, outputs=outputs))
    return folder


def test_with_the_oldest_jax_only_what_differs_is_recorded_and_verified(of_two):
    newest = (of_two / "book/outputs/first.json").read_bytes()
    result = small_book.tool(of_two, "record", "first")
    assert result.returncode == 0, result.stderr
    assert "first, cell add: line 1: - 3 + 2" in result.stdout
    assert "book/outputs/oldest/first.json: recorded in" in result.stdout
    found = json.loads((of_two / "book/outputs/oldest/first.json").read_text("utf-8"))
    assert found["cells"] == [
        {"name": "add", "outputs": [{"output_type": "stream", "name": "stdout", "text": ["2\n"]}]}
    ]
    assert (of_two / "book/outputs/first.json").read_bytes() == newest
    result = small_book.tool(of_two, "verify", "first")
    assert result.returncode == 0 and "all as recorded" in result.stdout, result.stdout
    (of_two / "book/outputs/oldest/first.json").unlink()
    assert "first, cell add: line 1: - 3 + 2" in small_book.tool(of_two, "verify", "first").stdout


def test_what_the_oldest_jax_gives_otherwise_stands_below_its_cell_and_in_the_status_table(of_two):
    for edition in ("en", "zh-Hans"):
        append(of_two / "book" / edition / "index.md", "\n% status table\n")
    assert small_book.tool(of_two, "record", "first").returncode == 0
    result = small_book.tool(of_two, "build")
    assert result.returncode == 0, result.stderr
    oldest = recordings.now().packages["jax"]
    for edition, title, above, unknown in (
        ("en", f"With JAX {oldest} this cell gives", f"With JAX {oldest} these cells give something else", "not tried"),
        ("zh-Hans", f"在 JAX {oldest} 上，这个单元格的输出是", f"在 JAX {oldest} 上，以下单元格的输出不同", "未试"),
    ):
        page = BeautifulSoup((of_two / f"_build/html/{edition}/first.html").read_text("utf-8"), "html.parser")
        (box,) = (d for d in page.find_all("details") if title in d.summary.get_text())
        assert box.pre.get_text().strip() == "2" and box.find_previous("pre").get_text().strip() == "3"
        status = BeautifulSoup((of_two / f"_build/html/{edition}/index.html").read_text("utf-8"), "html.parser")
        (words,) = (p for p in status.find_all("p") if above in p.get_text())
        told = [item.get_text().strip() for item in words.find_next_sibling("ul").find_all("li")]
        assert [re.split("[:：]", text)[1].strip() for text in told] == ["add", unknown]
        (link,) = (a for a in status.find_all("a") if a.get_text() == "add")
        assert page.find(id=link["href"].removeprefix("first.html#"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "{", "is damaged"),
        (lambda text: text.replace("3\\n", "4\\n"), "was changed after it was recorded"),
        (
            lambda text: text.replace('"its cells": "', '"its cells": "1'),
            "is of other code (its cells changed)",
        ),
    ],
)
def test_what_the_oldest_jax_gave_is_left_out_where_it_does_not_fit(of_two, outputs, capsys, change, said):
    page = read_page(of_two / "book/en/first.md", of_two)
    newest = recordings.read(page, of_two, execute.sources(page, of_two))
    path = recordings.write(page, of_two, newest, {"add"})
    assert outputs().oldest.cells == {"add": newest.outputs[1]}
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    assert outputs().oldest is None and outputs().outputs == newest.outputs
    assert f"note: book/outputs/oldest/first.json {said}: not used" in capsys.readouterr().out


@pytest.mark.long
def test_a_recording_of_no_page_is_named(folder):
    shutil.copy(folder / "book/outputs/first.json", folder / "book/outputs/third.json")
    result = small_book.tool(folder, "build", "en")
    assert result.returncode == 0 and "note: book/outputs/third.json is of no page" in result.stdout


@pytest.mark.long
def test_what_failed_is_not_recorded_and_the_rest_is(folder):
    before = (folder / "book/outputs/first.json").read_bytes()
    demo = folder / "lessons/first/demo.py"
    demo.write_text(demo.read_text("utf-8").replace("1 + 1", "1 / 0"), "utf-8")
    assert small_book.tool(folder, "sync").returncode == 0
    other = folder / "book/outputs/other.json"
    other.unlink()
    result = small_book.tool(folder, "record")
    assert result.returncode == 1 and "cell «add» failed: ZeroDivisionError" in result.stderr
    assert "book/outputs/first.json stays as it was" in result.stderr
    assert (folder / "book/outputs/first.json").read_bytes() == before and other.exists()


def test_only_the_pages_that_are_asked_for_are_recorded(folder):
    for path in (folder / "book/outputs").iterdir():
        path.write_text("spoilt")
    result = small_book.tool(folder, "record", "other")
    assert result.returncode == 0, result.stderr
    assert (folder / "book/outputs/first.json").read_text() == "spoilt"
    page = read_page(folder / "book/en/other.md", folder)
    found = recordings.read(page, folder, execute.sources(page, folder))
    assert found and found.outputs[0][0]["text"] == "of the other\n"


def test_a_page_that_does_not_exist_is_one_sentence(folder):
    result = small_book.tool(folder, "record", "thrid")
    assert result.returncode == 2
    assert result.stderr == "no page is called «thrid»: choose from index, first, other\n"


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


def test_no_page_of_the_book_is_keyed_by_a_tool():
    for name in sync.chapters():
        page = read_page(ROOT / "book/en" / f"{name}.md")
        rooms = {path.partition("/")[0] for path in execute.sources(page, ROOT)}
        assert rooms <= {"its cells", "lessons", "solutions"}, name
