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

from publish import serve


@pytest.fixture
def book(tmp_path):
    """A folder that looks built."""
    (tmp_path / "html").mkdir()
    (tmp_path / "html/index.html").write_text("the front page")
    return tmp_path


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def serving(*arguments, **environment):
    """The running server, from its first line on, and that line."""
    command, env = [sys.executable, "-m", "publish.serve", *map(str, arguments)], {**os.environ, **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, **pipes) as server:
        try:
            yield server, server.stdout.readline()
        finally:
            server.kill()


def get(port: int, path: str) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_it_serves_on_the_port_that_the_option_or_else_the_variable_asks_for_and_no_address_makes_a_traceback(book):
    port = free_port()
    with serving("--build", book, PORT=str(port)) as (_, line):
        assert f"http://127.0.0.1:{port}/" in line and get(port, "/") == (200, b"the front page")
    port = free_port()
    with serving("--build", book, "--port", port, PORT="1") as (server, line):
        assert f"http://127.0.0.1:{port}/" in line
        for path in ("/%00", "/a%00b/", "/%", "/%ff", "/../../etc/passwd", "/" + "a" * 5000):
            assert get(port, path)[0] == 404, path
        assert get(port, "/index.html") == (200, b"the front page")
        server.send_signal(signal.SIGINT)
        assert server.stderr.read() == "" and server.wait(600) == 0


def test_a_missing_book_a_taken_port_and_what_is_no_port_are_one_sentence(book, tmp_path, monkeypatch, capsys):
    def said(folder, *arguments: str) -> tuple[int, str]:
        return serve.main(["--build", str(folder), *arguments]), capsys.readouterr().err

    assert said(tmp_path / "nowhere") == (1, "there is no book yet: run `make book` first\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("PORT", port)
        for code, told in (said(book), said(book, "--port", port)):
            assert code == 1 and re.fullmatch(rf"port {port} cannot be used \(.+\): choose another, .+\n", told)
    for wrong in ("0", "65536", "-1", "eight", "8000.0", "80 00", "²"):
        told = f"«{wrong}» is not a port: choose a number from 1 to 65535\n"
        assert said(book, f"--port={wrong}") == (2, told)
