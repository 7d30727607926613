"""The learner's session in a real terminal (tmux), and line by line over pipes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checker_runs import HERE, answer, project
from learn_answers import BLANKS, solved
from still_running import DEADLINE, running_with, until

from grader.learn.learn_command import main

COMMAND = [sys.executable, "-m", "lessons", "learn"]


class Terminal:
    """One tmux session of 80 × 24 that runs the screen on a project."""

    def __init__(self, root: Path, *options: str) -> None:
        self.name = f"learn-{os.getpid()}-{root.name}"
        command = [*COMMAND, "--root", str(root), *options]
        clean = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR")} | {"LC_ALL": "C.UTF-8"}
        start = ["-f", "/dev/null", "-u", "new-session", "-d", "-x", "80", "-y", "24", "-c", str(HERE.parent)]
        self._tmux(*start, *command, env=clean)

    def _tmux(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ["tmux", "-L", self.name, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE, env=env).stdout

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True, timeout=DEADLINE)

    def press(self, *keys: str) -> None:
        """Type keys by their tmux names."""
        self._tmux("send-keys", *keys)

    def until(self, *words: str) -> None:
        """Until all the words are seen."""

        def seen() -> str:
            return self._tmux("capture-pane", "-p")

        assert until(lambda: all(word in seen() for word in words)), f"never seen: {words}\n{seen()}"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.parametrize("key", ["q", *(pytest.param(key, marks=pytest.mark.long) for key in ("C-c", None))])
def test_nothing_is_left_after_q_or_an_interrupt_and_when_the_terminal_goes_away(tmp_path, key):
    root = project(tmp_path / "gone")
    with Terminal(root, "--lang", "zh-Hans") as terminal:
        terminal.until("已完成 0/4", "x 的两倍，布局与 x 相同。", "待完成", "h 提示", "q 退出")
        answer(root, "ch90_one", solved("double", "import time; time.sleep(1000)"))
        terminal.until("正在检查")
        if key:
            terminal.press(key)
            assert running_with(str(root)) == []
    assert running_with(str(root)) == []


class Lines:
    """The session line by line over pipes."""

    def __init__(self, root: Path, *options: str) -> None:
        self.path = root / "said.txt"
        with self.path.open("w") as out:
            command = [*COMMAND, "--root", str(root), *options]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command, cwd=HERE.parent, stdin=pipe, stdout=out, stderr=out, text=True)

    def type(self, *lines: str) -> None:
        """Type lines."""
        assert self.process.stdin
        self.process.stdin.write("\n".join(lines) + "\n")
        self.process.stdin.flush()

    def said(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def until(self, *words: str) -> None:
        """Until all the words have been said."""
        assert until(lambda: all(word in self.said() for word in words)), f"never said: {words}\n{self.said()}"

    def close(self) -> int:
        """End the input; the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(DEADLINE)


def test_line_by_line_over_a_pipe(root, monkeypatch):
    monkeypatch.setenv("JAX_DISABLE_JIT", "1")
    answer(root, "ch90_one", BLANKS[: BLANKS.index("\n\ndef total")])
    lines = Lines(root)
    lines.type("1")  # before there is a checker
    lines.until(
        "Missing exercises were added at the end of answers/ch90_one.py: total, count_to",
        "environment variables that the checks ignore: ",
        "JAX_DISABLE_JIT",
    )
    lines.until("0 of 4 solved · ch90_one 0/3\n", "Twice `x`", "h hint · l list", "Not finished yet.")
    blanks = (root / "answers/ch90_one.py").read_text(encoding="utf-8")
    assert "def count_to" in blanks
    answer(root, "ch90_one", solved("double", "return x * x", blanks))
    lines.until(
        "wrong  ch90_one/double · Twice · answers/ch90_one.py:7\n  squared — You multiplied x by itself.\n  called  "
    )
    lines.type("h", "what?")
    lines.until("Hint 1 of 2 for ch90_one/double: What is twice?", "what? is neither a command")
    lines.type("s", "no")
    lines.until("Show the solution of double?", "Cancelled.")
    words = root / "lessons/ch90_one/words.toml"
    words.write_text(words.read_text() + "\n")  # the checker is started again
    answer(root, "ch90_one", solved("double", "return 2 * x", blanks))
    lines.until("right  ch90_one/double", "1 of 4 solved", "Type n to go on to ch90_one/total.")
    lines.type("n", "l", "4")
    lines.until("The sum of `x`", "  1 ch90_one/double · Twice · right", "ch91_pair/everybody · Everybody's\n")
    lines.type("1", "r", "y")
    lines.until("double has been reset; your version is kept in answers/.kept/ch90_one.double.")
    assert (root / "answers/ch90_one.py").read_text(encoding="utf-8") == blanks
    begun = root / "begun"
    answer(root, "ch90_one", solved("double", f"open({str(begun)!r}, 'w'); import time; time.sleep(1000)", blanks))
    assert until(begun.exists)
    lines.type("q")  # ends it while an answer hangs
    assert lines.process.wait(DEADLINE) == lines.close() == 0
    said = lines.said()
    assert "\x1b" not in said and "Traceback" not in said
    assert said.count("environment variables that the checks ignore") == 1
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
