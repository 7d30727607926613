"""The learner's session in a real terminal (tmux), and line by line over pipes."""

import os
import shutil
import subprocess
import sys

import pytest
from checker_runs import HERE, answer, project
from learn_answers import BLANKS, solved
from still_running import DEADLINE, running_with, until

from grader.learn.learn_command import main

COMMAND = [sys.executable, "-m", "lessons", "learn"]
SERVER = ["tmux", "-L", f"learn-{os.getpid()}"]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.parametrize("key", ["q", *(pytest.param(key, marks=pytest.mark.long) for key in ("C-c", None))])
def test_nothing_is_left_after_q_or_an_interrupt_and_when_the_terminal_goes_away(tmp_path, key):
    root = project(tmp_path / "gone")
    clean = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR")} | {"LC_ALL": "C.UTF-8"}

    def tmux(*arguments):
        kept = {"capture_output": True, "text": True, "check": True, "timeout": DEADLINE}
        return subprocess.run([*SERVER, *arguments], env=clean, **kept).stdout

    def shown():
        return tmux("capture-pane", "-p")

    def seen(*words):
        assert until(lambda: all(word in shown() for word in words)), f"never seen: {words}\n{shown()}"

    size = ["-x", "80", "-y", "24", "-c", str(HERE.parent)]
    tmux("-f", "/dev/null", "-u", "new-session", "-d", *size, *COMMAND, "--root", str(root), "--lang", "zh-Hans")
    try:
        seen("已完成 0/4", "x 的两倍，布局与 x 相同。", "待完成", "h 提示", "q 退出")
        answer(root, "ch90_one", solved("double", "import time; time.sleep(1000)"))
        seen("正在检查")
        if key:
            tmux("send-keys", key)
            assert running_with(str(root)) == []
    finally:
        subprocess.run([*SERVER, "kill-server"], capture_output=True, timeout=DEADLINE)  # if it still runs
    assert running_with(str(root)) == []


def test_line_by_line_over_a_pipe(root, monkeypatch):
    monkeypatch.setenv("JAX_DISABLE_JIT", "1")
    answer(root, "ch90_one", BLANKS[: BLANKS.index("\n\ndef total")])
    path = root / "said.txt"
    with path.open("w") as out:
        kept = {"stdin": subprocess.PIPE, "stdout": out, "stderr": out, "text": True}
        process = subprocess.Popen([*COMMAND, "--root", str(root)], cwd=HERE.parent, **kept)

    def type_(*lines):
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()

    def said(*words):
        assert until(lambda: all(word in path.read_text() for word in words)), f"never: {words}\n{path.read_text()}"

    type_("1")  # before there is a checker
    said(
        "Missing exercises were added at the end of answers/ch90_one.py: total, count_to",
        "environment variables that the checks ignore: ",
        "JAX_DISABLE_JIT",
    )
    said("0 of 4 solved · ch90_one 0/3\n", "Twice `x`", "h hint · l list", "Not finished yet.")
    blanks = (root / "answers/ch90_one.py").read_text(encoding="utf-8")
    assert "def count_to" in blanks
    answer(root, "ch90_one", solved("double", "return x * x", blanks))
    said("wrong  ch90_one/double · Twice · answers/ch90_one.py:7\n  squared — You multiplied x by itself.\n  called  ")
    type_("h", "what?")
    said("Hint 1 of 2 for ch90_one/double: What is twice?", "what? is neither a command")
    type_("s", "no")
    said("Show the solution of double?", "Cancelled.")
    words = root / "lessons/ch90_one/words.toml"
    words.write_text(words.read_text() + "\n")  # the checker is started again
    answer(root, "ch90_one", solved("double", "return 2 * x", blanks))
    said("right  ch90_one/double", "1 of 4 solved", "Type n to go on to ch90_one/total.")
    type_("n", "l", "4")
    said("The sum of `x`", "  1 ch90_one/double · Twice · right", "ch91_pair/everybody · Everybody's\n")
    type_("1", "r", "y")
    said("double has been reset; your version is kept in answers/.kept/ch90_one.double.")
    assert (root / "answers/ch90_one.py").read_text(encoding="utf-8") == blanks
    begun = root / "begun"
    answer(root, "ch90_one", solved("double", f"open({str(begun)!r}, 'w'); import time; time.sleep(1000)", blanks))
    assert until(begun.exists)
    type_("q")  # ends it while an answer hangs
    assert process.wait(DEADLINE) == 0
    process.stdin.close()
    text = path.read_text()
    assert "\x1b" not in text and "Traceback" not in text
    assert text.count("environment variables that the checks ignore") == 1
    assert running_with(str(root)) == []


def test_a_bad_value_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    (project(tmp_path) / "answers").write_text("a file in place of the folder")
    copied = "the exercises could not be copied to answers/"
    for arguments, sentence in [
        (["--lang", "fr"], "unknown language fr: choose one of en, zh-Hans, zh-Hant"),
        (["--memory", "-1"], "--memory -1: give a finite number above 0"),
        (["--root", "/nowhere"], "There are no exercises in /nowhere/lessons."),
        (["--root", str(tmp_path)], f"{copied} (File exists): make sure that it is a writable folder"),
    ]:
        assert main(arguments) == 2
        assert capsys.readouterr().err == sentence + "\n"
    with pytest.raises(SystemExit) as ended:
        main(["--colour"])
    assert ended.value.code == 2 and capsys.readouterr().err.count("\n") == 1
