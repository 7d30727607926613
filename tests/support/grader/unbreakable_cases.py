"""What each answer of wild_answers.py and wild_pairs.py must lead to, what odd files must lead to, and their project.

An expectation is an outcome, a key of messages.toml and its values: the message must hold that sentence. A `…` in a
value stands for whatever follows.
"""

import os
from pathlib import Path

from checker_runs import TESTS, project

from grader.messages import say

HERE = Path(__file__).parent
LIMIT, MEMORY = 5, 0.5  # seconds, GiB
LIMIT_TWO = 8  # a collective gives up after five
RIGHT = ("right", None, {})


def _raised(type, text=""):
    return "wrong", "raised" if text else "raised-bare", {"type": type, "text": text}


def _other(type):
    return "wrong", "near-other-kind", {"got": type, "expected": "jax.Array"}


def _broken(key, error="", **values):
    return "broken", key, {"error": error, "memory": MEMORY, **values}


HUNG, HUNG_TWO = (("hung", "hung-text", {"limit": limit}) for limit in (LIMIT, LIMIT_TWO))
CALLS = _broken("stopped", "…")

ONE = {
    "right": RIGHT,
    "segfault": _broken("crashed", "SIGSEGV"),
    "aborts": _broken("crashed", "SIGABRT"),
    "alarm": _broken("crashed", "SIGALRM"),
    "terminates": _broken("crashed", "SIGTERM"),
    "interrupts": _raised("KeyboardInterrupt"),
    "stubborn": HUNG,
    "pauses": HUNG,
    "watchdog": _broken("died", "exit code 1"),
    "faults": RIGHT,
    "at_exit": RIGHT,
    "deep_in_c": _broken("crashed", "SIGSEGV"),
    "reads": _raised("EOFError", "EOF when reading a line"),
    "speechless": CALLS,
    "kills_parent": _raised("PermissionError", "[Errno 1] Operation not permitted"),
    "thread": RIGHT,
    "daemon": RIGHT,
    "starts": RIGHT,
    "crowd": RIGHT,
    "outlived": _broken("died", "exit code 7"),
    "ten_gb": _broken("memory"),
    "ten_gb_of_jax": _broken("memory"),
    "endless_shape": _raised("ValueError", "an array of 4,000,000,000,000 bytes came back"),
    "no_size": ("wrong", "differs-shape", {}),
    "no_size_of_numpy": ("wrong", "differs-shape", {}),
    "nested": _raised("RecursionError"),
    "itself": _other("list"),
    "digits": CALLS,
    "elsewhere": RIGHT,
    "environment": RIGHT,
    "modules": ("broken", None, {}),  # what is missing first depends on the version
    "no_stdout": RIGHT,
    "closed_stdout": RIGHT,
    "scribbles": _broken("garbled"),
    "floods": _broken("large", "100 MB"),
    "deletes_itself": RIGHT,
    "no_exit": RIGHT,
    "no_encoder": _broken("spoilt"),
    "forged": _broken("spoilt"),
    "half_forged": _broken("spoilt"),
    "no_errors": _broken("spoilt"),
    "no_builtins": _broken("spoilt"),
    "no_numpy": CALLS,
    "no_jax": CALLS,
    "device_count": _raised("RuntimeError"),
    "flags": RIGHT,
    "joins": _raised("RuntimeError"),
    "cleared": RIGHT,
    "uncached": RIGHT,
    "double_precision": ("wrong", "setting-changed", {"setting": "jax_enable_x64"}),
    "coroutine": _other("coroutine"),
    "no_repr": _raised("OSError", "no repr"),
    "endless_repr": HUNG,
    "endless_eq": _other("Silent"),
    "oddly_named": _broken("spoilt"),
    "half_a_character": _raised("ValueError", "\ufffd and \ufffd[2J"),
    "record": ("wrong", "differs-dtype", {}),
    "escape": RIGHT,
    "shadowed": _raised("TypeError", "'int' object is not callable"),
    "breaks": _broken("syntax", "'break' outside loop"),
    "parens": _broken("syntax", "too many nested parentheses"),
    "minus": _broken("syntax", "…"),
    "nulls": _broken("syntax", "source code string cannot contain null bytes"),
    "tabs": _broken("syntax", "inconsistent use of tabs and spaces in indentation"),
}
UNPARSED = {
    "breaks": "def breaks(x):\n    break\n",
    "parens": "def parens(x):\n    return " + "(" * 9000 + ")" * 9000 + "\n",
    "minus": "def minus(x):\n    return " + "-" * 90000 + "x\n",
    "nulls": "def nulls(x):\n    return '\0'\n",
    "tabs": "def tabs(x):\n\tif 1:\n        return x\n",
}
TWO = {
    "right_together": RIGHT,
    "one_exits": _broken("died", "exit code 3"),
    "one_crashes": _broken("crashed", "SIGSEGV"),
    "one_hangs": HUNG_TWO,
    "both_hang": HUNG_TWO,
    "one_prints": _broken("printed", "10 MB"),
    "one_fills_memory": _broken("memory"),
    "one_closes": ("broken", None, {}),  # JAX's own connection is closed, too: one of the two notices first
    "one_quits": _broken("exit", type="SystemExit", text="bye"),
    "joins_again": _raised("RuntimeError"),
    "one_shuts_down": _broken("crashed", "SIGABRT"),  # it waits for the other to do the same, and JAX gives up
    "leaves_children": RIGHT,
    "no_sleep": RIGHT,
    "last_right": RIGHT,
}
SLOW = ["one_hangs", "one_prints", "one_fills_memory", "one_quits", "one_shuts_down"]  # in pairs: with pytest only
GOOD = "def only(x):\n    return 2 * x\n"
FILES = {
    "bom": (b"\xef\xbb\xbf" + GOOD.encode(), RIGHT),
    "crlf": (GOOD.replace("\n", "\r\n").encode(), RIGHT),
    "latin": (("é = 1\n" + GOOD).encode("latin-1"), _broken("file-unreadable", "…")),
    "declared": (("# coding: latin-1\né = 1\n" + GOOD).encode("latin-1"), RIGHT),
    "undeclared": (b"# coding: foo\n" + GOOD.encode(), _broken("file-unreadable", "unknown encoding: foo")),
    "empty": (b"", ("todo", "function-missing", {"name": "only"})),
    "large": (b"#" * 50_000_000 + b"\n" + GOOD.encode(), _broken("file-unreadable", "it is larger than 200 kB")),
    "folder": (os.mkdir, _broken("file-unreadable", "this is not a file")),
    "fifo": (os.mkfifo, _broken("file-unreadable", "this is not a file")),
    "loop": (lambda path: os.symlink(path, path), _broken("file-unreadable", "Too many levels of symbolic links")),
    "missing": (lambda path: None, _broken("file-missing")),
    "package": (
        b"import nosuch\n" + GOOD.encode(),
        _broken("load", type="ModuleNotFoundError", text="No module named"),
    ),
    "stops": (b"1 / 0\n" + GOOD.encode(), _broken("load", type="ZeroDivisionError", text="division by zero")),
    "leaves": (b"import os\nos._exit(0)\n" + GOOD.encode(), _broken("died", "exit code 0")),
    "hangs": (b"while True: pass\n" + GOOD.encode(), HUNG),
    "shadows": (b"import jax\njax = None\n" + GOOD.encode(), RIGHT),
    # it meets what is put back of what it deletes
    "zy_deletes": (b"import shutil, os\nshutil.rmtree(os.path.dirname(__file__), True)\n" + GOOD.encode(), RIGHT),
    "zz_last": (GOOD.encode(), RIGHT),
}
PAIR_TESTS = """
import pytest

pytestmark = pytest.mark.processes(2, devices=4)

def _check(check):
    check(lambda rng: [(float(n),) for n in rng.integers(1, 99, 2)])
"""
PAIR_SOLUTION = "def {}(n):\n    return 2 * n\n"


