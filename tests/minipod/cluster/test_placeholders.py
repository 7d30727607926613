"""What is filled in in the arguments of a program, for each process its own, and what stays as it is."""

from pathlib import Path

import pytest

from minipod import cluster
from minipod.__main__ import main
from minipod.cluster.placeholders import fill


def test_each_process_gets_its_own_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(
        "import os, sys\nprint(sys.argv[1:3], sys.argv[3] == '--at=' + os.environ['MINIPOD_COORDINATOR'])"
    )
    done = cluster.run("p.py", "--i={process}", "{processes}", "--at={coordinator}", processes=3)
    assert done.outputs == [f"['--i={i}', '3'] True\n" for i in range(3)]


@pytest.mark.parametrize(
    ("argument", "becomes"),
    [
        ("{process}/{processes}", "1/2"),
        ("{coordinator}", "127.0.0.1:20000"),
        ("{{process}}", "{process}"),
        ("{{rank}}", "{rank}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": {"b": {process}}}', '{"a": {"b": 1}}'),
        ("{}", "{}"),
        ("{0}", "{0}"),
        ("{loss:.3f}", "{loss:.3f}"),
        ("{a,b}", "{a,b}"),
        ("${HOME}", "${HOME}"),
        ("{{ process }}", "{{ process }}"),
    ],
)
def test_only_a_name_alone_in_braces_is_filled_in(argument: str, becomes: str):
    assert fill([argument], 1, 2, "127.0.0.1:20000") == [becomes]


def test_an_unknown_name_is_one_sentence_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text("print('started')")
    assert main(["run", "p.py", "--i={rank}"]) == 2
    assert capsys.readouterr() == (
        "",
        "minipod: there is no {rank}: in arguments {process}, {processes} and {coordinator} are filled in, and "
        "{{rank}} gives {rank}\n",
    )
