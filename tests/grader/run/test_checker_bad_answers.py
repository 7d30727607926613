"""Answers that break things: each gets one clear sentence in the learner's language, the others are still checked,
and nothing is left running."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from checker_runs import TESTS, answer, check, project
from still_running import DEADLINE, left_running, until

# name: (the answer, outcome, words in English, words in Chinese); the task is 2 * x of an f32[8] over 8 devices
BAD = {
    "syntax": ("def syntax(x)\n    return 2 * x", "broken", "not valid Python yet: expected", "还不是合法的 Python"),
    "unclosed": ("def unclosed(x):\n    return (2 * x", "broken", "'(' was never closed", "还不是合法的 Python"),
    "quoted": ('def quoted(x):\n    """never closed\n    return x', "broken", "unterminated", "还不是合法的 Python"),
    "empty": ("def empty(x):", "broken", "expected an indented block", "还不是合法的 Python"),
    "endless": (
        "def endless(x):\n    while True:\n        pass",
        "hung",
        "still running after 4 s",
        "运行了 4 秒还没有结束",
    ),
    "sleeps": ("def sleeps(x):\n    time.sleep(1000)", "hung", ": time.sleep(1000)", "：time.sleep(1000)"),
    "leaves": ("def leaves(x):\n    os._exit(0)", "broken", "the Python process (exit code 0)", "结束了 Python 进程"),
    "exits": ("def exits(x):\n    sys.exit('bye')", "broken", "called exit (SystemExit bye)", "调用了 exit"),
    "crashes": ("def crashes(x):\n    os.kill(os.getpid(), 11)", "broken", "crashed in your code (SIGSEGV)", "崩溃"),
    "prints": (
        "def prints(x):\n    while True:\n        print('x' * 999)",
        "broken",
        "printed more than 10 MB",
        "打印了超过 10 MB",
    ),
    "bomb": (
        "def bomb(x):\n    kept = []\n    while True:\n        kept.append(np.ones(10**7))",
        "broken",
        "more than 0.5 GiB of memory",
        "内存超过 0.5 GiB",
    ),
    "patched": (
        "def patched(x):\n    jax.jit = None\n    jax.numpy.sum = lambda a: a\n    return 2 * x + jax.numpy.sum(x)",
        "wrong",
        "the first that differs is at [0]",
        "第一个不同的数在 [0] 处",
    ),
    "unblocks": ("def unblocks(x):\n    np.asarray = 0\n    return x", "broken", "could not be", "检查无法继续"),
    "shape": ("def shape(x):\n    return (2 * x).sum()", "wrong", "The shape is not right.", "形状不对。"),
    "dtype": ("def dtype(x):\n    return (2 * x).astype('int32')", "wrong", "the dtype is not", "dtype 不对"),
    "none": ("def none(x):\n    2 * x", "wrong", "is a return missing, or", "漏写了 return"),
    "generator": ("def generator(x):\n    yield 2 * x", "wrong", "a generator", "一个生成器"),
    "placed": (
        "def placed(x):\n    return jax.device_put(2 * x, jax.devices()[0])",
        "wrong",
        "device 0 holds everything, expected [0:1]",
        "设备 0 上是完整的一份，应该是 [0:1]",
    ),
    "hosted": ("def hosted(x):\n    return 2 * np.asarray(x)", "wrong", "a NumPy array on", "主机上的 NumPy 数组"),
    "closes": (
        "def closes(x):\n    os.closerange(3, 999)\n    return 2.0",
        "broken",
        "closed files that it had not opened",
        "关闭了不是它打开的文件",
    ),
    "raises": ("def raises(x):\n    return 2 * y", "wrong", "raised NameError: name 'y'", "抛出 NameError：name 'y'"),
    "asserts": ("def asserts(x):\n    assert x is None", "wrong", "raised AssertionError\n", "抛出 AssertionError\n"),
    "deep": ("def deep(x):\n    return deep(x)", "wrong", "raised RecursionError", "抛出 RecursionError"),
    "forks": (
        "def forks(x):\n    if not os.fork():\n        os.setsid()\n        if os.fork():\n            os._exit(0)\n"
        "        time.sleep(1000)\n    return 3 * x",
        "wrong",
        "The shape is right, the numbers are not",
        "形状正确，数值不对",
    ),
    "gone": ("", "todo", "has no function gone", "没有函数 gone"),
    "right": ("def right(x):\n    return x + x", "right", "", ""),
}
TOP = "import os, sys, time\nimport jax\nimport numpy as np\n\n"


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """A project with one lesson, in which each exercise is answered badly in its own way."""
    root = project(tmp_path_factory.mktemp("bad"))
    lesson = root / "lessons" / "ch95_bad"
    lesson.mkdir()
    blanks = [f"def {name}(x):\n    raise NotImplementedError\n" for name in BAD]
    (lesson / "exercises.py").write_text("\n".join(blanks))
    solved = [f"def {name}(x):\n    return 2 * x\n" for name in BAD]
    (root / "solutions" / "ch95_bad.py").write_text("\n".join(solved))
    tests = [f"def test_{name}(check):\n    _check(check)\n" for name in BAD]
    (lesson / "test_exercises.py").write_text(TESTS + "\n".join(tests))
    answer(root, "ch95_bad", TOP + "\n\n".join(code for code, *_ in BAD.values()) + "\n", "bad")
    return root


