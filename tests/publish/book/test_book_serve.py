"""Serving the book: on the port that was asked for, on this machine alone; what goes wrong is one sentence."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys

import pytest


@pytest.fixture
def book(tmp_path):
    """A folder that looks built."""
    html = tmp_path / "html"
    html.mkdir()
    (html / "index.html").write_text("the front page")
    return tmp_path


def command(*arguments) -> list[str]:
    return [sys.executable, "-m", "publish.serve", *map(str, arguments)]


def fails(*arguments, **environment) -> tuple[int, str]:
    env = {k: v for k, v in os.environ.items() if k != "PORT"} | environment
    result = subprocess.run(command(*arguments), env=env, capture_output=True, text=True, timeout=600)
    assert result.stderr.count("\n") == 1, result.stderr
    return result.returncode, result.stderr


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def serving(*arguments, **environment):
    """The running server, from its first line on, and that line."""
    env = {**os.environ, **environment}
    with subprocess.Popen(
        command(*arguments), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        try:
            yield server, server.stdout.readline()
        finally:
            server.kill()


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("way", ["option", "variable", "both"])
def test_it_serves_on_the_port_that_was_asked_for(book, way):
    port = free_port()
    arguments = [] if way == "variable" else ["--port", port]
    environment = {"option": {}, "variable": {"PORT": str(port)}, "both": {"PORT": "1"}}[way]
    with serving("--build", book, *arguments, **environment) as (_, line):
        assert f"http://127.0.0.1:{port}/" in line
        assert get(port, "/") == (200, b"the front page")


def test_no_address_makes_a_traceback(book):
    port = free_port()
    with serving("--build", book, "--port", port) as (server, _):
        for path in ("/%00", "/a%00b/", "/%", "/%ff", "/../../etc/passwd", "/" + "a" * 5000):
            assert get(port, path)[0] == 404, path
        assert get(port, "/index.html") == (200, b"the front page")
        server.send_signal(signal.SIGINT)
        assert server.stderr and server.stderr.read() == "" and server.wait(60) == 0


def test_a_missing_book_is_one_sentence(tmp_path):
    assert fails("--build", tmp_path) == (1, "there is no book yet: run `make book` first\n")


def test_a_taken_port_is_one_sentence(book):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for asked in ({"PORT": str(port)}, {}):
            code, said = fails("--build", book, *([] if asked else ["--port", port]), **asked)
            assert code == 1 and re.match(rf"port {port} cannot be used \(.+\): choose another", said)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "eight", "8000.0", "80 00", "²"])
def test_what_is_no_port_is_one_sentence(book, port):
    assert fails("--build", book, f"--port={port}") == (
        2,
        f"«{port}» is not a port: choose a number from 1 to 65535\n",
    )
