"""Building: a cell runs once for all editions, and again when its output could differ; failures name it."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
import small_book
from still_running import running_with, until

from publish.outputs.execute import key
from publish.page import read_page

EDITIONS = ("en", "zh-Hans", "zh-Hant")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small book, built: its folder, and what the build said."""
    folder = small_book.make(tmp_path_factory.mktemp("book"), machine=True)
    assert small_book.tool(folder, "sync").returncode == 0
    result = small_book.tool(folder, "build")
    assert result.returncode == 0, result.stdout + result.stderr
    return folder, result.stdout


def copy(built, tmp_path):
    folder = tmp_path / "book"
    shutil.copytree(built[0], folder)
    return folder


def executed(output: str) -> str:
    return next(line for line in output.splitlines() if line.startswith("cells executed by edition"))


def test_each_cell_runs_once_for_all_editions(built):
    assert executed(built[1]) == "cells executed by edition: en 2 · zh-Hans 0 · zh-Hant 0"


def test_every_edition_has_every_page_and_its_notebook(built):
    for edition in EDITIONS:
        for name in ("index", "first"):
            assert (built[0] / "_build/html" / edition / f"{name}.html").exists()
            assert (built[0] / "_build/html" / edition / "notebooks" / f"{name}.ipynb").exists()
    page = {e: (built[0] / "_build/html" / e / "first.html").read_text("utf-8") for e in EDITIONS}
    assert "device 7" in page["en"] and "设备 7" in page["zh-Hans"] and "裝置 7" in page["zh-Hant"]
    assert 'lang="en"' in page["en"] and 'lang="zh-CN"' in page["zh-Hans"] and 'lang="zh-TW"' in page["zh-Hant"]
    for text in page.values():
        assert '<section id="sec-second">' in text and "tag_mistake" in text
        assert '../en/first.html"' in text and "notebooks/first.ipynb" in text
    assert "再講集合通訊" in page["zh-Hant"] and "一段<strong>话</strong>" in page["zh-Hans"]


def test_an_unchanged_book_executes_nothing(built):
    result = small_book.tool(built[0], "build")
    assert result.returncode == 0 and executed(result.stdout).endswith("en 0 · zh-Hans 0 · zh-Hant 0")


def test_a_word_of_prose_executes_nothing_and_is_shown(built, tmp_path):
    folder = copy(built, tmp_path)
    page = folder / "book/en/first.md"
    page.write_text(page.read_text("utf-8").replace("More prose", "Other words"), "utf-8")
    result = small_book.tool(folder, "build", "en")
    assert result.returncode == 0, result.stderr
    assert executed(result.stdout) == "cells executed by edition: en 0"
    assert "Other words" in (folder / "_build/html/en/first.html").read_text("utf-8")
    assert small_book.tool(folder, "build", "--build", str(tmp_path / "anew"), "en").returncode == 0
    changed, anew = (_files(build / "html/en") for build in (folder / "_build", tmp_path / "anew"))
    assert changed == anew, [name for name in changed.keys() | anew.keys() if changed.get(name) != anew.get(name)]


def _files(folder):
    """What a reader gets: each file, without the numbers that make browsers load a style sheet again."""
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("[!.]*") if p.is_file()}
    return {name: re.sub(rb"\?v=[0-9a-f]{8}", b"", content) for name, content in found.items()}


@pytest.mark.long
def test_a_line_of_pictures_executes_the_pages_that_use_minipod(built, tmp_path):
    folder = copy(built, tmp_path)
    pictures = folder / "minipod/pictures/hosts_and_devices.py"
    pictures.write_text(pictures.read_text("utf-8") + "\n# changed\n", "utf-8")
    result = small_book.tool(folder, "build", "en")
    assert result.returncode == 0, result.stderr
    assert executed(result.stdout) == "cells executed by edition: en 2"


