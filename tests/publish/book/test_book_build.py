"""Building: a cell runs once for all editions, and again when its output could differ; failures name it."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
import small_book
from bs4 import BeautifulSoup
from still_running import running_with, until

from publish import build
from publish.outputs import execute, recordings
from publish.page import read_page
from publish.sync import Result

BUILT = ("en", "zh-Hant")  # the tests of the real book look at zh-Hans


def to_build(folder, demo: str = small_book.LIGHT):
    """A small book, in sync."""
    small_book.make(folder, machine=True, demo=demo)
    assert small_book.tool(folder, "sync").returncode == 0
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small book, built twice: its folder, and what the builds said.

    The page `other` is recorded with a JAX of the future; its second cell gives something else with this one.
    """

    def make(folder) -> list[str]:
        small_book.make(folder, machine=True)
        small_book.add(folder, "other", "print('of the other')", "print(3)")
        small_book.edit(folder, "index", ("", "\n% status table\n"))
        assert small_book.tool(folder, "sync").returncode == 0
        page, here = read_page(folder / "book/en/other.md", folder), recordings.now()
        oldest = here.packages["jax"]
        versions = f'[pages]\nversions = {{ jax = "99" }}\noldest = {{ jax = "{oldest}" }}\n'
        (folder / "book/recordings.toml").write_text(versions)
        for jax, second, differ in (("99", "4\n", None), (oldest, "3\n", {"two"})):
            made = dataclasses.replace(here, packages=here.packages | {"jax": jax})
            outputs = [[{"output_type": "stream", "name": "stdout", "text": t}] for t in ("of the other\n", second)]
            recording = recordings.Recording(execute.sources(page, folder), made, 1.0, outputs)
            recordings.write(page, folder, recording, differ)
        builds = [small_book.tool(folder, "build", *BUILT) for _ in range(2)]
        assert [each.returncode for each in builds] == [0, 0], [each.stdout + each.stderr for each in builds]
        return [each.stdout for each in builds]

    return small_book.once(tmp_path_factory, "built", make)


def page(folder, name: str, edition: str = "en") -> str:
    return (folder / "_build/html" / edition / f"{name}.html").read_text("utf-8")


def executed(output: str) -> str:
    return next(line for line in output.splitlines() if line.startswith("cells executed by edition"))


def test_each_cell_runs_once_for_all_editions_and_what_is_recorded_is_taken(built):
    _, (said, again) = built
    assert executed(said) == "cells executed by edition: en 2 · zh-Hant 0"
    assert "outputs of 1 pages are as recorded; `make book FRESH=1` executes every cell here" in said
    assert "note:" not in said
    assert executed(again).endswith("en 0 · zh-Hant 0")


