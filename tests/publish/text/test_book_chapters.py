"""What chapter.toml says comes into the order of the book and the tables; one language is enough to make the book."""

import pytest
import small_book
import small_chapter

from grader.author.templates import MARK
from grader.exercise.progress import all_exercises
from publish import addresses, sync
from publish.lists.chapter_lists import lists
from publish.outputs.execute import measures
from publish.page import ROOT
from publish.pages.labels import label

LESSON = small_chapter.LESSON
HEAD = "(sec-small)=\n# Small\n\nProse.\n\n```{code-cell}\n:cell: start\n```\n"
PLACE = "\n% exercise: twice\n% end exercise\n"


def book(folder, machine=False):
    """The small book and the small chapter, everything filled; with `machine` it can be built there."""
    small_book.make(folder, machine)
    chapter = small_chapter.write(folder)
    chapter.facts.write_text(small_chapter.FACTS, "utf-8")  # the other tables have tests of their own
    for page in chapter.pages:
        page.write_text(small_book.FRONT + HEAD + PLACE, "utf-8")
    (folder / "lessons" / LESSON / "demo.py").write_text("# %% start\nprint(1)\n")
    toc = folder / "_toc.yml"
    toc.write_text(toc.read_text() + "  - chapters:\n      # chapters of part 1\n      # end chapters\n")
    for edition in ("en", "zh-Hans"):
        index = folder / "book" / edition / "index.md"
        index.write_text(index.read_text("utf-8") + "\n% chapters\n% end chapters\n", "utf-8")
    for name in ("README.md", "README.zh-Hans.md"):
        (folder / name).write_text("# Read\n\n<!-- chapters -->\n<!-- end chapters -->\n\nmore\n")
    return fill(folder)


def fill(folder):
    sync.fill(sync.check(folder))
    return folder


def state(folder):
    result = sync.check(folder)
    return result.problems, [sentence for _, sentence in result.stale.values()], result.unwritten


def test_a_chapter_comes_into_every_list(tmp_path):
    folder = book(tmp_path)
    assert state(folder) == ([], [], [])
    assert sync.chapters(folder) == ["index", "first", LESSON]
    front = (folder / "book/zh-Hans/index.md").read_text("utf-8")
    assert f"\n- {{doc}}`{LESSON}` · 5\u00a0+\u00a05\u00a0分钟\n\n  小。\n" in front
    row = f"| [`{LESSON}`](book/en/{LESSON}.md) | Small | 5 | 1 | 5 |"
    assert f"\n{row}\n\n<!-- end chapters -->\n\nmore\n" in (folder / "README.md").read_text("utf-8")


def test_another_title_makes_the_lists_stale_and_sync_fills_them(tmp_path):
    folder = book(tmp_path)
    facts = folder / "lessons" / LESSON / "chapter.toml"
    facts.write_text(facts.read_text("utf-8").replace("Small", "Tiny"), "utf-8")
    said = "the list of chapters is not what lessons/*/chapter.toml say"
    assert state(folder) == ([], [f"book/en/index.md: {said}", f"README.md: {said}"], [])
    assert state(fill(folder)) == ([], [], [])
    assert "| Tiny |" in (folder / "README.md").read_text("utf-8")


def test_a_new_exercise_is_counted(tmp_path):
    folder = book(tmp_path)
    blanks = folder / "lessons" / LESSON / "exercises.py"
    blanks.write_text(blanks.read_text("utf-8") + "\n\ndef more(x):\n    raise NotImplementedError\n", "utf-8")
    assert "| Small | 5 | 2 | 5 |" in lists(folder).fill(
        folder / "README.md", (folder / "README.md").read_text("utf-8")
    )


def test_a_file_that_has_lost_its_place_for_the_list_is_a_sentence(tmp_path):
    folder = book(tmp_path)
    (folder / "README.md").write_text("# Read\n")
    needs = "the list of chapters needs a line «<!-- chapters -->» and a line «<!-- end chapters -->» below it"
    assert state(folder)[0] == [f"README.md: {needs}"]


def test_a_part_that_the_book_does_not_have_is_a_sentence(tmp_path):
    folder = book(tmp_path)
    facts = folder / "lessons" / LESSON / "chapter.toml"
    facts.write_text(facts.read_text("utf-8").replace("part = 1", "part = 3"), "utf-8")
    needs = "_toc.yml: the list of chapters needs a line «# chapters of part 3» and a line «# end chapters» below it"
    assert needs in state(folder)[0]


