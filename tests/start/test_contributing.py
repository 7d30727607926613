"""CONTRIBUTING followed word for word by a stranger, in a copy of the checkout: what it asks for is green then.

They add a chapter in both languages, and an exercise in English.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from projects import copy
from small_chapter import CHECKS, MISTAKES, named

from grader.exercise import chapters
from publish.author.templates import MARK

CHAPTER = "ch25_twice"
TEXTS = {"en": "Twice a number", "zh-Hans": "一个数的两倍"}  # for all that is to be filled in
TESTS = ["tests/lessons/test_languages.py", "tests/publish/text"]


def done(folder: Path, *command: str) -> str:
    """What `python -m …` prints, as typed in that folder; it ends well."""
    command = sys.executable, "-m", *command
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def fill(folder: Path) -> None:
    """Write the chapter and its exercise into what `new` has made of them."""
    here = folder / "lessons" / CHAPTER
    for path, code in {
        here / "test_exercises.py": CHECKS.lstrip(),
        here / "mistakes.py": named("twice", MISTAKES),
        folder / f"solutions/{CHAPTER}.py": "def twice(n):\n    return 2 * n\n",
    }.items():
        head, _, _ = path.read_text("utf-8").partition("def ")
        path.write_text(head + code, "utf-8")
    for path in here.glob("*.*"):
        lines = re.split("(.*zh-Hans.*)", path.read_text("utf-8"))  # every second one is in Chinese
        lines[::2] = [line.replace(MARK, TEXTS["en"]) for line in lines[::2]]
        path.write_text("".join(lines).replace(MARK, TEXTS["zh-Hans"]), "utf-8")
    for language, text in TEXTS.items():
        page = folder / "book" / language / f"{CHAPTER}.md"
        page.write_text(page.read_text("utf-8").replace(MARK, text), "utf-8")


@pytest.mark.long
def test_a_chapter_is_a_draft_until_it_holds_and_is_green_then(tmp_path):
    checkout = copy(tmp_path / "checkout")
    done(checkout, "lessons", "new", CHAPTER)
    done(checkout, "lessons", "new", "ch25", "twice(n)", "--only", "en", "--mistakes", *MISTAKES)
    done(checkout, "publish.sync")
    done(checkout, "publish.check")  # a draft is nobody's fault
    listed = [checkout / "_toc.yml", *checkout.glob("book/*/[it][ne]*.md")]
    assert not any(CHAPTER in path.read_text("utf-8") for path in listed)
    fill(checkout)
    done(checkout, "ruff", "format", "lessons", "solutions")
    facts = checkout / "lessons" / CHAPTER / chapters.FILE
    assert f"Delete `draft = true` in lessons/{CHAPTER}/chapter.toml" in done(checkout, "lessons", "check", "ch25")
    facts.write_text(re.sub("(?m)^draft.*\n", "", facts.read_text("utf-8")), "utf-8")
    done(checkout, "publish.sync")
    assert "note: not yet in both languages" in done(checkout, "publish.check")
    assert all(CHAPTER in path.read_text("utf-8") for path in listed)
    page = (checkout / f"book/zh-Hans/{CHAPTER}.md").read_text("utf-8")
    assert "这里还没有中文，下面是英文。\n\nTwice a number" in page
    assert f"{CHAPTER}#ex-twice\n" in (checkout / "book/addresses.txt").read_text()
    done(checkout, "pytest", "-q", "-n", "2", "-m", "not long", "-p", "no:cacheprovider", *TESTS)
