"""A full disk, a read-only folder and files cut short: one sentence at most, and the next build works."""

import contextlib
import errno
import os
import re
import shutil
import subprocess

import pytest
import small_book

from publish import files

FULL = r"cannot write (\S+): No space left on device; free some space and run `make book` again\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small book, built in English."""
    folder = small_book.make(tmp_path_factory.mktemp("disk"), machine=True, demo=small_book.LIGHT)
    assert small_book.tool(folder, "sync").returncode == 0
    assert small_book.tool(folder, "build", "en").returncode == 0
    return folder


@pytest.fixture
def disk(tmp_path):
    """A disk of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount(folder, "-t", "tmpfs", "-o", "size=64m", "tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def mount(folder, *arguments) -> None:
    if not shutil.which("mount"):
        pytest.skip("there is no `mount` here, so no small disk can be made")
    made = subprocess.run(["mount", *arguments, str(folder)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"a small disk can only be mounted by root: {made.stderr.strip()}")


@contextlib.contextmanager
def full(disk, leave: int):
    """The disk has only `leave` bytes left."""
    filler, free = disk / "filler", os.statvfs(disk)
    with filler.open("wb") as file:
        file.write(bytes(free.f_bavail * free.f_frsize - leave))
    yield
    filler.unlink()


def build(folder, disk, **environment: str) -> subprocess.CompletedProcess:
    return small_book.tool(folder, "build", "--build", str(disk), "en", **environment)


@pytest.mark.long
def test_a_full_disk_is_one_sentence_and_the_next_build_works(built, disk):
    with full(disk, 0):
        result = build(built, disk)
        said = re.fullmatch(FULL, result.stderr)
        assert result.returncode == 1 and said, result.stderr
        assert re.fullmatch(r"cells/first-\w+\.json", said[1].removeprefix(f"{disk}/")), said[1]
        assert not list(disk.rglob(".*.json.*"))
    again = build(built, disk)
    assert again.returncode == 0 and not again.stderr, again.stderr
    there, here = (folder / "html/en/first.html" for folder in (disk, built / "_build"))
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.long
def test_a_read_only_folder_is_one_sentence_and_neither_home_nor_tmpdir_must_be_writable(built, disk, tmp_path):
    mount(disk, "-o", "remount,ro")
    result = build(built, disk)
    assert result.returncode == 1 and result.stderr.count("\n") == 1, result.stderr
    assert "Read-only file system; make it writable for you, or build elsewhere" in result.stderr
    result = build(built, tmp_path / "elsewhere", HOME=str(disk), TMPDIR=str(disk))
    assert result.returncode == 0 and "cells executed by edition: en 2" in result.stdout, result.stderr


def test_nowhere_to_put_temporary_files_is_one_sentence():
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    assert files.sentence(error, "make book") == (
        "cannot write a temporary file: No usable temporary directory found in ['/tmp']; "
        "set TMPDIR to a folder that you can write to and run `make book` again"
    )


@pytest.mark.long
@pytest.mark.parametrize("damaged", [lambda data: data[: len(data) // 2], lambda _: b'{"outputs": 3, "ran": 1}'])
def test_what_was_kept_and_is_damaged_counts_as_absent(built, tmp_path, damaged):
    kept = shutil.copytree(built / "_build", tmp_path / "kept")
    # Sphinx reads a page again when its notebook has changed; here it finds the notebooks as they were.
    sphinx = [*kept.glob("doctrees/en/*.doctree"), kept / "doctrees/en/environment.pickle"]
    for path in [*kept.glob("cells/*"), kept / "html/en/.stamp", *sphinx]:
        path.write_bytes(damaged(path.read_bytes()))
    result = build(built, kept)
    assert result.returncode == 0, result.stderr
    assert "cells executed by edition: en 2" in result.stdout
    assert "More prose" in (kept / "html/en/first.html").read_text("utf-8")
    again = build(built, kept)
    assert again.returncode == 0 and "pages written" not in again.stdout


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "page.html"
    files.write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        files.write(path, "new \ud800")
    assert path.read_text("utf-8") == "old" and list(path.parent.iterdir()) == [path]
    files.write(path, "new")
    assert path.read_text("utf-8") == "new" and list(path.parent.iterdir()) == [path]