def test_a_page_without_a_chapter_and_a_chapter_without_a_page_are_a_sentence(tmp_path):
    folder = book(tmp_path)
    page = folder / "book/en" / "ch96_stray.md"
    page.write_text((folder / "book/en" / f"{LESSON}.md").read_text("utf-8"), "utf-8")
    stray = "book/en/ch96_stray.md: there is no lessons/ch96_stray/chapter.toml, which puts this page into the book"
    assert state(folder)[0] == [stray]
    page.unlink()
    for edition in ("en", "zh-Hans"):
        (folder / "book" / edition / f"{LESSON}.md").unlink()
    assert state(folder)[0] == [
        f"book/{e}/{LESSON}.md is missing: lessons/{LESSON} needs it" for e in ("en", "zh-Hans")
    ]


def test_half_a_chapter_is_a_sentence(tmp_path):
    folder = book(tmp_path)
    (folder / "lessons/ch96_half").mkdir()
    (problem,) = state(folder)[0]
    assert problem.startswith("lessons/ch96_half/chapter.toml: there is no such file: write one as ")


def test_one_language_is_enough_and_the_other_is_named(tmp_path):
    folder = book(tmp_path)
    lesson = folder / "lessons" / LESSON
    for name in ("chapter.toml", "words.toml"):
        lines = (lesson / name).read_text("utf-8").splitlines(keepends=True)
        kept = [
            line.replace(', zh-Hans = "两倍"', "") for line in lines if not line.startswith(("title.zh", "hints.zh"))
        ]
        (lesson / name).write_text("".join(kept), "utf-8")
    blanks = lesson / "exercises.py"
    blanks.write_text(blanks.read_text("utf-8").replace("\n    n 的两倍。\n", ""), "utf-8")
    (folder / "book/zh-Hans" / f"{LESSON}.md").unlink()
    problems, stale, unwritten = state(folder)
    cure = [', or «only = "en"» in chapter.toml', ', or «only = "en"» below [twice] in words.toml']
    left_out = [
        f"lessons/{LESSON}/chapter.toml: title.zh-Hans is missing",
        f"lessons/{LESSON}/words.toml: twice.title.zh-Hans is missing",
        f"lessons/{LESSON}/words.toml: twice.hints.zh-Hans is missing",
        f"lessons/{LESSON}/exercises.py: the docstring of `twice` has no part in zh-Hans",
        f"book/zh-Hans/{LESSON}.md is missing",
    ]
    cures = [f": write it{cure[several]}" for several in (0, 1, 1, 1, 0)]
    assert (problems, unwritten) == ([a + b for a, b in zip(left_out, cures, strict=True)], [])
    facts = lesson / "chapter.toml"
    facts.write_text(facts.read_text("utf-8") + 'only = "en"\n', "utf-8")
    problems, stale, unwritten = state(folder)
    assert (problems, unwritten) == ([], left_out)
    assert stale and state(fill(folder)) == ([], [], unwritten)
    assert f"`{LESSON}` · 5\u00a0+\u00a05\u00a0分钟\n\n  Small。\n" in (folder / "book/zh-Hans/index.md").read_text(
        "utf-8"
    )


def test_an_exercise_in_one_language_stands_on_the_other_page_with_a_note(tmp_path):
    folder = book(tmp_path)
    blanks = folder / "lessons" / LESSON / "exercises.py"
    blanks.write_text(blanks.read_text("utf-8").replace("Twice n.\n\n    ", ""), "utf-8")
    fill(folder)
    page = (folder / "book/en" / f"{LESSON}.md").read_text("utf-8")
    assert "\nThis is not in English yet; here it is in Chinese.\n\n`n` 的两倍。" in page
    assert "here it is in Chinese" not in (folder / "book/zh-Hans" / f"{LESSON}.md").read_text("utf-8")


@pytest.mark.long
def test_the_book_is_made_where_one_language_is_missing(tmp_path):
    folder = book(tmp_path, machine=True)
    (folder / "book/zh-Hans" / f"{LESSON}.md").unlink()
    facts = folder / "lessons" / LESSON / "chapter.toml"
    facts.write_text('only = "en"\n' + facts.read_text("utf-8"), "utf-8")
    done = small_book.tool(fill(folder), "build", "zh-Hant")
    assert done.returncode == 0, done.stdout + done.stderr
    html = (folder / "_build/html/zh-Hant" / f"{LESSON}.html").read_text("utf-8")
    assert "這裡還沒有中文，下面是英文。" in html and "Prose." in html and "Twice <code" in html