def test_what_a_lesson_reads_belongs_to_the_key_and_its_words_do_not(tmp_path):
    folder = small_book.make(tmp_path, machine=True)
    (folder / "lessons/first").mkdir(parents=True, exist_ok=True)
    page = read_page(folder / "book/en/first.md", folder)
    before = key(page, folder)
    (folder / "lessons/first/words.toml").write_text("a = 1\n")
    (folder / "lessons/first/others").mkdir()
    (folder / "lessons/first/others/same.toml").write_text("a = 1\n")
    assert key(page, folder) == before
    (folder / "lessons/first/figures.toml").write_text("a = 1\n")
    with_figures = key(page, folder)
    (folder / "lessons/first/text.txt").write_text("a text\n")
    assert len({before, with_figures, key(page, folder)}) == 3


@pytest.mark.long
def test_the_readers_own_settings_change_no_output(tmp_path):
    folder = small_book.make(tmp_path, machine=True)
    demo = folder / "lessons/first/demo.py"
    demo.write_text(demo.read_text().replace("print(1 + 1)", "import jax\n\nprint(jax.numpy.ones(2).dtype)"))
    assert small_book.tool(folder, "sync").returncode == 0
    settings = {"JAX_ENABLE_X64": "1", "XLA_FLAGS": "--nothing_of_the_kind", "JAX_PLATFORMS": "tpu"}
    result = small_book.tool(folder, "build", "en", **settings)
    assert result.returncode == 0, result.stderr
    assert "float32" in (folder / "_build/html/en/first.html").read_text("utf-8")


def test_a_failing_cell_fails_the_build_and_is_named(built, tmp_path):
    folder = copy(built, tmp_path)
    demo = folder / "lessons/first/demo.py"
    demo.write_text(demo.read_text().replace("1 + 1", "1 / 0"))
    assert small_book.tool(folder, "sync").returncode == 0
    result = small_book.tool(folder, "build", "en")
    assert result.returncode == 1
    assert "book/en/first.md:" in result.stderr and "cell «add» failed: ZeroDivisionError" in result.stderr
    assert "----> 1 print(1 / 0)" in result.stderr


def test_a_stale_page_fails_the_build(built, tmp_path):
    folder = copy(built, tmp_path)
    demo = folder / "lessons/first/demo.py"
    demo.write_text(demo.read_text().replace("1 + 1", "1 + 2"))
    result = small_book.tool(folder, "build")
    assert result.returncode == 1 and "book/en/first.md" in result.stderr and "«add»" in result.stderr


@pytest.mark.long
def test_a_reference_to_nothing_fails_the_build(built, tmp_path):
    folder = copy(built, tmp_path)
    for edition in ("en", "zh-Hans"):
        page = folder / "book" / edition / "first.md"
        page.write_text(page.read_text("utf-8").replace("{ref}`sec-first`", "{ref}`sec-nowhere`"), "utf-8")
    for _ in range(2):  # the second time too
        result = small_book.tool(folder, "build")
        assert result.returncode == 1 and "sec-nowhere" in result.stderr and "Traceback" not in result.stderr


def test_an_unknown_edition_is_one_sentence():
    result = small_book.tool(small_book.ROOT, "build", "fr")
    assert result.returncode == 2
    assert result.stderr == "no edition is called «fr»: choose from en, zh-Hans, zh-Hant\n"


def test_notebooks_are_plain_markdown(built):
    for edition in EDITIONS:
        notebook = json.loads((built[0] / "_build/html" / edition / "notebooks/first.ipynb").read_text("utf-8"))
        text = "\n".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
        assert ":::" not in text and "{ref}" not in text and ")=" not in text and "(#sec-first)" in text


