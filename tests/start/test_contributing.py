"""CONTRIBUTING followed word for word by a stranger, in a copy of the checkout: what it asks for is green then."""

import re

import contribution
import pytest
from contribution import CHAPTER, run
from projects import copy

from grader.exercise import chapters

BOTH, ENGLISH = ("en", "zh-Hans"), ("en",)
TESTS = ["tests/lessons/test_languages.py", "tests/publish/text"]
pytestmark = pytest.mark.long


@pytest.fixture
def checkout(tmp_path):
    return copy(tmp_path / "checkout")


def done(folder, *command):
    """What it prints that ends well."""
    ended = run(folder, *command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def in_step(folder, languages=BOTH):
    """`make sync`, then what `make check` says has to say."""
    done(folder, "publish.sync")
    assert ("note: not yet in both languages" in done(folder, "publish.check")) == (languages != BOTH)


def test_an_exercise_in_english_only_is_in_step_when_it_is_filled_in_and_not_before(checkout):
    contribution.new(checkout, "ch03", "--only", "en")
    early = run(checkout, "publish.sync", "--check")
    assert early.returncode == 1 and "lessons/ch03_sharding: 18 places still say «FILL IN», first " in early.stderr
    contribution.fill(checkout, "ch03_sharding", ENGLISH)
    in_step(checkout, ENGLISH)
    page = (checkout / "book/zh-Hans/ch03_sharding.md").read_text("utf-8")
    assert "这里还没有中文，下面是英文。\n\nHow many rows" in page
    assert "ch03_sharding#ex-rows-of\n" in (checkout / "book/addresses.txt").read_text()


def test_a_chapter_is_a_draft_until_it_holds_and_is_green_then(checkout):
    done(checkout, "publish.sync", "--check")
    done(checkout, "lessons", "new", CHAPTER)
    contribution.new(checkout, "ch25")
    in_step(checkout)  # a draft is nobody's fault
    listed = [checkout / "_toc.yml", *checkout.glob("book/*/[it][ne]*.md")]
    assert not any(CHAPTER in path.read_text("utf-8") for path in listed)
    contribution.fill_chapter(checkout, BOTH)
    contribution.fill(checkout, CHAPTER, BOTH)
    said = done(checkout, "lessons", "check", "ch25")
    facts = checkout / "lessons" / CHAPTER / chapters.FILE
    assert f"take «draft = true» out of lessons/{CHAPTER}/chapter.toml" in said
    facts.write_text(re.sub("(?m)^draft.*\n", "", facts.read_text("utf-8")), "utf-8")
    in_step(checkout)
    assert all(CHAPTER in path.read_text("utf-8") for path in listed)
    done(checkout, "pytest", "-q", "-n", "2", "-m", "not long and not mutants", "-p", "no:cacheprovider", *TESTS)
