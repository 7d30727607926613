"""CONTRIBUTING followed word for word by a stranger, in a copy of the checkout: what it asks for is green then.

They add a chapter in both languages, and an exercise in English.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from projects import copy

from grader.exercise import chapters
from publish.author.templates import MARK

CHAPTER = "ch25_rows"
EXERCISE = '''def rows_of(x, mesh):
    """How many rows of x has each device of mesh, when axis "x" cuts them?

    x: f32[rows, columns], on one device.
    mesh: with the axes "x" and "y".
    Returns the number of rows on one device, an int (it is the same on all).
    """
    # TODO: divide by one number of the mesh.
    raise NotImplementedError
'''
TEST = """def test_rows_of(check):
    def cases(rng):
        found = []
        for sizes, rows in (((2, 2), 8), ((4, 2), 12)):
            devices = np.array(jax.devices()[: sizes[0] * sizes[1]])
            mesh = Mesh(devices.reshape(sizes), ("x", "y"))
            for columns in (3, int(rng.integers(5, 9))):
                found.append((normal(rng, rows, columns), mesh))
        return found

    check(cases, oracle=lambda x, mesh: x.shape[0] // mesh.devices.shape[0])
"""
IMPORTS = "\n\nimport jax\nimport numpy as np\nfrom jax.sharding import Mesh\n\nfrom grader import normal\n\n\n"
RIGHT = 'len(x) // mesh.shape["x"]'
MISTAKES = {  # what it returns, what it is called, what is said of it
    "whole": ("len(x)", "all rows", "Each device has a part of the rows only."),
    "by_all": ("len(x) // mesh.size", "divided by all devices", "Axis y copies: it divides nothing."),
    "columns": ('x.shape[1] // mesh.shape["x"]', "columns", "These are columns; the rows are asked for."),
}
WORDS = {
    "title": '"Rows of a device"',
    "hints": '["What is the size of axis x?", "mesh.shape says it.", "len(x) // mesh.shape[\\"x\\"]"]',
}
DEMO = "# %% first\nfrom minipod import devices\n\ndevices.simulate(8)\nprint(8)\n"
PAGE = {  # title, prose
    "en": ("Rows", "Each device prints its number.\nThis is a page of a test."),
    "zh-Hans": ("行", "每个设备打印自己的编号。这是测试里的一页。"),
}
FACTS = {  # goal, what one may ask, a thing
    "en": ("count the rows of a device", "Which device has which row?", "a device's rows"),
    "zh-Hans": ("数出每个设备的行数", "哪一行在哪个设备上？", "一个设备的行"),
}
TESTS = ["tests/lessons/test_languages.py", "tests/publish/text"]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """`python -m …` as typed in that folder."""
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=900)


def done(folder: Path, *command: str) -> str:
    """What it prints that ends well."""
    ended = run(folder, *command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def put(text: str, language: str, values: dict[str, str], count: int = 1) -> str:
    """A TOML text with these values for the first `count` keys of each name in a language; 0 is all."""
    for key, value in values.items():
        text = re.sub(rf"(?m)^({key}\.{language} = ).*", lambda m, value=value: m[1] + value, text, count=count)
    return text


def fill_exercise(folder: Path) -> None:
    """Write the exercise into what `new` has made of it; it stands last in its files."""
    here, head, end = folder / "lessons" / CHAPTER, "def rows_of(x, mesh):\n    return {}\n", "def rows_of"

    def answers(bodies: dict[str, str]) -> str:
        return "\n\n".join(f"def rows_of__{name}(x, mesh):\n    return {body}\n" for name, body in bodies.items())

    for path, text in {
        here / "exercises.py": EXERCISE,
        here / "test_exercises.py": TEST,
        folder / f"solutions/{CHAPTER}.py": head.format(RIGHT),
        here / "mistakes.py": answers({name: body for name, (body, _, _) in MISTAKES.items()}),
    }.items():
        before, _, _ = path.read_text("utf-8").partition("def test_rows_of(" if text is TEST else end)
        path.write_text(before + text, "utf-8")
    checks, words = here / "test_exercises.py", here / "words.toml"
    checks.write_text(checks.read_text("utf-8").replace("\n\n\n", IMPORTS, 1), "utf-8")
    before, own = words.read_text("utf-8").split("[rows_of]\n")
    own = put(own, "en", WORDS)
    for mistake, (_, name, text) in MISTAKES.items():
        table = f"[rows_of.mistakes.{mistake}]\n"
        start, end = own.split(table)
        own = start + table + put(end, "en", {"name": f'"{name}"', "text": f'"{text}"'})
    words.write_text(f"{before}[rows_of]\n{own}", "utf-8")


def fill_chapter(folder: Path) -> None:
    """Write the chapter into what `new` has made of it."""
    here = folder / "lessons" / CHAPTER
    facts = (here / chapters.FILE).read_text("utf-8")
    for language, (title, prose) in PAGE.items():
        page = folder / "book" / language / f"{CHAPTER}.md"
        text = page.read_text("utf-8").replace(f"# {MARK}", f"# {title}", 1)
        page.write_text(text.replace(MARK, prose), "utf-8")
        goal, question, thing = FACTS[language]
        values = {"title": f'"{title}"', "goal": f'"{goal}"', "ask": f'["{question}"]', "words": f'["{thing}"]'}
        facts = put(facts, language, values | {"here": f'"{thing}"', "torch": f'"{thing}"'}, count=0)
    facts = facts.replace(f"https://{MARK}", "https://pytorch.org/docs/stable/distributed.tensor.html")
    (here / chapters.FILE).write_text(facts, "utf-8")
    (here / "demo.py").write_text(DEMO)


@pytest.mark.long
def test_a_chapter_is_a_draft_until_it_holds_and_is_green_then(tmp_path):
    checkout = copy(tmp_path / "checkout")
    done(checkout, "lessons", "new", CHAPTER)
    done(checkout, "lessons", "new", "ch25", "rows_of(x, mesh)", "--only", "en", "--mistakes", *MISTAKES)
    done(checkout, "publish.sync")
    done(checkout, "publish.check")  # a draft is nobody's fault
    listed = [checkout / "_toc.yml", *checkout.glob("book/*/[it][ne]*.md")]
    assert not any(CHAPTER in path.read_text("utf-8") for path in listed)
    fill_chapter(checkout)
    fill_exercise(checkout)
    facts = checkout / "lessons" / CHAPTER / chapters.FILE
    assert f"Delete `draft = true` in lessons/{CHAPTER}/chapter.toml" in done(checkout, "lessons", "check", "ch25")
    facts.write_text(re.sub("(?m)^draft.*\n", "", facts.read_text("utf-8")), "utf-8")
    done(checkout, "publish.sync")
    assert "note: not yet in both languages" in done(checkout, "publish.check")
    assert all(CHAPTER in path.read_text("utf-8") for path in listed)
    page = (checkout / f"book/zh-Hans/{CHAPTER}.md").read_text("utf-8")
    assert "这里还没有中文，下面是英文。\n\nHow many rows" in page
    assert f"{CHAPTER}#ex-rows-of\n" in (checkout / "book/addresses.txt").read_text()
    done(checkout, "pytest", "-q", "-n", "2", "-m", "not long", "-p", "no:cacheprovider", *TESTS)