def build(folder: Path) -> Path:
    """The project: a lesson of one-process answers, one of pairs, one for each file. Its path is not ASCII."""
    root = project(folder / "学 习")
    _lesson(root, "ch30_one", ONE, TESTS, GOOD.replace("only", "{}"))
    _lesson(root, "ch31_two", TWO, PAIR_TESTS, PAIR_SOLUTION)
    for name in FILES:
        _lesson(root, f"ch40_{name}", ["only"], TESTS, GOOD.replace("only", "{}"))
    return root


def fill(root: Path, name: str) -> Path:
    """The folder `name` of the project with all the answers; those that are there already stay."""
    wild = (HERE / "wild_answers.py").read_text(encoding="utf-8").replace('r"""Raw', '"""Raw')
    texts = {"ch30_one": wild + "\n\n".join(["", *UNPARSED.values()])}
    texts["ch31_two"] = (HERE / "wild_pairs.py").read_text(encoding="utf-8")
    contents = {lesson: text.encode() for lesson, text in texts.items()}
    contents |= {f"ch40_{name}": content for name, (content, _) in FILES.items()}
    folder = root / name
    folder.mkdir(exist_ok=True)
    for lesson, content in contents.items():
        path = folder / f"{lesson}.py"
        if not os.path.lexists(path):
            path.write_bytes(content) if isinstance(content, bytes) else content(path)
    return folder


def _lesson(root, lesson, names, tests, solution):
    folder = root / "lessons" / lesson
    folder.mkdir()
    (folder / "exercises.py").write_text("".join(f"def {n}(x):\n    raise NotImplementedError\n\n" for n in names))
    checks = "".join(f"def test_{n}(check):\n    _check(check)\n\n" for n in names)
    (folder / "test_exercises.py").write_text(tests + checks)
    (root / "solutions" / f"{lesson}.py").write_text("\n\n".join(solution.format(n) for n in names))


def expected() -> dict[str, tuple]:
    """Every exercise of the project with its expectation."""
    every = {f"ch30_one.{name}": e for name, e in ONE.items()} | {f"ch31_two.{name}": e for name, e in TWO.items()}
    return every | {f"ch40_{name}.only": e for name, (_, e) in FILES.items()}


def unlike(row: dict, exercise: str, expectation: tuple, lang: str, folder: str) -> str | None:
    """What is wrong with an outcome and its message, or None. folder: of the answers, as the message names it."""
    outcome, key, values = expectation
    if row.get("outcome") != outcome:
        return f"{row}"
    file = f"{folder}/{exercise.partition('.')[0]}.py"
    values = {"file": file, "line": row.get("line", "…"), "lesson": exercise.partition(".")[0]} | values
    words = say(key, lang, **values) if key else ""
    parts = words.split("…")
    return None if all(part in row["message"] for part in parts) else f"{row}, not {words}"
