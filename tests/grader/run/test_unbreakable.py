"""Nothing that a learner writes breaks the checks: every answer of unbreakable_cases.py gets its one sentence, with
pytest and with the service, those that are right count as right, and nothing is left running."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import unbreakable_cases as cases
from checker_runs import answer, check, project
from still_running import left_running

ROOT = Path(__file__).parents[3]
PAIRS = [False, True]


def without_signal_scope():
    """Whether this kernel (before Linux 6.12) lets an answer signal the process that checks it."""
    return sys.platform != "linux" or ctypes.CDLL(None).syscall(444, None, 0, 1) < 6


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    if without_signal_scope():
        del cases.ONE["kills_parent"]
    return cases.build(tmp_path_factory.mktemp("wild"))


def expected(pairs):
    return {e: x for e, x in cases.expected().items() if e.startswith("ch31_two.") == pairs}


@pytest.mark.long
@pytest.mark.parametrize("pairs", PAIRS, ids=["alone", "in-pairs"])
def test_pytest_says_one_sentence_for_each_and_leaves_nothing(root, pairs):
    marker = f"unbreakable-{os.getpid()}-{pairs}"
    answers = cases.fill(root, f"answers-{pairs}")
    checked = check(
        root,
        f"--answers={answers.name}",
        f"--limit={cases.LIMIT_TWO if pairs else cases.LIMIT}",
        f"--memory={cases.MEMORY}",
        "-k",
        "ch31_two" if pairs else "ch30_one or ch40",
        env={"MARKER_OF_TEST": marker},
    )
    assert "Traceback" not in checked.text and "INTERNALERROR" not in checked.text
    assert left_running(marker) == []
    assert checked.rows.keys() == expected(pairs).keys()
    late = [e for e, row in checked.rows.items() if row["outcome"] == "hung" != expected(pairs)[e][0]]
    if late:  # on a busy machine
        longer = [f"--answers={answers.name}", "--limit=200", f"--memory={cases.MEMORY}"]
        only = " or ".join(e.partition(".")[2] for e in late)
        checked.rows |= check(root, *longer, "-k", only, env={"MARKER_OF_TEST": marker}).rows
    rows = checked.rows.items()
    odd = [u for e, row in rows if (u := cases.unlike(row, e, expected(pairs)[e], "en", answers.name))]
    assert not odd, "\n".join(odd)


@pytest.mark.long
@pytest.mark.parametrize("pairs", PAIRS, ids=["alone", "in-pairs"])
def test_the_service_says_the_same_in_chinese_and_lives_on(root, pairs):
    marker = f"unbreakable-service-{os.getpid()}-{pairs}"
    answers = cases.fill(root, f"service-{pairs}")
    limit = cases.LIMIT_TWO if pairs else cases.LIMIT
    command = [sys.executable, "-m", "grader.run.service", "--root", ".", "--answers", answers.name]
    command += ["--lang", "zh-Hans", "--limit", str(limit), "--memory", str(cases.MEMORY)]
    env = os.environ | {"PYTHONPATH": str(ROOT), "MARKER_OF_TEST": marker}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    odd = []
    with subprocess.Popen(command, cwd=root, env=env, text=True, **pipes) as service:
        assert json.loads(service.stdout.readline())["ready"]
        for exercise, expectation in expected(pairs).items():
            if exercise.partition(".")[2] in cases.SLOW:
                continue
            cases.fill(root, answers.name)  # one may have deleted them
            print(json.dumps({"id": exercise, "check": exercise}), file=service.stdin, flush=True)
            reply = json.loads(service.stdout.readline())
            assert reply["id"] == exercise
            odd.append(cases.unlike(reply, exercise, expectation, "zh-Hans", answers.name))
        service.stdin.close()
        assert service.wait(120) == 0
    assert not any(odd), "\n".join(filter(None, odd))
    assert left_running(marker) == []


def test_an_interrupt_during_a_fork_is_not_lost():
    program = """
import os, signal, jax
from minipod import forked
from minipod.forked import forking
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    forked.run(lambda: 1)
except KeyboardInterrupt:
    print("interrupted")
    forked.stop_all()
    print("left:", forking._live)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout == "interrupted\nleft: []\n", done.stderr


def test_a_changed_solution_is_noticed_where_there_is_an_oracle(tmp_path):
    root = project(tmp_path)
    solution = (root / "solutions" / "ch90_one.py").read_text()
    spoils = f"""
from pathlib import Path

def double(x):
    path = Path({str(root)!r}) / "solutions" / "ch90_one.py"
    path.write_text(path.read_text().replace("2 * x", "3 * x"))
    return 2 * x
"""
    answer(root, "ch90_one", spoils)
    assert check(root, "-k", "double").rows["ch90_one.double"]["outcome"] == "right"
    assert (root / "solutions" / "ch90_one.py").read_text() != solution
    answer(root, "ch90_one", "def double(x):\n    return 3 * x\n")
    row = check(root, "-k", "double").rows["ch90_one.double"]
    assert row["outcome"] == "broken"
    assert "solution and oracle differ" in row["message"]


def test_answers_that_cannot_be_made_are_one_sentence(tmp_path):
    root = project(tmp_path)
    (root / "answers").write_text("a file where the folder should be")
    checked = check(root)
    assert checked.code == 4
    assert "the blanks could not be copied to answers/ (File exists): make it a folder that you may write to" in (
        checked.text
    )
    assert "Traceback" not in checked.text


def test_the_limits_are_stated_and_can_be_set(root):
    cases.fill(root, "limits")
    told = ["--limit=1.5", "--memory=0.25", "--answers=limits", "-k", "both_hang or stubborn or ten_gb"]
    checked = check(root, *told)
    assert "after 1.5 s" in checked.rows["ch30_one.stubborn"]["message"]
    assert "after 1.5 s" in checked.rows["ch31_two.both_hang"]["message"]
    assert "0.25 GiB" in checked.rows["ch30_one.ten_gb"]["message"]
    helped = check(root, "--help", report=False).text
    assert "wall clock of one answer (default: 20; own devices: 120)" in " ".join(helped.split())
    assert "memory of each process of an answer (default: 2)" in " ".join(helped.split())
