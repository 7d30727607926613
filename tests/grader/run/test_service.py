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
from grader.run.service_messages import CheckRequest, Failed, PrepareRequest, Superseded
from grader.see.wire import encode
from minipod.processes import children

RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 3 * x\n"
ENDLESS = "import time\ndef double(x):\n    open({!r}, 'w').close()\n    time.sleep(1000)\n"
SECONDS = 300  # until a reply counts as missing
PRINTS = "import os\nprint('{\"id\": 1}', flush=True)\nos.write(1, b'{}\\n')\n"
FROM_ZERO = "def {}(n):\n    {}\n    for i in range(n):\n        print(i)\n    return n\n"


class Service:
    """A service in the project `root`, and the lines that it sends."""

    def __init__(self, root):
        self.root, self.marker = root, f"service-{os.getpid()}-{root}"
        command = [sys.executable, "-m", "grader.run.service", "--root", ".", "--answers", "answers", "--limit=1000"]
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3]), "MARKER_OF_TEST": self.marker}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=root, env=env, bufsize=0, **pipes)
        self.ready = self.reply()

    def send(self, *requests):
        lines = [r if isinstance(r, bytes) else json.dumps(encode(r)).encode() for r in requests]
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))

    def reply(self):
        assert select.select([self.process.stdout], [], [], SECONDS)[0], "no reply"
        return json.loads(self.process.stdout.readline())

    def check(self, exercise="ch90_one.double", text=""):
        if text:
            answer(self.root, "ch90_one", text)
        self.send(CheckRequest(exercise, 1))
        return self.reply()

    def begin_endless(self):
        """Ask for a check that does not end; it has begun."""
        (self.root / "begun").unlink(missing_ok=True)
        answer(self.root, "ch90_one", ENDLESS.format(str(self.root / "begun")))
        self.send(CheckRequest("ch90_one.double", 1))
        assert until((self.root / "begun").exists)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """One for all questions. Its lessons print what looks like replies and note when a mistake is called; one fails."""
    root = project(tmp_path_factory.mktemp("service"))
    (root / "lessons/ch92_fails").mkdir()
    (root / "lessons/ch92_fails/test_exercises.py").write_text("def test_nothing(check):\n    pass\n\n1 / 0\n")
    noted = FROM_ZERO.format("count_to__from_zero", f"open({str(root / 'calls')!r}, 'a').write('.')")
    for file, before, after in (("test_exercises", PRINTS, ""), ("mistakes", "", f"\n\n{noted}")):
        path = root / f"lessons/ch90_one/{file}.py"
        path.write_text(before + path.read_text() + after)
    one = Service(root)
    yield one
    one.begin_endless()  # it ends, and leaves nothing, when its stdin ends
    one.process.stdin.close()
    assert one.process.wait(SECONDS) == 0
    one.process.stdout.close()
    assert left_running(one.marker) == []


def test_the_mistakes_are_seen_while_the_learner_thinks(service):
    calls, exercise = service.root / "calls", "ch90_one.count_to"  # no other test asks for this one
    todo = service.check(exercise, (service.root / "lessons/ch90_one/exercises.py").read_text())
    assert todo["outcome"] == "todo" and not calls.exists()
    service.send(PrepareRequest(exercise), PrepareRequest("ch90_one.nosuch"))  # they have no reply
    assert until(calls.exists)
    for _ in range(10):  # until all of them are seen: the service has had no children for a while
        assert until(lambda: not children(service.process.pid))
        time.sleep(0.05)
    before = calls.read_text()
    assert service.check(exercise, FROM_ZERO.format("count_to", "pass"))["mistake"] == "count_to__from_zero"
    assert calls.read_text() == before


def test_todo_wrong_right_each_with_its_words_and_the_inputs_stay_until_the_answer_is_right(service):
    names = ["ch90_one.double", "ch90_one.total", "ch90_one.count_to", "ch91_pair.everybody", "ch92_fails.nothing"]
    assert service.ready["exercises"] == names
    todo = service.check(text=(service.root / "lessons/ch90_one/exercises.py").read_text())
    assert (todo["id"], todo["exercise"], todo["outcome"]) == (1, "ch90_one.double", "todo")
    wrong = service.check(text="def double(x):\n    return x * x\n")
    assert (wrong["outcome"], wrong["mistake"], wrong["line"]) == ("wrong", "double__squared", 1)
    assert "called" in wrong["message"] and "expected" in wrong["message"]
    other, right = service.check(text=WRONG), service.check(text=RIGHT)
    assert (right["outcome"], right["mistake"], right["message"]) == ("right", None, "")
    assert wrong["seed"] == other["seed"] == right["seed"]
    assert len({service.check()["seed"] for _ in range(3)} | {right["seed"]}) > 1  # from then on they change


def test_a_new_check_ends_an_endless_one_at_once_and_of_several_that_wait_only_the_last_is_made(service):
    service.begin_endless()
    answer(service.root, "ch90_one", RIGHT)
    service.send(CheckRequest("ch90_one.double", 2))
    assert service.reply() == encode(Superseded(1))
    second = service.reply()
    assert (second["id"], second["outcome"]) == (2, "right")  # long before the endless one's limit
    service.send(*(CheckRequest("ch90_one.double", n) for n in (1, 2, 3)))
    replies = [service.reply() for _ in range(3)]
    assert replies[:2] == [encode(Superseded(n)) for n in (1, 2)]
    assert (replies[2]["id"], replies[2]["outcome"]) == (3, "right")


def test_what_is_no_request_gets_one_clear_error_and_a_lesson_that_fails_too(service):
    ill_typed = b'{"t": "CheckRequest", "exercise": 3, "id": 1}'
    for line in (b"garbage", b"\xff\xfe", b"[]", b'{"id": 1}', ill_typed, b"[" * 100_000, b""):
        service.send(line)
        reply = service.reply()
        assert reply["id"] is None and reply["error"].startswith("not a request: ")
    assert service.check("ch90_one.nosuch") == encode(Failed(1, "no exercise ch90_one.nosuch"))
    assert service.check("nosuch") == encode(Failed(1, "no exercise nosuch"))
    assert service.check("ch92_fails.nothing") == encode(Failed(1, "ZeroDivisionError: division by zero"))
    assert service.check(text=RIGHT)["outcome"] == "right"


def test_killed_it_leaves_no_children(tmp_path):
    service = Service(project(tmp_path))
    service.begin_endless()
    with service.process:  # closes the pipes, waits
        service.process.kill()
    assert left_running(service.marker, SECONDS) == []


def test_the_catalogue_says_what_pytest_collects(tmp_path):
    spec = Catalogue(project(tmp_path) / "lessons").spec("ch91_pair.everybody")
    assert (spec.exercise, spec.processes, spec.devices) == ("ch91_pair.everybody", 2, 4)
    assert spec.again and spec.again() is not spec
