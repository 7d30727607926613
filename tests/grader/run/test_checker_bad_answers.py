"""Answers that break things, files that cannot be imported, solutions that end: each exercise gets one clear sentence
in the learner's language, the others are still checked, and nothing is left running."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from bad_answers import BAD, BLANK, ENDS, FAULTY, FILES, GOOD, PAIRS, TOP, WILD
from checker_runs import TESTS, answer, check, lesson, project
from still_running import DEADLINE, left_running, until

FAILED = "The reference solution failed on this machine ("
AGAIN = "). Try again when the machine is less busy, or run `minipod doctor`."
LAST = (
    "import os, sys, time\n\ndef only(x):\n    print('the last words\\n@  0x7f', file=sys.stderr, flush=True)\n    {}\n"
)
PAIR_TESTS = """
import pytest

pytestmark = pytest.mark.processes(2, devices=4)

def _check(check):
    check(lambda rng: [(float(n),) for n in rng.integers(1, 99, 2)])
"""
ONLY = "def test_only(check):\n    check(lambda rng: [(2.0,), (3.0,)], oracle=lambda x: 2 * x)\n"


def answers(root: Path, name: str, table: dict, tests: str = TESTS, form: str = "def {}(x):\n    {}") -> None:
    """A lesson whose exercises are the table's, with their answers; form: of those of which the body stands there."""
    both = [[f"def {n}(x):\n    {does}\n" for n in table] for does in ("raise NotImplementedError", "return 2 * x")]
    each = [f"def test_{n}(check):\n    _check(check)\n" for n in table]
    lesson(root, name, *map("\n".join, both), tests + "\n".join(each))
    whole = [text if f"def {n}(" in text or not text else form.format(n, text) for n, (text, *_) in table.items()]
    answer(root, name, TOP + "\n\n".join(whole) + "\n", "bad")


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """A project in which each exercise is answered badly, or is bad itself, in its own way. Its path is not ASCII."""
    root = project(tmp_path_factory.mktemp("bad") / "学 习")
    answers(root, "ch93_pairs", PAIRS, PAIR_TESTS, "def {}(n):\n    {}\n    return together(n)")
    answers(root, "ch94_wild", WILD)
    answers(root, "ch95_bad", BAD)
    for name, (text, *_) in FILES.items():
        lesson(root, f"ch96_{name}", BLANK, GOOD, ONLY)
        path = root / f"bad/ch96_{name}.py"
        text(path) if callable(text) else path.write_bytes(text.encode(errors="surrogateescape"))
    for n, end in enumerate(ENDS):
        lesson(root, f"ch97_ends{n}", BLANK, LAST.format(end), ONLY)
        answer(root, f"ch97_ends{n}", GOOD, "bad")
    for n, solution in enumerate(FAULTY):
        lesson(root, f"ch98_faulty{n}", BLANK, solution, ONLY)
        answer(root, f"ch98_faulty{n}", GOOD, "bad")
    return root


def passes(root: Path, wanted: dict[str, Iterable[str]], lessons: list[str], limit: int = 4) -> None:
    """Each exercise has its outcome and words in one run of pytest, and nothing is left running."""
    marker = f"checker-{os.getpid()}-{lessons[0]}"

    def checked(limit, *options):
        told = [f"lessons/{name}" for name in lessons] + ["--answers=bad", f"--limit={limit}"]
        done = check(root, *told, "--memory=0.5", *options, env={"MARKER_OF_TEST": marker})
        assert not any(word in done.text for word in ("Traceback", "Fatal Python error", "INTERNALERROR")), done.text
        return done.rows

    def odd(rows):
        """Which are not as they should be."""
        of = {name: (rows[name]["outcome"], rows[name]["message"]) for name in wanted}
        wrong = [n for n, (end, *words) in wanted.items() if of[n][0] != end or any(w not in of[n][1] for w in words)]
        return {name: of[name] for name in wrong}

    rows = checked(limit)
    assert rows.keys() == wanted.keys()
    if late := [name for name, said in odd(rows).items() if said[0] == "hung" or "TimeoutError" in said[1]]:
        rows |= checked(300, "-k", " or ".join(f"({name.replace('.', ' and ')})" for name in late))  # a busy machine
    assert odd(rows) == {}
    assert left_running(marker) == []


def test_each_gets_its_sentence_and_nothing_is_left(bad):
    wanted = {f"ch95_bad.{name}": said for name, (_, *said) in BAD.items()}
    wanted |= {f"ch96_{name}.only": said for name, (_, *said) in FILES.items()}
    wanted |= {f"ch97_ends{n}.only": ["broken", FAILED + words, AGAIN] for n, words in enumerate(ENDS.values())}
    faulty = ["broken", "Something is wrong with the exercise itself"]
    wanted |= {f"ch98_faulty{n}.only": faulty for n in range(len(FAULTY))}
    passes(bad, wanted, [path.name for path in (bad / "lessons").glob("ch9[5678]*")])


@pytest.mark.long
@pytest.mark.parametrize(("lesson", "table", "limit"), [("ch94_wild", WILD, 4), ("ch93_pairs", PAIRS, 8)])
def test_whatever_an_answer_or_one_of_two_processes_does_the_others_are_checked(bad, lesson, table, limit):
    passes(bad, {f"{lesson}.{name}": said for name, (_, *said) in table.items()}, [lesson], limit)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_an_interrupted_run_has_its_report_and_leaves_nothing(bad, tmp_path, number):
    stuck = "def double(x):\n    return 2 * x\n\ndef total(x, mesh):\n    import time\n    time.sleep(1000)\n"
    answer(bad, "ch90_one", stuck, "int")
    marker = f"interrupted-{os.getpid()}"
    report = tmp_path / "report.json"
    env = os.environ | {"MARKER_OF_TEST": marker, "PYTHONPATH": str(Path(__file__).parents[3])}
    options = ["lessons/ch90_one", "--answers=int", f"--report={report}", "--limit=1000"]
    command = [sys.executable, "-m", "pytest", *options]
    run = subprocess.Popen(command, cwd=bad, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until(lambda: report.exists() and "double" in report.read_text())
    run.send_signal(number)
    run.communicate(timeout=600)
    assert '"ch90_one.double"' in report.read_text()
    assert left_running(marker, DEADLINE) == []
