"""Serving the book: on the port that was asked for, on this machine alone; what goes wrong is one sentence."""

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from publish import serve


@pytest.fixture
def book(tmp_path):
    """A folder that looks built."""
    (tmp_path / "html").mkdir()
    (tmp_path / "html/index.html").write_text("the front page")
    return tmp_path


def test_it_serves_the_book_until_ctrl_c(book):
    command = [sys.executable, "-m", "publish.serve", "--build", str(book), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())[0]
            with urllib.request.urlopen(address, timeout=600) as answer:
                assert answer.read() == b"the front page"
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{address}%00", timeout=600)
            server.send_signal(signal.SIGINT)
            assert server.stderr.read() == "" and server.wait(600) == 0
        finally:
            server.kill()


def test_a_missing_book_and_a_taken_port_are_one_sentence(book, tmp_path, monkeypatch, capsys):
    def said(folder, *arguments: str) -> str:
        assert serve.main(["--build", str(folder), *arguments]) == 1
        return capsys.readouterr().err

    assert said(tmp_path / "nowhere") == "there is no book yet: run `make book` first\n"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("PORT", port)
        for told in (said(book), said(book, "--port", port)):
            assert re.fullmatch(rf"port {port} cannot be used \(.+\): choose another port, .+\n", told)
    assert said(book, "--port", "65536").startswith("port 65536 cannot be used (")
