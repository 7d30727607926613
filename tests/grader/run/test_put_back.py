"""An answer deletes what lies beside it, or all of it: it is told so, and everything is there afterwards."""

import os
from pathlib import Path

from checker_runs import answer, check

from grader.run.put_back import LARGEST, Kept

DELETES = """import shutil, pathlib

def double(x):
    shutil.rmtree(pathlib.Path(__file__).parent, ignore_errors=True)
    return 2 * x

def total(x, mesh):
    return x.sum()
"""


def test_what_an_answer_deletes_is_there_afterwards(root: Path):
    answer(root, "ch90_one", DELETES, "mine")
    answer(root, "ch91_pair", "# a day's work\n", "mine")
    before = {path.name: path.read_bytes() for path in (root / "mine").iterdir()}
    checked = check(root, "lessons/ch90_one", "--answers=mine", "-k", "double or total")
    assert {path.name: path.read_bytes() for path in (root / "mine").iterdir() if path.is_file()} == before
    told = " ".join(row["message"] for row in checked.rows.values())
    assert checked.rows["ch90_one.double"]["outcome"] == "right"  # whoever did it: the next answer had begun
    gone = "ch90_one.py, ch91_pair.py"
    assert f"Deleted from your answers folder during the check, and restored: {gone}." in told
    assert "Traceback" not in checked.text


def test_what_changed_is_left_and_what_cannot_be_written_is_said(tmp_path: Path):
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "one.py").write_text("1")
    (folder / "large.bin").write_bytes(b"0" * (LARGEST + 1))
    (folder / "link.py").symlink_to("nowhere")
    kept = Kept(folder)
    (folder / "one.py").write_text("2")  # an editor has saved
    for name in ("large.bin", "link.py"):
        (folder / name).unlink()
    assert kept.put_back() == ((), "") and (folder / "one.py").read_text() == "2"
    (folder / "one.py").unlink()
    folder.rmdir()
    folder.write_text("a file")
    gone, error = kept.put_back()
    assert gone == ("one.py",) and error == os.strerror(17)
    assert Kept(tmp_path / "none").put_back() == ((), "")
