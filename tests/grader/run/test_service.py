"""The process that a screen talks to: what it answers, and that it ends with whoever started it."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checker_runs import answer, project
from still_running import left_running, until

from grader.exercise.exercises import Catalogue
from minipod.processes import children

RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 3 * x\n"
ENDLESS = "def double(x):\n    open({!r}, 'w').close()\n    while True:\n        pass\n"
SECONDS = 120  # until a reply counts as missing


class Service:
    """A service in the project `root`, and the lines that it sends."""

    def __init__(self, root, *options, marker=""):
        command = [sys.executable, "-m", "grader.run.service", "--root", ".", "--answers", "answers", *options]
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3]), "MARKER_OF_TEST": marker}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=root, env=env, bufsize=0, **pipes)
        self.ready = self.reply()

    def send(self, *requests):
        lines = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in requests]
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))

    def reply(self):
        assert select.select([self.process.stdout], [], [], SECONDS)[0], "no reply"
        return json.loads(self.process.stdout.readline())

    def check(self, exercise="ch90_one.double"):
        self.send({"id": 1, "check": exercise})
        return self.reply()


def answer_endlessly(root):
    """Write an answer that never ends; returns a function that says whether it has begun."""
    begun = root / "begun"
    answer(root, "ch90_one", ENDLESS.format(str(begun)))
    return begun.exists


@pytest.fixture
def root(tmp_path):
    return project(tmp_path)


@pytest.fixture
def start(root, request):
    """Starts services in the project; each must end, and leave nothing, when its stdin ends."""
    marker, started = f"service-{os.getpid()}-{request.node.name}", []

    def begin(*options):
        started.append(Service(root, *options, marker=marker))
        return started[-1]

    yield begin
    for service in started:
        service.process.stdin.close()
        assert service.process.wait(SECONDS) == 0
        service.process.stdout.close()
    assert left_running(marker) == []


def test_todo_wrong_right_each_with_its_words(root, start):
    answer(root, "ch90_one", (root / "lessons/ch90_one/exercises.py").read_text())
    service = start()
    names = ["ch90_one.double", "ch90_one.total", "ch90_one.count_to", "ch91_pair.everybody"]
    assert service.ready == {"ready": True, "exercises": names}
    todo = service.check()
    assert (todo["id"], todo["exercise"], todo["outcome"]) == (1, "ch90_one.double", "todo")
    answer(root, "ch90_one", "def double(x):\n    return x * x\n")
    wrong = service.check()
    assert (wrong["outcome"], wrong["mistake"], wrong["line"]) == ("wrong", "double__squared", 1)
    assert "called" in wrong["message"] and "expected" in wrong["message"]
    answer(root, "ch90_one", RIGHT)
    right = service.check()
    assert (right["outcome"], right["mistake"], right["message"]) == ("right", None, "")


def test_two_processes_and_chinese(root, start):
    answer(root, "ch91_pair", "def everybody(x):\n    return float(x.sum())\n")
    reply = start("--lang", "zh-Hans").check("ch91_pair.everybody")
    assert (reply["outcome"], reply["mistake"]) == ("wrong", "everybody__own")
    assert "应为" in reply["message"]


def test_the_inputs_stay_until_the_answer_is_right(root, start):
    answer(root, "ch90_one", WRONG)
    service = start()
    seeds = {service.check()["seed"] for _ in range(3)}
    assert len(seeds) == 1
    answer(root, "ch90_one", RIGHT)
    seeds.add(service.check()["seed"])
    assert len(seeds) == 1
    seeds |= {service.check()["seed"] for _ in range(3)}  # after a right answer they change each time
    assert len(seeds) > 1


def test_a_new_check_ends_an_endless_one_at_once(root, start):
    begun = answer_endlessly(root)
    service = start("--limit", "1000")
    service.send({"id": 1, "check": "ch90_one.double"})
    assert until(begun)
    answer(root, "ch90_one", RIGHT)
    service.send({"id": 2, "check": "ch90_one.double"})
    assert service.reply() == {"id": 1, "superseded": True}
    second = service.reply()
    assert (second["id"], second["outcome"]) == (2, "right")  # long before the endless one's limit


def test_of_several_checks_that_wait_only_the_last_is_made(root, start):
    answer(root, "ch90_one", RIGHT)
    service = start()
    service.send(*({"id": n, "check": "ch90_one.double"} for n in (1, 2, 3)))
    replies = [service.reply() for _ in range(3)]
    assert replies[:2] == [{"id": n, "superseded": True} for n in (1, 2)]
    assert (replies[2]["id"], replies[2]["outcome"]) == (3, "right")


def test_prepare_has_no_reply_and_the_check_after_it_is_right(root, start):
    answer(root, "ch90_one", RIGHT)
    service = start()
    service.send({"prepare": "ch90_one.double"}, {"prepare": "ch90_one.nosuch"})
    assert not select.select([service.process.stdout], [], [], 2)[0]
    assert service.check()["outcome"] == "right"


def test_the_mistakes_are_seen_while_the_learner_thinks(root, start):
    answer(root, "ch90_one", (root / "lessons/ch90_one/exercises.py").read_text())
    mistakes, calls = root / "lessons/ch90_one/mistakes.py", root / "calls"
    noted = f"\n\ndef double__squared(x):\n    open({str(calls)!r}, 'a').write('.')\n    return x * x\n"
    mistakes.write_text(mistakes.read_text() + noted)
    service = start()
    assert service.check()["outcome"] == "todo" and not calls.exists()
    service.send({"prepare": "ch90_one.double"})
    answer(root, "ch90_one", "def double(x):\n    return x * x\n")
    assert until(calls.exists)
    for _ in range(10):  # until all of them are seen: the service has had no children for a while
        assert until(lambda: not children(service.process.pid))
        time.sleep(0.05)
    before = calls.read_text()
    assert service.check()["mistake"] == "double__squared"
    assert calls.read_text() == before


def test_what_is_no_request_gets_one_clear_error(root, start):
    answer(root, "ch90_one", RIGHT)
    service = start()
    for line in (b"garbage", b"\xff\xfe", b"[]", b'{"id": 1}', b'{"check": 3}', b"[" * 100_000, b""):
        service.send(line)
        reply = service.reply()
        assert reply["id"] is None and reply["error"].startswith("not a request: ")
    assert service.check("ch90_one.nosuch") == {"id": 1, "error": "no exercise ch90_one.nosuch"}
    assert service.check("nosuch") == {"id": 1, "error": "no exercise nosuch"}
    assert service.check()["outcome"] == "right"


def test_a_lesson_that_prints_or_fails_does_not_disturb(root, start):
    answer(root, "ch90_one", RIGHT)
    tests = root / "lessons" / "ch90_one" / "test_exercises.py"
    told = "import os\nprint('{\"id\": 1}', flush=True)\nos.write(1, b'{}\\n')\n"
    tests.write_text(told + tests.read_text())
    (root / "lessons" / "ch91_pair" / "test_exercises.py").write_text("def test_everybody(check):\n    pass\n\n1 / 0\n")
    service = start()
    assert service.check()["outcome"] == "right"
    assert service.check("ch91_pair.everybody") == {"id": 1, "error": "ZeroDivisionError: division by zero"}
    assert service.check()["outcome"] == "right"


def test_stdin_ends_while_an_answer_runs(root, start):
    begun = answer_endlessly(root)
    start("--limit", "1000").send({"id": 1, "check": "ch90_one.double"})
    assert until(begun)  # the fixture closes stdin, and sees that it ends


def test_killed_it_leaves_no_children(root):
    begun, marker = answer_endlessly(root), f"killed-{os.getpid()}"
    service = Service(root, "--limit", "1000", marker=marker)
    service.send({"id": 1, "check": "ch90_one.double"})
    assert until(begun)
    with service.process:  # closes the pipes, waits
        service.process.kill()
    assert left_running(marker, SECONDS) == []


def test_the_catalogue_says_what_pytest_collects(root):
    catalogue = Catalogue(root / "lessons")
    spec = catalogue.spec("ch91_pair.everybody")
    assert (spec.exercise, spec.processes, spec.devices) == ("ch91_pair.everybody", 2, 4)
    assert spec.again and spec.again() is not spec
    with pytest.raises(KeyError, match="ch90_one.nosuch"):
        catalogue.spec("ch90_one.nosuch")
