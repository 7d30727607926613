"""A cell that fails costs its page the outputs from there on, and the book nothing."""

import json
import re

import pytest
import small_book
from bs4 import BeautifulSoup

RAISES = "raise RuntimeError('first\\n:::\\n' + '`' * 3 + '\\nthe last line')"
PAGES = {
    "raises": ("print('before')", f"print('so far')\n{RAISES}", "print('never')"),
    "slow": ("print('before')", "import time\n\ntime.sleep(3600)", "print('never')"),
    "dies": ("print('before')", "import os\n\nos.write(2, b'so far\\n')\nos._exit(7)", "print('never')"),
    "warns": ("print('before')", "import warnings\n\nwarnings.warn('old name', stacklevel=1)", "print('after')"),
}
pytestmark = [pytest.mark.long, pytest.mark.rarely]  # five minutes, of a builder that seldom changes


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A book with a good page and four that fail, built while none was there."""
    folder = small_book.make(tmp_path_factory.mktemp("failing"), machine=True)
    for name, cells in PAGES.items():
        small_book.add(folder, name, *cells)
    small_book.edit(folder, "index", ("", "\n% status table\n"))
    small_book.constant(folder, "outputs/execute.py", "LIMIT", 10)
    execute = folder / "publish/outputs/execute.py"  # the others import JAX, which may take long
    small_book.replace(execute, "timeout=LIMIT", 'timeout=LIMIT if name == "slow" else 600')
    assert small_book.tool(folder, "sync").returncode == 0
    return folder, small_book.tool(folder, "build")


def page(folder, name, edition="en") -> str:
    return (folder / "_build/html" / edition / f"{name}.html").read_text("utf-8")


def boxes(html: str) -> list[str]:
    """The text of each box of a page, in order."""
    found = BeautifulSoup(html, "html.parser").select("div.admonition")
    return [re.sub(r"\s+", " ", box.get_text()).strip() for box in found]


def test_the_build_names_each_failed_cell_and_writes_every_page(failing):
    folder, result = failing
    assert result.returncode == 1
    told = result.stderr
    assert "book/en/raises.md:22: cell `two` failed: RuntimeError: first" in told and "so far" in told
    assert "----> 2 raise RuntimeError" in told
    assert "book/en/slow.md:22: cell `two` failed: took longer than 10 s" in told
    assert "book/en/dies.md:22: cell `two` failed: ended the Python process" in told
    assert "book/en/warns.md:22: cell `two` warns:" in told
    assert "a cell failed on raises, slow, dies, warns: the page says where" in told.splitlines()[-1]
    assert "first.md" not in told and "message handler" not in told
    for edition in small_book.EDITIONS:
        for name in ("index", "first", *PAGES):
            assert page(folder, name, edition)
    assert "device 7" in page(folder, "first")


SAID = [
    ("raises", "en", ["the cell ended with an error: RuntimeError: first ::: ``` the last line", "demo.py"]),
    ("raises", "zh-Hans", ["这个单元格以错误结束： RuntimeError: first ::: ``` the last line", "minipod doctor"]),
    ("slow", "zh-Hans", ["运行超过 10 秒"]),
    ("dies", "en", ["ended its Python process. so far", "minipod doctor"]),
    ("warns", "zh-Hant", ["警告", "old name"]),
]


def test_the_page_says_what_happened_and_what_helps_in_the_readers_language(failing):
    for name, edition, expected in SAID:
        html = page(failing[0], name, edition)
        above, box = boxes(html)
        assert [words for words in expected if words not in box] == [], (name, edition)
        link = f'href="#failed-{name}"'
        assert link in html and html.index(link) < html.index("before") < html.index(f'id="failed-{name}"')
        assert above.startswith("Note When this copy" if edition == "en" else ("说明", "說明"))
        assert "<pre" not in box and "{ref}" not in html
    # Outputs end at the failed cell, but not at a warning.
    for name in PAGES:
        book = json.loads((failing[0] / f"_build/html/zh-Hant/notebooks/{name}.ipynb").read_text("utf-8"))
        cells = [c for c in book["cells"] if c["cell_type"] == "code"][1:]
        printed = ["".join("".join(o["text"]) for o in c["outputs"]) for c in cells]
        warns, so_far = name == "warns", "so far\n" if name == "raises" else ""
        assert printed == ["before\n", so_far, "after\n" if warns else ""]
        assert [c["execution_count"] for c in cells] == ([1, 2, 3] if warns else [1, None, None])
        text = "\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "markdown")
        assert f'<a id="failed-{name}"></a>' in text and f"(#failed-{name})" in text


def test_the_status_table_leads_to_the_failed_cells(failing):
    html = page(failing[0], "index")
    rows = [re.findall(r"<p>(.*?)</p>", row, re.S) for row in re.findall(r"<tr.*?</tr>", html, re.S)]
    rows = {re.sub("<[^>]+>", "", row[0]): row[1:] for row in rows if row}
    assert rows["First"][:3] == ["2", "0", "0"] and float(rows["First"][3]) > 0
    assert rows["Page raises"][0] == "1" and 'href="raises.html#failed-raises"' in rows["Page raises"][3]
    assert re.sub("<[^>]+>", "", rows["Page raises"][3]) == "failed"
    assert rows["Page warns"][0] == "3" and re.sub("<[^>]+>", "", rows["Page warns"][3]) == "warned"
    assert rows["All pages"][0] == "8"
    assert ">出錯<" in page(failing[0], "index", "zh-Hant")


def test_the_next_build_tries_the_failed_pages_alone_and_mends_them(failing):
    folder, _ = failing
    for name in PAGES:
        demo = folder / "lessons" / name / "demo.py"
        good = "# %% one\nprint('before')\n\n# %% two\nprint('mended')\n\n# %% three\nprint('after')\n"
        if name != "raises":
            demo.write_text(good, "utf-8")
    assert small_book.tool(folder, "sync").returncode == 0
    again = small_book.tool(folder, "build")
    assert again.returncode == 1 and "a cell failed on raises: the page says" in again.stderr.splitlines()[-1]
    assert "executed 11 cells" in again.stdout  # 3 × 3, and 2 of the page that fails again; the first page is kept
    assert boxes(page(folder, "dies")) == [] and "mended" in page(folder, "dies")
    third = small_book.tool(folder, "build")
    assert third.returncode == 1 and "executed 2 cells" in third.stdout
    (folder / "lessons/raises/demo.py").write_text(good, "utf-8")
    assert small_book.tool(folder, "sync").returncode == 0
    last = small_book.tool(folder, "build")
    assert last.returncode == 0 and not last.stderr and boxes(page(folder, "raises", "zh-Hant")) == []


def test_a_kernel_that_does_not_start_is_a_failed_page(tmp_path):
    folder = small_book.make(tmp_path / "book", machine=True)
    assert small_book.tool(folder, "sync").returncode == 0
    (folder / "ipykernel_launcher.py").write_text("raise SystemExit('no kernel today')\n")
    result = small_book.tool(folder, "build", "en")
    assert result.returncode == 1 and "book/en/first.md:15: cell `draw` failed: " in result.stderr
    assert "Traceback" not in result.stderr
    box = boxes(page(folder, "first"))[1]
    assert "ended with an error" in box and "Kernel died" in box and "no kernel today" in box