def test_every_edition_has_every_page_and_its_notebook_in_plain_markdown(built):
    for edition in BUILT:
        assert "</html>" in page(built[0], "index", edition)
        folder = built[0] / "_build/html" / edition / "notebooks"
        assert {path.stem for path in folder.iterdir()} == {"index", "first", "other"}
        cells = json.loads((folder / "first.ipynb").read_text("utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        assert ":::" not in text and "{ref}" not in text and ")=" not in text and "(#sec-first)" in text
    first = {edition: page(built[0], "first", edition) for edition in BUILT}
    assert "device 7" in first["en"] and "裝置 7" in first["zh-Hant"]
    assert 'lang="en"' in first["en"] and 'lang="zh-TW"' in first["zh-Hant"]
    for text in first.values():
        assert '<section id="sec-second">' in text and "tag_mistake" in text
        assert '../en/first.html"' in text and "notebooks/first.ipynb" in text
    assert "再講集合通訊" in first["zh-Hant"] and "一段<strong>話</strong>" in first["zh-Hant"]


def test_the_status_page_adds_up_what_ran_and_says_with_what_the_rest_was_recorded(built):
    made = recordings.now()
    for edition, total, here, kept in (
        ("en", "All pages", "here", f"recorded on {made.on}"),
        ("zh-Hant", "合計", "本機", f"{made.on} 錄製"),
    ):
        status = page(built[0], "index", edition)
        rows = [re.findall(r"<p>(.*?)</p>", row) for row in re.findall(r"<tr.*?</tr>", status, re.S)]
        seconds = float(rows[1][4])
        assert seconds > 0 and 'href="first.html"' in rows[1][0]
        assert rows[1][1:4] == rows[2][1:4] == ["2", "0", "0"] and (rows[1][5], rows[2][5]) == (here, kept)
        assert rows[3][:5] == [total, "4", "0", "0", f"{seconds + 1:.1f}"]
    said = f"Recorded on {made.on}: with Python {made.python}, jax 99, jaxlib "
    status = page(built[0], "index")
    assert said in status and f"on {made.platform}." in status and "Executed here" in status


def test_what_the_oldest_jax_gives_otherwise_stands_below_its_cell_and_in_the_status_table(built):
    jax = f"JAX {recordings.now().packages['jax']}"
    for edition, title, above, unknown in (
        ("en", f"With {jax} this cell gives", f"With {jax}, the outputs of these cells differ", "not tried"),
        ("zh-Hant", f"在 {jax} 上，這個儲存格的輸出是", f"在 {jax} 上，以下儲存格的輸出不同", "未試"),
    ):
        other, status = (BeautifulSoup(page(built[0], name, edition), "html.parser") for name in ("other", "index"))
        (box,) = (d for d in other.find_all("details") if title in d.summary.get_text())
        assert box.pre.get_text().strip() == "3" and box.find_previous("pre").get_text().strip() == "4"
        (words,) = (p for p in status.find_all("p") if above in p.get_text())
        told = [item.get_text().strip() for item in words.find_next_sibling("ul").find_all("li")]
        assert sorted(re.split("[:：]", text)[1].strip() for text in told) == sorted(["two", unknown])
        (link,) = (a for a in status.find_all("a") if a.get_text() == "two")
        assert other.find(id=link["href"].removeprefix("other.html#"))


def files_of(folder):
    """What a reader gets: each file, without the numbers that make browsers load a style sheet again."""
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("[!.]*") if p.is_file()}
    return {name: re.sub(rb"\?v=[0-9a-f]{8}", b"", content) for name, content in found.items()}


def test_a_word_of_prose_executes_nothing_and_is_shown_as_in_a_book_made_anew(built, tmp_path):
    folder = shutil.copytree(built[0], tmp_path / "book")
    small_book.edit(folder, "first", ("More prose", "Other words"), editions=("en",))
    result = small_book.tool(folder, "build", "en")
    assert result.returncode == 0, result.stderr
    assert executed(result.stdout) == "cells executed by edition: en 0" and "Other words" in page(folder, "first")
    (folder / "anew").mkdir()
    shutil.copytree(folder / "_build/cells", folder / "anew/cells")
    result = small_book.tool(folder, "build", "--build", str(folder / "anew"), "en")
    assert result.returncode == 0 and "the book is in anew/html" in result.stdout, result.stderr
    changed, anew = (files_of(folder / build / "html/en") for build in ("_build", "anew"))
    assert changed == anew, [name for name in changed.keys() | anew.keys() if changed.get(name) != anew.get(name)]


def test_a_failing_cell_fails_the_build_and_is_named(monkeypatch, tmp_path, capsys):
    """What its page says: test_book_failures.py; how it is reported: test_book_recorded.py."""
    failure = execute.Failure(0, "raised", "", "book/en/first.md:15: cell `add` failed: ZeroDivisionError")
    done = execute.Executed([[]], 1, 1.0, [], failure=failure)
    monkeypatch.setattr(build.sync, "check", lambda: Result({}, [], []))
    monkeypatch.setattr(build, "execute", lambda *_: {"first": done})
    monkeypatch.setattr(build.package, "write", lambda _: False)
    monkeypatch.setattr(build, "write_editions", lambda *_: {"en": 1.0})
    assert build.main(["--build", str(tmp_path), "en"]) == 1
    said = capsys.readouterr().err
    assert failure.report in said and "but a cell failed on first: the page says where, and what helps" in said


def test_a_stale_page_and_an_unknown_edition_end_the_build_before_it_begins(tmp_path, monkeypatch, capsys):
    stale = {tmp_path / "first.md": ("", "book/en/first.md: the cell `add` is not what demo.py says")}
    monkeypatch.setattr(build.sync, "check", lambda: Result(stale, [], []))
    assert build.main(["--build", str(tmp_path / "build")]) == 1 and not (tmp_path / "build").exists()
    assert "the cell `add` is not what demo.py says: run `make sync`" in capsys.readouterr().err
    assert build.main(["fr"]) == 2
    assert capsys.readouterr().err == "no edition is called “fr”: choose from en, zh-Hans, zh-Hant\n"


def test_what_a_lesson_reads_belongs_to_the_key_and_its_words_do_not(tmp_path):
    folder = small_book.make(tmp_path, machine=True)
    page = read_page(folder / "book/en/first.md", folder)
    before = execute.key(page, folder)
    (folder / "lessons/first/words.toml").write_text("a = 1\n")
    assert execute.key(page, folder) == before
    keys = {before}
    for name in ("lessons/first/figures.toml", "lessons/first/text.txt", "minipod/torus.py"):  # a tool is, too
        with (folder / name).open("a") as file:
            file.write("# changed\n")
        keys.add(execute.key(page, folder))
    assert len(keys) == 4


@pytest.mark.long
def test_the_readers_own_settings_change_no_output(tmp_path):
    folder = to_build(tmp_path, small_book.DEMO.replace("print(1 + 1)", "import jax\n\nprint(jax.numpy.ones(2).dtype)"))
    settings = {"JAX_ENABLE_X64": "1", "XLA_FLAGS": "--nothing_of_the_kind", "JAX_PLATFORMS": "tpu"}
    result = small_book.tool(folder, "build", "en", **settings)
    assert result.returncode == 0 and "float32" in page(folder, "first"), result.stderr


@pytest.mark.long
def test_a_reference_to_nothing_fails_the_build(tmp_path):
    folder = to_build(tmp_path)
    small_book.edit(folder, "first", ("{ref}`sec-first`", "{ref}`sec-nowhere`"))
    for _ in range(2):  # the second time too
        result = small_book.tool(folder, "build")
        assert result.returncode == 1 and "sec-nowhere" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.long
def test_nothing_goes_on_when_the_build_is_killed(tmp_path):
    folder = to_build(tmp_path)
    with subprocess.Popen([sys.executable, "-m", "publish.build", "en"], cwd=folder, stdout=subprocess.PIPE) as running:
        assert until(lambda: (folder / "_build/doctrees/en").exists())  # past its imports, and bound to its parent
        for one in running_with("write_edition", str(folder), seconds=0):
            os.kill(one, signal.SIGSTOP)  # it would end by itself, soon enough to be taken for ended
        running.kill()
    left = running_with(str(folder))
    for one in left:
        os.kill(one, signal.SIGKILL)
    assert left == []
