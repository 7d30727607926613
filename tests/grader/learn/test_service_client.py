"""The client of the checking process: whatever that says or does, the screen hears of it, and nothing is left."""

import asyncio
import json
import os
import sys

import pytest
from still_running import DEADLINE, left_running

from grader.learn.service_client import Client
from grader.run.service_messages import Ready
from grader.see.wire import encode
from minipod.processes import json_lines

READY = json.dumps(encode(Ready(())))
SAYS = f"import os, time\nprint({READY!r}, flush=True)\n"
STAYS = "time.sleep(1000)\n"


def talk(code: str, lost: bool):
    """The replies of a process that runs `code`, and its last words; when it is not lost, it is stopped."""
    replies, words = [], []

    async def main() -> None:
        client = Client([sys.executable, "-c", code], replies.append, words.append)
        await client.start()
        async with asyncio.timeout(DEADLINE):
            while not (words if lost else replies):
                await asyncio.sleep(0.01)
        await client.stop()

    asyncio.run(main())
    return replies, words


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    marker = f"client-{os.getpid()}-{request.node.name}"
    monkeypatch.setenv("MARKER_OF_TEST", marker)
    yield
    assert left_running(marker, DEADLINE) == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('garbage', flush=True)\n" + STAYS, "not a line of JSON: garbage"),
        ("print('{\"id\": 1}', flush=True)\n" + STAYS, 'not a line of JSON: {"id": 1}'),
        ("print('1' * 5000, flush=True)\n" + STAYS, "not a line of JSON: too long"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("os._exit(3)\n", "exit status 3"),
    ],
)
def test_one_that_is_lost_says_why(code: str, words: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_lines, "LONGEST", 1000)
    replies, said = talk(SAYS + code, lost=True)
    assert replies == [Ready(())] and [line.strip() for line in said] == [words]


def test_one_that_does_not_listen_is_ended_with_what_it_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("grader.learn.service_client.PATIENCE", 0.2)
    assert talk("import subprocess\nsubprocess.Popen(['sleep', '1000'])\n" + SAYS + STAYS, lost=False)[1] == []
