"""The command line: live prefixed lines, exit codes, and one sentence for a mistake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minipod
from minipod.__main__ import main
from minipod.cluster import launch
from minipod.cluster.placeholders import fill


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.py").touch()
    return tmp_path


def test_processes_that_never_join_are_told_so_and_programs_without_jax_are_not(capsys: pytest.CaptureFixture[str]):
    Path("p.py").write_text("import sys\nif sys.argv[1] == 'jax':\n    import jax\n    jax.devices()\n")
    assert main(["run", "p.py", "plain"]) == main(["run", "-n", "1", "-d", "1", "p.py", "jax"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["run", "-d", "1", "p.py", "jax"]) == 0
    said = "minipod: each process computed on its own: none called jax.distributed.initialize\n"
    assert capsys.readouterr() == ("", said)


def test_survivors_go_on_when_one_has_failed_and_others_do_not(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setattr(launch, "GRACE", 0.2)
    Path("q.py").write_text("import sys, time\nif sys.argv[1] == '1': sys.exit(3)\ntime.sleep(3)\nprint('here')\n")
    assert main(["run", "--survivors", "q.py", "{process}"]) == 3
    assert capsys.readouterr() == ("[0] here\n", "minipod: process 1 ended with exit status 3\n")
    Path("q.py").write_text(Path("q.py").read_text().replace("sleep(3)", "sleep(1000)"))
    assert main(["run", "q.py", "{process}"]) == 3 and capsys.readouterr().out == ""


def test_in_the_arguments_only_a_name_alone_in_braces_is_filled_in():
    filled = {
        "{process}/{processes}": "1/2",
        "{coordinator}": "127.0.0.1:20000",
        "{{process}}": "{process}",
        "{{rank}}": "{rank}",
        '{"a": {"b": {process}}}': '{"a": {"b": 1}}',
    }
    assert fill([*filled], 1, 2, "127.0.0.1:20000") == [*filled.values()]
    as_it_is = ['{"a": 1}', "{}", "{0}", "{loss:.3f}", "{a,b}", "${HOME}", "{{ process }}"]
    assert fill(as_it_is, 1, 2, "127.0.0.1:20000") == as_it_is


# Python imports this as it starts: a finder of its own, as pip leaves one for `pip install -e`.
EDITABLE = """
import importlib.util, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == "editable":
            return importlib.util.spec_from_file_location(name, "{folder}/__init__.py")
sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize("start", [["run", "-n", "1", "-d", "1"], ["start"]], ids=" ".join)
def test_a_module_of_an_editable_install_and_a_program_run_as_python_runs_them(start: list[str], here: Path):
    for folder in ("elsewhere", "site", "code"):
        (here / folder).mkdir()
    (here / "elsewhere/__init__.py").touch()
    (here / "elsewhere/train.py").write_text("import sys; print(__name__, __package__, sys.argv)")
    (here / "site/sitecustomize.py").write_text(EDITABLE.format(folder=here / "elsewhere"))
    (here / "queue.py").write_text("raise ImportError('not the standard one')")
    program = "import os, queue; os.chdir('/'); print(open(__file__).read() != '', queue.Queue.__name__)"
    (here / "code/train.py").write_text(program)
    env = {**os.environ, "PYTHONPATH": f"{here / 'site'}:{Path(minipod.__file__).parents[1]}"}
    for arguments, printed in (
        (["-m", "editable.train", "--steps"], f"__main__ editable ['{here}/elsewhere/train.py', '--steps']\n"),
        (["code/train.py"], "True Queue\n"),
    ):
        command = [sys.executable, "-m", "minipod", *start, *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        assert (done.stdout.removeprefix("[0] "), done.stderr, done.returncode) == (printed, "", 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "nope.py"], "minipod: nope.py: there is no such program in"),
        (["run", "."], "minipod: .: this is a folder, not a program"),
        (["run", "-m", "no_such"], "minipod: no_such: there is no such module"),
        (["run", "-n", "17", "p.py"], "minipod: 17 processes: choose between 1 and 16"),
        (["run", "-d", "0", "p.py"], "minipod: 0 devices"),
        (["run", "-d", "5000", "p.py"], "minipod: 2 × 5000 = 10000 devices: choose at most 1024"),
        (["run", "-n", "two", "p.py"], "minipod run: argument -n/--processes: invalid int value: 'two'"),
        (["run", "--port", "1", "p.py"], "minipod: port 1: choose one between 1024 and 65535"),
        (["run", "--limit", "inf", "p.py"], "minipod: limit inf: a finite number"),
        (["run", "--speed", "9", "p.py"], "minipod: unknown option --speed (see"),
        (["run"], "minipod run: the following arguments are required: PROGRAM (see"),
        (["run", "p.py", "--i={rank}"], "minipod: there is no placeholder {rank}, only {process}, {processes} and"),
        (["start", "nope.py"], "minipod: nope.py: there is no such program in"),
        (["traffic", "nope.hlo"], "minipod: nope.hlo: No such file or directory"),
        (["draw", "-o", "no/such.svg"], "minipod: no/such.svg: there is no folder no"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]):
    try:
        code = main(arguments)
    except SystemExit as end:  # argparse's own way
        code = end.code
    out, error = capsys.readouterr()
    assert code == 2 and out == "" and error.startswith(says) and error.count("\n") == 1


@pytest.mark.parametrize("files", [12, 24])
def test_too_few_open_files_are_one_sentence_before_anything_starts(files: int):
    Path("p.py").write_text("import os\n[os.dup(0) for _ in range(9)]\n")
    command = f"ulimit -n {files}; exec {sys.executable} -m minipod run -n 1 p.py"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("minipod: Too many open files: ") and done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_ends_the_run():
    Path("q.py").write_text("while True: print('x' * 100)")
    command = f"{sys.executable} -m minipod run q.py | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=600)
    assert done.stdout.endswith("x\n") and done.stderr == ""


def test_draw_writes_a_picture_of_simulated_devices():
    assert main(["draw", "-d", "8", "-o", "eight.svg"]) == 0
    picture = Path("eight.svg").read_text()
    assert picture.lstrip().startswith("<svg") and "device 7" in picture and "device 8" not in picture
