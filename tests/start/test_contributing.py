"""CONTRIBUTING followed word for word by a stranger, in a copy of the checkout: what it asks for is green then."""

import re

import contribution
import pytest
from contribution import CHAPTER, run
from seldom import rarely

from grader.exercise import chapters

BOTH, ENGLISH = ("en", "zh-Hans"), ("en",)
TESTS = ["tests/lessons/test_languages.py", "tests/publish/text", "tests/publish/test_house.py"]


@pytest.fixture
def checkout(tmp_path):
    return contribution.checkout(tmp_path)


def only(languages):
    return () if languages == BOTH else ("--only", *languages)


def in_step(folder, languages):
    """`make sync`, then what `make check` says says nothing."""
    synced = run(folder, "publish.sync")
    assert synced.returncode == 0, synced.stdout + synced.stderr
    checked = run(folder, "publish.check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert ("note: not yet in both languages" in checked.stdout) == (languages != BOTH)


@pytest.mark.long
def test_an_exercise_in_english_only_is_in_step_when_it_is_filled_in_and_not_before(checkout):
    made = contribution.new(checkout, "ch03", "--only", "en")
    assert made.returncode == 0, made.stderr
    early = run(checkout, "publish.sync", "--check")
    assert early.returncode == 1 and "lessons/ch03_sharding: 18 places still say «FILL IN», first " in early.stderr
    contribution.fill(checkout, "ch03_sharding", ENGLISH)
    in_step(checkout, ENGLISH)
    page = (checkout / "book/zh-Hans/ch03_sharding.md").read_text("utf-8")
    assert "这里还没有中文，下面是英文。\n\nHow many rows" in page
    assert "ch03_sharding#ex-rows-of\n" in (checkout / "book/addresses.txt").read_text()


@pytest.mark.long
@pytest.mark.parametrize("languages", [BOTH, *rarely(ENGLISH)], ids="-".join)
def test_an_exercise_is_green(checkout, languages):
    assert contribution.new(checkout, "ch03", *only(languages)).returncode == 0
    contribution.fill(checkout, "ch03_sharding", languages)
    holds(checkout, "ch03")
    in_step(checkout, languages)
    green(checkout)


@pytest.mark.long
@pytest.mark.rarely
@pytest.mark.parametrize("languages", [BOTH, *rarely(ENGLISH)], ids="-".join)
def test_a_chapter_is_a_draft_until_it_holds_and_is_green_then(checkout, languages):
    before = run(checkout, "publish.sync", "--check")
    assert before.returncode == 0, before.stderr
    assert run(checkout, "lessons", "new", CHAPTER, *only(languages)).returncode == 0
    assert contribution.new(checkout, "ch25").returncode == 0
    in_step(checkout, BOTH)  # a draft is nobody's fault
    listed = [*checkout.glob("README*"), checkout / "_toc.yml", *checkout.glob("book/*/[it][ne]*.md")]
    assert not any(CHAPTER in path.read_text("utf-8") for path in listed)
    contribution.fill_chapter(checkout, languages)
    contribution.fill(checkout, CHAPTER, languages)
    said = holds(checkout, "ch25")
    facts = checkout / "lessons" / CHAPTER / chapters.FILE
    assert f"take «draft = true» out of lessons/{CHAPTER}/chapter.toml" in said
    facts.write_text(re.sub("(?m)^draft.*\n", "", facts.read_text("utf-8")), "utf-8")
    in_step(checkout, languages)
    assert all(CHAPTER in path.read_text("utf-8") for path in listed)
    green(checkout)


def holds(folder, chapter):
    checked = run(folder, "lessons", "check", chapter)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return checked.stdout


def green(folder):
    done = run(folder, "pytest", "-q", "-n", "2", "-m", "not long and not mutants", "-p", "no:cacheprovider", *TESTS)
    assert done.returncode == 0, done.stdout
