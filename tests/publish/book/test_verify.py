"""`make verify`: after a change in the tools, which cells give other outputs, by page and cell."""

import shutil

import pytest
import small_book

from publish import verify
from publish.outputs import execute, recordings
from publish.page import read_page


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A small book of two pages whose outputs have been recorded."""
    folder = small_book.make(tmp_path_factory.mktemp("verified"), machine=True)
    small_book.add(folder, "other", "print('of the other')")
    for tool in ("sync", "record"):
        result = small_book.tool(folder, tool)
        assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.fixture
def folder(recorded, tmp_path):
    """A copy of the recorded book that may be changed."""
    return shutil.copytree(recorded, tmp_path / "book")


def said(folder, *arguments: str) -> tuple[int, list[str]]:
    """The exit status and what was said, without the passing news."""
    done = small_book.tool(folder, "verify", *arguments)
    return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if "executing" not in line]


def test_a_changed_output_is_named_by_page_and_cell(folder):
    devices = folder / "minipod/devices.py"
    devices.write_text(devices.read_text("utf-8") + "\nprint('told')\n", "utf-8")
    code, lines = said(folder)
    assert code == 1 and len(lines) == 2
    assert lines[0].startswith("first, cell draw: its outputs were execute_result ")
    assert "and are stream, execute_result" in lines[0]
    assert lines[1].startswith("2 pages executed in ") and lines[1].endswith("s: 1 cells differ, on first")


def test_what_is_the_same_is_taken_over_though_a_file_has_changed(folder):
    (folder / "lessons/first/figures.toml").write_text("a = 1\n")
    path = folder / "book/outputs/first.json"
    before = path.read_text("utf-8")
    code, lines = said(folder, "first")
    assert code == 0 and lines[0] == "book/outputs/first.json: the same outputs, and now of what the page says"
    page = read_page(folder / "book/en/first.md", folder)
    assert recordings.read(page, folder, execute.sources(page, folder))
    changed = set(path.read_text("utf-8").splitlines()) ^ set(before.splitlines())
    assert [line for line in changed if "figures.toml" not in line and "its cells" not in line] == []


def test_what_is_damaged_failed_or_not_there_is_said_and_counts(folder):
    path = folder / "book/outputs/other.json"
    path.write_text("{", "utf-8")
    assert said(folder, "other") == (1, ["book/outputs/other.json is damaged"])
    path.unlink()
    code, lines = said(folder, "other")
    assert code == 1 and lines[0] == "other is not recorded: `make record PAGES=other`"
    code, lines = said(folder, "othre")
    assert code == 2 and lines == ["no page is called «othre»: choose from index, first, other"]
    code, lines = said(folder, "--since", "no-such-commit")
    assert code == 1 and len(lines) == 1 and lines[0].startswith("git cannot compare with «no-such-commit»: ")


def test_only_pages_that_reach_what_has_changed():
    names = ["index", "ch03_sharding", "ch10_processes", "ch15_pods"]
    assert verify.reaching({"minipod/pods/plan.py"}, names) == ["ch15_pods"]
    assert verify.reaching({"minipod/cluster/launch.py"}, names) == ["index", "ch10_processes"]
    assert verify.reaching({"minipod/hlo/loops.py"}, names) == names
    assert verify.reaching({"lessons/ch10_processes/hello.py", "README.md"}, names) == ["ch10_processes"]
    assert verify.reaching({"minipod/doctor/report.py"}, names) == []
