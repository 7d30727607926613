"""`lessons.check` and its like in a kernel: learn's verdicts, and one sentence for each slip."""

from itertools import chain
from pathlib import Path

import pytest

from grader import home
from grader.exercise.lesson_words import lesson_words
from grader.exercise.statements import functions
from grader.messages import LANGUAGES, pick, say
from grader.notebook import blank_cells
from grader.notebook.desk import Desk
from minipod.processes.environment import clean

ROOT = Path(__file__).parents[3]
CHAPTER, NAME = "ch03_sharding", "bytes_per_device"
LESSON = ROOT / "lessons" / CHAPTER
CHECK = f'lessons.check("{NAME}")'
HEAD = f"def {NAME}(shape, dtype, mesh, spec):\n    "
WRONG = f"{HEAD}return count(shape) * jnp.dtype(dtype).itemsize"


@pytest.mark.parametrize("lang", ["en", *(pytest.param(zh, marks=pytest.mark.long) for zh in LANGUAGES[1:])])
def test_a_notebook_says_what_learn_says(tmp_path, lang):
    import nbformat  # half a second, with the client, for who only collects
    from nbclient import NotebookClient

    cells = {
        "begin": f"import lessons\nlessons.begin({lang!r}, {CHAPTER!r}, {blank_cells.digest(LESSON)!r})",
        "early": CHECK,
        "blank cell": blank_cells.blank_cell(LESSON / "exercises.py", NAME, "en"),
        "todo": CHECK,
        "helper": "import math\nimport jax.numpy as jnp\ndef count(shape):\n    return math.prod(shape)",
        "wrong cell": WRONG,
        "wrong": CHECK,
        "raises cell": f"{HEAD}n = 1\n    return n / 0",
        "raises": CHECK,
        "timed cell": f"%%time\n{WRONG}",
        "timed": CHECK,
        "solved cell": (ROOT / "solutions" / f"{CHAPTER}.py").read_text("utf-8"),
        "right": CHECK,
        "pair cell": "import numpy as np\ndef global_sum(mine: np.ndarray) -> float:\n    return float(mine.sum())",
        "pair": 'lessons.check("ch10_processes/global_sum")',
        "hints": f'for _ in range(4): print(lessons.hint("{NAME}"), end="|")',
        "solution": f'lessons.solution("{NAME}")',
        "blank": f'lessons.blank("{NAME}")',
        "unknown": 'lessons.check("bytes_device")',
        "other": f"lessons.begin({lang!r}, {CHAPTER!r}, 'of another book')",
        "language": "lessons.begin('fr')",
        # the kernel survives an interrupted check and what answers do
        "alarm": "import signal\nsignal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))",
        "stuck cell": f"{HEAD}import time\n    time.sleep(1000)",
        "stopped": f"_ = signal.setitimer(signal.ITIMER_REAL, 1.5)\n{CHECK}",
        "crash cell": f"{HEAD}import ctypes\n    ctypes.string_at(0)",
        "crashed": CHECK,
        "large cell": f"{HEAD}return bytearray(10 << 30)",
        "full": CHECK,
        "wrong again": WRONG,
        "alive": CHECK,
    }
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells.values()])
    where, quiet = {"metadata": {"path": str(tmp_path)}}, {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    environment = clean(PYTHONPATH=str(ROOT), LANG="en_US.UTF-8", IPYTHONDIR=str(tmp_path / ".ipython"), **quiet)
    NotebookClient(notebook, timeout=600, allow_errors=True, resources=where).execute(env=environment)
    gave = {label: cell.outputs for label, cell in zip(cells, notebook.cells, strict=True)}
    errors = [(label, o.ename) for label, outputs in gave.items() for o in outputs if o.output_type == "error"]
    assert errors == [("stopped", "KeyboardInterrupt")]
    data = {label: [o.data for o in outputs if "data" in o] for label, outputs in gave.items()}
    streams = {label: [o.text for o in outputs if "text" in o] for label, outputs in gave.items()}
    shown = {label: "".join(streams[label] + [d["text/plain"] for d in data[label]]).strip() for label in cells}
    words = lesson_words(LESSON)[NAME]
    head = f"{NAME} · {pick(words.title, lang)}"
    assert shown["begin"] == ""
    assert shown["early"] == say("notebook-not-run", lang, name=NAME)
    more = say("notebook-next", lang, name=NAME)
    assert shown["todo"] == f"{say('todo', lang)}  {head}\n  {say('todo-text', lang)}\n  {more}"
    whole = pick(words.mistakes[f"{NAME}__whole"].text, lang)
    for label in ("wrong", "timed"):
        assert shown[label].startswith(f"{say('wrong', lang)}  {head}\n")
        assert whole in shown[label] and shown[label].endswith(more)
    assert say("where", lang, file="", line="", code="return n / 0")[2:] in shown["raises"]
    assert say("notebook-place", lang, cell=8, line=3) in shown["raises"]
    names = list(functions(LESSON / "exercises.py"))
    to_do = next(name for name in names if name != NAME)
    after = say("notebook-right", lang, name=NAME, k=1, n=len(names), next=to_do)
    assert shown["right"] == f"{say('right', lang)}  {head}\n  {after}"
    own = lesson_words(ROOT / "lessons/ch10_processes")["global_sum"].mistakes["global_sum__own_only"]
    assert pick(own.text, lang) in shown["pair"]
    hints = shown["hints"].split("|")[:-1]
    assert [pick(words.hints, lang)[n] in hint for n, hint in zip([0, 1, 2, 2], hints, strict=True)] == [True] * 4
    assert hints[3].endswith(say("notebook-hint-last", lang, name=NAME))
    assert shown["solution"].startswith(f"def {NAME}(") and "raise NotImplementedError" not in shown["solution"]
    assert shown["blank"] == blank_cells.blank_cell(LESSON / "exercises.py", NAME, lang)
    assert shown["unknown"].startswith(say("notebook-unknown", lang, name="bytes_device", known=f"`{NAME}`")[:-1])
    assert shown["other"] == say("notebook-other", lang, package=home.BOOK)
    assert shown["language"] == say("bad-language", lang, value="fr", languages="en, zh-Hans, zh-Hant")
    assert "SIGSEGV" in shown["crashed"] and "2 GiB" in shown["full"].replace("2.0", "2")
    assert shown["alive"].startswith(f"{say('wrong', lang)}  ")
    assert "…" not in shown["right"]  # that it is being checked is said meanwhile, and then taken back
    assert {*chain(*data["wrong"])} == {"text/plain", "text/html"}
    assert {*chain(*data["solution"])} == {"text/plain", "text/markdown"}


def test_what_a_chapter_writes_and_deletes_is_in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    desk, own = Desk(), tmp_path / "ch16_capstone-files"
    for _ in range(2):  # the first cell may be run again
        desk.begin("en", "ch16_capstone")
        assert Path.cwd() == own
    monkeypatch.chdir(tmp_path)
    own.rename(tmp_path / "away")
    own.touch()
    desk.begin("no language", "ch16_capstone")
    assert Path.cwd() != tmp_path and not any(Path.cwd().iterdir())
