"""A cell that fails costs its page the outputs from there on, and the book nothing."""

import pytest
import small_book

from publish import sync
from publish.outputs import execute
from publish.page import EDITIONS, read_page
from publish.pages import notebooks, status
from publish.pages.plain_markdown import Links

RAISES = "raise RuntimeError('first\\n:::\\n' + '`' * 3 + '\\nthe last line')"
PAGES = {
    "raises": ("print('before')", f"print('so far')\n{RAISES}", "print('never')"),
    "slow": ("print('before')", "import time\n\ntime.sleep(3600)", "print('never')"),
    "dies": ("print('before')", "import os\n\nos.write(2, b'so far\\n')\nos._exit(7)", "print('never')"),
    "warns": ("print('before')", "import warnings\n\nwarnings.warn('old name', stacklevel=1)", "print('after')"),
}
REPORTS = {  # what the build prints of the cell `two`
    "raises": ["failed: RuntimeError: first", "so far", "----> 2 raise RuntimeError"],
    "slow": ["failed: took longer than 10 s"],
    "dies": ["failed: ended the Python process\nso far"],
    "warns": ["warns:\n"],
}
SAID = [  # what the page says below that cell
    ("raises", "en", ["the cell ended with an error:", "> RuntimeError: first\n", "> the last line\n", "demo.py"]),
    ("raises", "zh-Hans", ["这个单元格以错误结束：", "> the last line\n", "minipod doctor"]),
    ("slow", "zh-Hans", [f"运行超过 {execute.LIMIT} 秒"]),
    ("dies", "en", ["ended its Python process.", "> so far\n", "minipod doctor"]),
    ("warns", "zh-Hant", ["警告", "old name"]),
]
pytestmark = pytest.mark.long  # a kernel for each page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A book with a good page and four that fail."""
    folder = small_book.make(tmp_path_factory.mktemp("failing"))
    for name, cells in PAGES.items():
        small_book.add(folder, name, *cells)
    sync.fill(sync.check(folder))
    return folder


def run(folder, name: str) -> execute.Executed:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "LIMIT", 10 if name == "slow" else 600)
        return execute.chapter(read_page(folder / f"book/en/{name}.md", folder), folder, folder / "_build")


@pytest.fixture(scope="module")
def executed(folder):
    return {name: run(folder, name) for name in PAGES}


def source(folder, name: str, edition: str, executed) -> notebooks.Source:
    page = read_page(folder / "book" / EDITIONS[edition] / f"{name}.md", folder)
    return notebooks.source(page, edition, executed[name])


def test_the_build_names_the_failed_cell_with_what_was_said_so_far(executed):
    for name, words in REPORTS.items():
        report = executed[name].failure.report
        assert report.startswith(f"book/en/{name}.md:22: cell `two` {words[0]}"), report
        assert all(word in report for word in words) and "message handler" not in report, report


def test_the_page_says_what_happened_and_what_helps_in_the_readers_language(folder, executed):
    for name, edition, expected in SAID:
        src = source(folder, name, edition, executed)
        titles, pages = notebooks.titles([src])
        notebook = notebooks.to_take_away(notebooks.with_outputs(src), src, Links(titles, pages, name))
        text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        above, there, below = text.partition(f'<a id="failed-{name}"></a>\n\n')
        assert there and f"](#failed-{name})" in above.partition("\n\nProse")[0]
        at = next(i for i, cell in enumerate(notebook.cells) if there in cell.source)
        assert notebook.cells[at - 1].metadata["name"] == "two"
        box = "".join(f"{line}\n" for line in below.split("\n") if line.startswith(">"))
        assert [words for words in expected if words not in box] == [], (name, edition, box)
        # Outputs end at the failed cell, but not at a warning.
        _, *cells = (c for c in notebook.cells if c.cell_type == "code")
        printed = ["".join(o["text"] for o in c.outputs) for c in cells]
        warns, so_far = name == "warns", "so far\n" if name == "raises" else ""
        assert printed == ["before\n", so_far, "after\n" if warns else ""]
        assert [c.execution_count for c in cells] == ([1, 2, 3] if warns else [1, None, None])


def test_the_status_table_leads_to_the_failed_cells(folder, executed):
    tables = {e: status.table([source(folder, name, e, executed) for name in PAGES], e) for e in ("en", "zh-Hant")}
    for row in ("`raises` | 1 | 0 | 0 | {ref}`failed <failed-raises>`", "`warns` | 3 | 0 | 0 | {ref}`warned <failed-w"):
        assert row in tables["en"]
    assert "| All pages | 6 | 0 | 0 |" in tables["en"] and "{ref}`出錯 <failed-dies>`" in tables["zh-Hant"]


def test_a_page_that_failed_is_tried_again_and_what_has_been_mended_is_kept(folder, executed):
    assert run(folder, "raises").ran == executed["raises"].ran == 2
    small_book.edit(folder, "dies", ("os._exit(7)", "print('mended')"), editions=("en",))
    mended = run(folder, "dies")
    assert not mended.failure and (mended.ran, run(folder, "dies").ran) == (3, 0)


def test_a_kernel_that_does_not_start_is_a_failed_page(folder):
    launcher = folder / "ipykernel_launcher.py"
    launcher.write_text("raise SystemExit('no kernel today')\n")
    failure = run(folder, "first").failure
    launcher.unlink()
    assert failure.report.startswith("book/en/first.md:15: cell `draw` failed: ") and "Traceback" not in failure.report
    assert failure.what == "raised" and "Kernel died" in failure.reason and "no kernel today" in failure.reason