def test_words_of_one_chapter_are_said_in_that_chapter_alone():
    assert label("I do", "zh-Hans", "ch08_three_ways") == "我"
    assert label("I do", "zh-Hans", "ch03_sharding") == "I do"
    assert label("device 3", "zh-Hans", "ch08_three_ways") == "设备 3"
    assert label("model", "zh-Hans", "ch07_collectives") == "模型"  # a column of published.toml
    assert label("model", "zh-Hans", "ch09_training") == "model"  # the axis of a mesh


def test_the_chapters_that_measure_say_so():
    assert [name for name in sync.chapters() if measures(name, ROOT)] == [
        "ch12_pitfalls",
        "ch13_network",
        "ch18_profile",
    ]


def test_what_a_chapter_says_to_instructors_comes_into_their_guide(tmp_path):
    folder = book(tmp_path)
    facts = folder / "lessons" / LESSON / "chapter.toml"
    goal = '[teaching]\ngoal.en = "Double."\ngoal.zh-Hans = "加倍。"\nask.en = ["Why?", "How?"]\n'
    facts.write_text(
        facts.read_text("utf-8") + goal + 'ask.zh-Hans = ["为什么？"]\nwrong = ["twice.squared"]\n', "utf-8"
    )
    guides = {edition: folder / "book" / edition / "teaching.md" for edition in ("en", "zh-Hans")}
    said = {}
    for edition, guide in guides.items():
        guide.write_text("% lessons\n% end lessons\n", "utf-8")
        said[edition] = lists(folder).fill(guide, guide.read_text("utf-8"))
    assert f"- {{doc}}`{LESSON}` (5 minutes to read, 5 to solve)\n  - Double.\n  - Ask: Why? How?\n" in said["en"]
    assert "  - Expect: squared (*Twice*)\n" in said["en"]
    assert "  - 可以问：为什么？\n" in said["zh-Hans"]
    facts.write_text(facts.read_text("utf-8").replace("twice.squared", "twice.cubed"), "utf-8")
    sentence = f"lessons/{LESSON}/chapter.toml: wrong: words.toml has no mistake «twice.cubed»"
    assert lists(folder).problems == [sentence]


def test_a_language_that_is_said_to_be_left_out_and_is_not_is_a_sentence(tmp_path):
    folder = book(tmp_path)
    words = folder / "lessons" / LESSON / "words.toml"
    words.write_text(words.read_text("utf-8").replace("[twice]\n", '[twice]\nonly = "zh-Hans"\n', 1), "utf-8")
    said = "words.toml: [twice] says «only», and it is in both languages: delete that line"
    assert state(folder)[0] == [f"lessons/{LESSON}/{said}"]


def test_a_draft_is_in_no_list_and_nothing_is_wrong_with_it(tmp_path):
    folder = book(tmp_path)
    facts = folder / "lessons" / LESSON / "chapter.toml"
    facts.write_text(facts.read_text("utf-8") + "draft = true\n", "utf-8")
    (folder / "book/zh-Hans" / f"{LESSON}.md").unlink()
    sync.fill(sync.check(folder))
    told = [f"{place} is gone from the pages" for place in (LESSON, f"{LESSON}#ex-twice", f"{LESSON}#sec-small")]
    assert [problem.partition(":")[0] for problem in state(folder)[0]] == told  # it was in the book already
    (folder / addresses.LIST).unlink()
    sync.fill(sync.check(folder))
    assert state(folder) == ([], [], [])
    assert sync.chapters(folder) == ["index", "first"]
    lists = [*folder.glob("book/*/index.md"), *folder.glob("README*"), folder / addresses.LIST, folder / "_toc.yml"]
    assert len(lists) == 6 and not any(LESSON in path.read_text("utf-8") for path in lists)
    assert all_exercises(folder / "lessons") == []


def test_a_chapter_that_is_not_filled_in_is_one_sentence(tmp_path):
    folder = book(tmp_path)
    page = folder / "book/en" / f"{LESSON}.md"
    page.write_text(page.read_text("utf-8").replace("Prose.", f"{MARK}\n\n{MARK}: more"), "utf-8")
    (said,) = state(folder)[0]
    assert said.startswith(f"lessons/{LESSON}: 2 places still say «{MARK}», first book/en/{LESSON}.md:13: is still ")
    assert said.endswith("; a chapter to be has «draft = true» in chapter.toml")