@pytest.mark.long
def test_the_status_page_adds_up_what_ran(built, tmp_path):
    folder = copy(built, tmp_path)
    for edition in ("en", "zh-Hans"):
        index = folder / "book" / edition / "index.md"
        index.write_text(index.read_text("utf-8") + "\n% status table\n", "utf-8")
    result = small_book.tool(folder, "build")
    assert result.returncode == 0, result.stderr
    for edition, total, here in (("en", "All pages", "here"), ("zh-Hans", "合计", "本机"), ("zh-Hant", "合計", "本機")):
        page = (folder / "_build/html" / edition / "index.html").read_text("utf-8")
        rows = [re.findall(r"<p>(.*?)</p>", row) for row in re.findall(r"<tr.*?</tr>", page, re.S)]
        seconds = float(rows[1][4])
        assert 0 < seconds < 600 and 'href="first.html"' in rows[1][0]
        assert rows[1][1:4] == ["2", "0", "0"] and rows[2][:5] == [total, "2", "0", "0", f"{seconds:.1f}"]
        assert rows[1][5] == here and "Python 3." in page


@pytest.mark.long
def test_who_builds_for_the_first_time_reads_before_the_last_cell_has_run(tmp_path):
    folder = small_book.make(tmp_path, machine=True)
    demo, go = folder / "lessons/first/demo.py", tmp_path / "go"
    small_book.set_constant(folder, "build.py", "EARLY", 0.1)
    small_book.set_constant(folder, "outputs/execute.py", "LIMIT", 3600)
    wait = f"import time\n\nwhile not __import__('os').path.exists({str(go)!r}):\n    time.sleep(0.1)\n"
    demo.write_text(demo.read_text().replace("print(1", wait + "print(1"))
    assert small_book.tool(folder, "sync").returncode == 0
    command = [sys.executable, "-m", "publish.build"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout
        lines: list[str] = []
        for line in running.stdout:
            lines.append(line)
            if line.startswith("you can read the book already"):
                break
        page = folder / "_build/html/zh-Hant/first.html"
        waiting = page.read_text("utf-8") if page.exists() else ""
        go.touch()
        rest = running.stdout.read()
    assert lines[-1].endswith("with outputs to come: first\n") and running.returncode == 0, "".join(lines) + rest
    assert "說明</p>" in waiting and "本頁的程式還在執行" in waiting and "裝置 7" not in waiting
    assert "本頁的程式還在執行" not in page.read_text("utf-8") and "裝置 7" in page.read_text("utf-8")
    assert executed(rest) == "cells executed by edition: en 2 · zh-Hans 0 · zh-Hant 0"


@pytest.mark.long
def test_nothing_goes_on_when_the_build_is_killed(tmp_path):
    folder = small_book.make(tmp_path, machine=True)
    assert small_book.tool(folder, "sync").returncode == 0
    with subprocess.Popen([sys.executable, "-m", "publish.build", "en"], cwd=folder, stdout=subprocess.PIPE) as running:
        assert until(lambda: (folder / "_build/doctrees/en").exists())  # past its imports, and bound to its parent
        for one in running_with("write_edition", str(folder), seconds=0):
            os.kill(one, signal.SIGSTOP)  # it would end by itself, soon enough to be taken for ended
        running.kill()
    left = running_with(str(folder))
    for one in left:
        os.kill(one, signal.SIGKILL)
    assert left == []


@pytest.mark.long
def test_the_book_can_be_built_in_another_folder(tmp_path):
    folder, other = small_book.make(tmp_path / "book", machine=True), tmp_path / "other"
    assert small_book.tool(folder, "sync").returncode == 0
    result = small_book.tool(folder, "build", "--build", str(other), "en")
    assert result.returncode == 0, result.stderr
    assert f"the book is in {other / 'html'}" in result.stdout
    assert not (folder / "_build").exists() and (other / "html/index.html").exists()
    again = small_book.tool(folder, "build", "--build", str(other), "en")
    assert executed(again.stdout) == "cells executed by edition: en 0"
    help = small_book.tool(folder, "build", "--help").stdout
    assert "--build FOLDER" in help and "zh-Hant" in help


def test_tests_do_not_build_where_readers_do(monkeypatch):
    calls = []

    def run(command, **options):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(small_book, "alone", contextlib.nullcontext)
    html = small_book.real_book()
    (command,) = calls
    assert command[-2:] == ["--build", str(html.parent)] and small_book.ROOT / "_build" not in [html, *html.parents]