@pytest.mark.parametrize("lang", ["en", pytest.param("zh-Hans", marks=pytest.mark.long)])
def test_each_bad_answer_gets_its_sentence_and_nothing_is_left(bad, lang):
    options = ["--answers=bad", "--lang", lang, "--limit=4", "--memory=0.5"]
    marker = f"checker-{os.getpid()}-{lang}"
    checked = check(bad, "lessons/ch95_bad", *options, env={"MARKER_OF_TEST": marker})
    assert checked.code == 1
    assert "Traceback" not in checked.text
    assert "Fatal Python error" not in checked.text
    late = [name for name, row in checked.rows.items() if row["outcome"] == "hung" != BAD[name.partition(".")[2]][1]]
    if late:  # on a busy machine
        longer = [
            "--answers=bad",
            "--lang",
            lang,
            "--limit=100",
            "--memory=0.5",
            "-k",
            " or ".join(n.partition(".")[2] for n in late),
        ]
        checked.rows |= check(bad, "lessons/ch95_bad", *longer, env={"MARKER_OF_TEST": marker}).rows
    said = {}
    for name, (_, outcome, english, chinese) in BAD.items():
        row = checked.rows[f"ch95_bad.{name}"]
        words = english if lang == "en" else chinese
        if row["outcome"] != outcome or words not in row["message"]:
            said[name] = row
    assert said == {}
    assert left_running(marker) == []


def test_a_file_that_cannot_be_imported_says_so_for_each_of_its_exercises(bad):
    for name, top, words in [
        ("stops", "1 / 0\n", "stops while it is being imported: ZeroDivisionError: division by zero"),
        ("asserts", "raise AssertionError\n", "stops while it is being imported: AssertionError\n"),
        ("quits", "import sys\nsys.exit(2)\n", "ends the program while it is being imported (SystemExit 2)"),
        ("spoils", "import jax\njax.jit = None\njax.Array = None\n", "could not be carried out"),
        ("binary", None, "cannot be read"),
    ]:
        text = "def double(x):\n    return 2 * x\n\ndef total(x, mesh):\n    return x.sum()\n"
        if top is None:
            (bad / name).mkdir()
            (bad / name / "ch90_one.py").write_bytes(b"\xff\xfe\x00")
        else:
            answer(bad, "ch90_one", top + text, name)
        checked = check(bad, "lessons/ch90_one", f"--answers={name}", "-k", "double or total")
        assert "Traceback" not in checked.text
        for row in checked.rows.values():
            assert row["outcome"] == "broken"
            assert words in row["message"]


def test_an_interrupted_run_has_its_report_and_leaves_nothing(bad, tmp_path):
    stuck = "def double(x):\n    return 2 * x\n\ndef total(x, mesh):\n    while True:\n        pass\n"
    answer(bad, "ch90_one", stuck, "int")
    marker = f"interrupted-{os.getpid()}"
    report = tmp_path / "report.json"
    env = os.environ | {"MARKER_OF_TEST": marker, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-m", "pytest", "lessons/ch90_one", "--answers=int", f"--report={report}"]
    for number in (signal.SIGINT, signal.SIGKILL):
        report.unlink(missing_ok=True)
        run = subprocess.Popen(command, cwd=bad, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        until(lambda report=report: report.exists() and "double" in report.read_text())
        run.send_signal(number)
        run.communicate(timeout=600)
        assert '"ch90_one.double"' in report.read_text()
        assert left_running(marker, DEADLINE) == []
