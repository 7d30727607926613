"""What processes print arrives in pieces of any size, as it comes, and in linear time."""

from pathlib import Path

import pytest

from minipod import cluster
from minipod.processes.lines import LONGEST, Lines


def fed(*pieces: bytes) -> list[tuple[bytes, bytes]]:
    lines = Lines()
    return [line for piece in pieces for line in lines.feed(piece)] + lines.end()


def test_lines_end_where_they_say():
    for pieces, lines in (
        ([b"a\nb", b"c\n"], [(b"a", b"\n"), (b"bc", b"\n")]),
        ([b"a\r\nb\r", b"\nc"], [(b"a", b"\n"), (b"b", b"\n"), (b"c", b"\n")]),
        ([b"1%\r2%", b"\r3%\n"], [(b"1%", b"\r"), (b"2%", b"\r"), (b"3%", b"\n")]),
        ([b"1%\r", b"2%\r", b""], [(b"1%", b"\r"), (b"2%", b"\n")]),
        ([b"\n\n"], [(b"", b"\n"), (b"", b"\n")]),
        ([], []),
    ):
        found = fed(*pieces)
        assert found[: len(lines)] == lines and all(not text for text, _ in found[len(lines) :])


def test_a_long_line_comes_in_parts_between_characters():
    text = ("行" * 50_000).encode()
    parts = fed(*(text[i : i + 1000] for i in range(0, len(text), 1000)))
    assert [end for _, end in parts] == [b""] * (len(parts) - 1) + [b"\n"] and len(parts) == 3
    assert "".join(part.decode() for part, _ in parts) == "行" * 50_000
    assert max(len(part) for part, _ in parts) <= LONGEST


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_line_of_ten_megabytes_comes_through_and_a_long_one_is_kept_as_one(here: Path):
    (here / "p.py").write_text(
        "import os\nprint('x' * 200_000)\nprint('x' * 10_000_000)\nos.write(1, b'y' * 10_000_000)\nprint('end')"
    )
    sizes = [0]
    run = cluster.run("p.py", processes=1, limit=300, show=lambda _, line: sizes.append(len(line)))
    assert sum(sizes) == 20_200_003 and run.ok
    assert run.outputs[0].startswith("x" * 200_000 + "\n")
    assert len(run.outputs[0]) < 1_001_000 and run.outputs[0].endswith("the rest is not kept)\n")


def test_progress_is_shown_as_it_comes_and_its_last_form_is_kept(here: Path):
    (here / "p.py").write_text(
        "import pathlib, sys, time\n"
        "for i in range(3):\n"
        "    print(f'\\r{i}/3', end='', flush=True)\n"
        "    while not pathlib.Path(f'seen-{i - 1}').exists() and i: time.sleep(0.01)\n"
        "print('\\r3/3\\nend')\n"
    )
    seen = []

    def show(_: int, line: str) -> None:
        seen.append(line)
        (here / f"seen-{line[0]}").touch()  # the program goes on when it has been seen

    run = cluster.run("p.py", processes=1, limit=300, show=show)
    assert seen == ["0/3", "1/3", "2/3", "3/3", "end"] and run.outputs == ["3/3\nend\n"]


def test_a_debugger_is_refused_in_one_sentence_unless_it_is_another(here: Path):
    (here / "p.py").write_text("x = 1\nbreakpoint()\nprint('on')\n")
    run = cluster.run("p.py", processes=1, check=False)
    assert run.first_failure == (
        "process 0 raised RuntimeError: a debugger cannot read the keyboard in a cluster: "
        "debug the program in a single process, at p.py:2"
    )
    assert cluster.run("p.py", processes=1, env={"PYTHONBREAKPOINT": "builtins.print"}).outputs == ["\non\n"]
    (here / "p.py").write_text("import pdb\npdb.set_trace()\nprint('on')\n")
    run = cluster.run("p.py", processes=1, check=False)
    assert run.first_failure and "BdbQuit: a debugger cannot read the keyboard" in run.first_failure
