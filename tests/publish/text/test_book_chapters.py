"""What a chapter says comes into the book's order, its pages, lists and tables; one language is enough to make it."""

import json

import pytest
import small_book
import small_chapter
from small_book import replace

from grader.exercise.progress import all_exercises
from publish import addresses, reading_time, sync
from publish.author.templates import MARK
from publish.lists import lists
from publish.outputs.execute import measures
from publish.page import ROOT
from publish.pages.labels import label

LESSON = small_chapter.LESSON
HEAD = "(sec-small)=\n# Small\n\nProse.\n\n```{code-cell}\n:cell: start\n```\n"
PLACE = "\n% exercise: twice\n% end exercise\n"
FACTS, WORDS, BLANKS = (f"lessons/{LESSON}/{name}" for name in ("chapter.toml", "words.toml", "exercises.py"))
EN, ZH = (f"book/{edition}/{LESSON}.md" for edition in ("en", "zh-Hans"))


def book(folder, machine=False):
    """The small book and the small chapter, everything filled; with `machine` it can be built there."""
    small_book.make(folder, machine, small_book.LIGHT)
    chapter = small_chapter.write(folder)
    chapter.facts.write_text(small_chapter.FACTS, "utf-8")  # the other tables have tests of their own
    for page in chapter.pages:
        page.write_text(small_book.FRONT + HEAD + PLACE, "utf-8")
    (folder / "lessons" / LESSON / "demo.py").write_text("# %% start\nprint(1)\n")
    with (folder / "_toc.yml").open("a") as toc:
        toc.write("  - chapters:\n      # chapters of part 1\n      # end chapters\n")
    small_book.edit(folder, "index", ("", "\n% chapters\n% end chapters\n"))
    return fill(folder)


@pytest.fixture
def folder(tmp_path):
    return book(tmp_path)


def fill(folder):
    sync.fill(sync.check(folder))
    return folder


def state(folder):
    result = sync.check(folder)
    return result.problems, [sentence for _, sentence in result.stale.values()], result.unwritten


def read(folder, name: str) -> str:
    return (folder / name).read_text("utf-8")


def write(folder, name: str, text: str) -> None:
    (folder / name).write_text(text, "utf-8")


def filled(folder, name: str) -> str:
    """A page with its lists and tables."""
    return lists(folder).fill(folder / name, read(folder, name))


def test_a_chapter_comes_into_every_list_and_sync_fills_them_when_it_changes(folder):
    assert state(folder) == ([], [], []) and sync.chapters(folder) == ["index", "first", LESSON]
    line = f"\n- {{doc}}`{LESSON}` · 5\u00a0+\u00a05\u00a0分钟\n\n  小。\n"
    assert line in read(folder, "book/zh-Hans/index.md")
    replace(folder / FACTS, "Small", "Tiny")
    said = "the list of chapters is not what lessons/*/chapter.toml say"
    assert state(folder) == ([], [f"book/en/index.md: {said}"], [])
    assert state(fill(folder)) == ([], [], []) and "\n\n  Tiny.\n" in read(folder, "book/en/index.md")


def test_a_list_without_its_place_and_a_part_that_the_book_does_not_have_are_a_sentence(folder):
    replace(folder / "book/en/index.md", "% chapters", "% no chapters")
    needs = "the list of chapters needs a line `% chapters` and a line `% end chapters` below it"
    assert state(folder)[0] == [f"book/en/index.md: {needs}"]
    replace(folder / FACTS, "part = 1", "part = 3")
    needs = "_toc.yml: the list of chapters needs a line `# chapters of part 3` and a line `# end chapters` below it"
    assert needs in state(folder)[0]


def test_a_page_without_a_chapter_and_a_chapter_without_a_page_are_a_sentence(folder):
    page = folder / "book/en" / "ch96_stray.md"
    page.write_text(read(folder, EN), "utf-8")
    stray = "book/en/ch96_stray.md: there is no lessons/ch96_stray/chapter.toml, which puts this page into the book"
    assert state(folder)[0] == [stray]
    page.unlink()
    (folder / EN).unlink(), (folder / ZH).unlink()
    assert state(folder)[0] == [f"{path} is missing: lessons/{LESSON} needs it" for path in (EN, ZH)]
    (folder / "lessons/ch96_half").mkdir()
    (problem, *_) = (said for said in state(folder)[0] if "ch96" in said)
    assert problem.startswith("lessons/ch96_half/chapter.toml: there is no such file: write one like ")


def test_one_language_is_enough_and_the_other_is_named(folder):
    for name in (FACTS, WORDS):
        lines = read(folder, name).replace(', zh-Hans = "两倍"', "").splitlines(keepends=True)
        write(folder, name, "".join(line for line in lines if not line.startswith(("title.zh", "hints.zh"))))
    replace(folder / BLANKS, "\n    n 的两倍。\n", "")
    (folder / ZH).unlink()
    problems, stale, unwritten = state(folder)
    cure = [', or `only = "en"` in chapter.toml', ', or `only = "en"` below [twice] in words.toml']
    left_out = [
        f"{FACTS}: title.zh-Hans is missing",
        f"{WORDS}: twice.title.zh-Hans is missing",
        f"{WORDS}: twice.hints.zh-Hans is missing",
        f"{BLANKS}: the docstring of `twice` has no part in zh-Hans",
        f"{ZH} is missing",
    ]
    cures = [f": write it{cure[several]}" for several in (0, 1, 1, 1, 0)]
    assert (problems, unwritten) == ([a + b for a, b in zip(left_out, cures, strict=True)], [])
    write(folder, FACTS, read(folder, FACTS) + 'only = "en"\n')
    problems, stale, unwritten = state(folder)
    assert (problems, unwritten) == ([], left_out)
    assert stale and state(fill(folder)) == ([], [], unwritten)
    line = f"`{LESSON}` · 5\u00a0+\u00a05\u00a0分钟\n\n  Small。\n"
    assert line in read(folder, "book/zh-Hans/index.md")


def test_an_exercise_is_put_on_the_page_and_filled_from_the_lesson_in_each_language(folder):
    write(folder, EN, small_book.FRONT + HEAD)
    assert f"{EN}: has no place for the exercise `twice`" in state(folder)[1][0]
    assert state(fill(folder)) == ([], [], [])
    en, zh = read(folder, EN), read(folder, ZH)
    assert "Exercise 1 · Twice" in en and "Twice `n`." in en and "的两倍" not in en and "return 2 * n" in en
    assert "练习 1 · 两倍" in zh and "`n` 的两倍。" in zh and "Twice" not in zh and "相加。" in zh
    derived = read(folder, f"lessons/{LESSON}/words.zh-Hant.toml")
    assert 'hints.zh-Hant = ["兩倍是什麼？", "相加。", "n + n"]' in derived


def test_an_exercise_in_one_language_stands_on_the_other_page_with_a_note(folder):
    replace(folder / BLANKS, "Twice n.\n\n    ", "")
    fill(folder)
    assert "\nThis is not in English yet; here it is in Chinese.\n\n`n` 的两倍。" in read(folder, EN)
    assert "here it is in Chinese" not in read(folder, ZH)


@pytest.mark.long
def test_the_book_is_made_where_one_language_is_missing(tmp_path):
    folder = book(tmp_path, machine=True)
    (folder / ZH).unlink()
    write(folder, FACTS, 'only = "en"\n' + read(folder, FACTS))
    done = small_book.tool(fill(folder), "build", "zh-Hant")
    assert done.returncode == 0, done.stdout + done.stderr
    html = read(folder, f"_build/html/zh-Hant/{LESSON}.html")
    assert "這裡還沒有中文，下面是英文。" in html and "Prose." in html and "Twice <code" in html


def test_words_of_one_chapter_are_said_in_that_chapter_alone_and_those_that_measure_say_so():
    assert label("I do", "zh-Hans", "ch08_three_ways") == "我"
    assert label("I do", "zh-Hans", "ch03_sharding") == "I do"
    assert label("device 3", "zh-Hans", "ch08_three_ways") == "设备 3"
    assert label("model", "zh-Hans", "ch07_collectives") == "模型"  # a column of published.toml
    assert label("model", "zh-Hans", "ch09_training") == "model"  # the axis of a mesh
    measuring = [name for name in sync.chapters() if measures(name, ROOT)]
    assert measuring == ["ch12_pitfalls", "ch13_network", "ch18_profile"]


def test_what_a_chapter_says_to_instructors_comes_into_their_guide(folder):
    goal = '[teaching]\ngoal.en = "Double."\ngoal.zh-Hans = "加倍。"\nask.en = ["Why?", "How?"]\n'
    write(folder, FACTS, read(folder, FACTS) + goal + 'ask.zh-Hans = ["为什么？"]\nwrong = ["twice.squared"]\n')
    guides = ["book/en/teaching.md", "book/zh-Hans/teaching.md"]
    for guide in guides:
        write(folder, guide, "% lessons\n% end lessons\n")
    en, zh = (filled(folder, guide) for guide in guides)
    assert f"- {{doc}}`{LESSON}` (5 minutes to read, 5 to solve)\n  - Double.\n  - Ask: Why? How?\n" in en
    assert "  - Expect: squared (*Twice*)\n" in en and "  - 可以问：为什么？\n" in zh
    replace(folder / FACTS, "twice.squared", "twice.cubed")
    assert lists(folder).problems == [f"{FACTS}: wrong: words.toml has no mistake `twice.cubed`"]


def test_the_time_to_read_is_counted_to_the_first_exercise(folder):
    """4,760 words take 20 minutes, 100 lines of code and 100 that they print 10."""
    page = folder / EN
    assert reading_time.minutes(LESSON, folder) == 5
    page.write_text(f"{'word ' * 4760}\n```python\n" + "x = 1\n" * 98 + f"```\n{PLACE}{'word ' * 9999}")
    (folder / "book/outputs").mkdir(exist_ok=True)
    cells = [{"name": "start", "outputs": [{"text": ["1\n"] * 100}, {"data": {"text/plain": "2"}}]}]
    (folder / f"book/outputs/{LESSON}.json").write_text(json.dumps({"cells": cells}))
    assert reading_time.minutes(LESSON, folder) == 30
    page.unlink()  # only Chinese: 5,100 characters take 20 minutes
    (folder / ZH).write_text("字" * 5100, "utf-8")
    assert reading_time.minutes(LESSON, folder) == 25


def test_a_language_that_is_said_to_be_left_out_and_is_not_is_a_sentence(folder):
    replace(folder / WORDS, "[twice]\n", '[twice]\nonly = "zh-Hans"\n')
    assert state(folder)[0] == [f"{WORDS}: [twice] says `only`, but all texts are in both languages: delete that line"]


def test_a_draft_is_in_no_list_and_nothing_is_wrong_with_it(folder):
    write(folder, FACTS, read(folder, FACTS) + "draft = true\n")
    (folder / ZH).unlink()
    fill(folder)
    told = [f"{place} is gone from the pages" for place in (LESSON, f"{LESSON}#ex-twice", f"{LESSON}#sec-small")]
    assert [problem.partition(":")[0] for problem in state(folder)[0]] == told  # it was in the book already
    (folder / addresses.LIST).unlink()
    assert state(fill(folder)) == ([], [], []) and sync.chapters(folder) == ["index", "first"]
    lists = [*folder.glob("book/*/index.md"), folder / addresses.LIST, folder / "_toc.yml"]
    assert len(lists) == 4 and not any(LESSON in path.read_text("utf-8") for path in lists)
    assert all_exercises(folder / "lessons") == []


def test_a_chapter_that_is_not_filled_in_is_one_sentence(folder):
    replace(folder / EN, "Prose.", f"{MARK}\n\n{MARK}: more")
    (said,) = state(folder)[0]
    assert said.startswith(f"lessons/{LESSON}: 2 places still say “{MARK}”, first {EN}:13: still ")
    assert said.endswith("; a draft has `draft = true` in chapter.toml")


ROW = """
[[elsewhere]]
here.en = "split"
here.zh-Hans = "切开"
torch.en = "`DDP`"
torch.zh-Hans = "`DDP`"
torch.source = "https://pytorch.example/ddp"
words.en = ["DDP", "batch"]
words.zh-Hans = ["DDP", "批次"]
"""


def with_row(folder, row=ROW):
    """The row in chapter.toml, and a place for the table on the pages of the chapter and of all rows."""
    write(folder, FACTS, small_chapter.FACTS + row)
    for name in (LESSON, "elsewhere"):
        write(folder, f"book/en/{name}.md", "% elsewhere\n% end elsewhere\n")
        write(folder, f"book/zh-Hans/{name}.md", "前\n\n% elsewhere\n% end elsewhere\n\n后\n")


def test_a_row_is_in_the_table_of_its_chapter_with_its_source(folder):
    with_row(folder)
    assert lists(folder).problems == []
    english = filled(folder, EN)
    assert "(sec-ch95-elsewhere)=\n## Called elsewhere\n" in english
    assert "| Here | PyTorch, NCCL |\n|---|---|\n| split | `DDP` [(docs)](https://pytorch.example/ddp) |\n" in english
    chinese = filled(folder, ZH)
    assert chinese.startswith("前\n\n% elsewhere\n") and chinese.endswith("\n% end elsewhere\n\n后\n")
    assert "\n| 切开 | `DDP` [（文档）](https://pytorch.example/ddp) |\n" in chinese
    # all rows and an index of their words are on one page
    text = filled(folder, "book/zh-Hans/elsewhere.md")
    assert f"\n## {{doc}}`{LESSON}`\n" in text and "| 切开 |" in text
    index = text[text.index("## 索引") :]
    assert "\n- DDP：{ref}`第 95 章 <sec-ch95-elsewhere>`\n- 批次：{ref}`第" in index


def test_a_world_without_a_word_of_its_own_has_a_dash_or_no_column_and_a_paper_is_called_so(folder):
    with_row(folder, ROW + ROW.replace("torch.", "megatron.").replace("DDP", "ZeRO"))
    text = filled(folder, EN)
    assert "| Here | PyTorch, NCCL | Megatron, DeepSpeed |\n|---|---|---|\n" in text
    assert "/ddp) | — |\n| split | — | `ZeRO` [" in text
    with_row(
        folder, ROW.replace("\ntorch.", "\npaper.").replace("https://pytorch.example/ddp", "https://arxiv.org/abs/1")
    )
    row = "| split | `DDP` [(paper)](https://arxiv.org/abs/1) |"
    assert f"| Here | Papers |\n|---|---|\n{row}" in filled(folder, EN)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('here.zh-Hans = "切开"\n', "", "here.zh-Hans is missing: write it"),
        ('torch.en = "`DDP`"\n', "", "torch.en is missing: write it"),
        ('words.en = ["DDP", "batch"]\n', "", "words.en is missing: write it"),
        ("words.en", "word.en", "`word` is not a known key: choose from here, torch, megatron, paper and words"),
        ("torch.source", "torch.link", "torch: `link` is not a known key: choose from en, zh-Hans and source"),
        ("https://", "", "torch.source is missing: give the address of a page"),
    ],
)  # fmt: skip
def test_what_a_row_lacks_is_named(folder, old, new, sentence):
    assert old in ROW
    with_row(folder, ROW.replace(old, new, 1))
    (told, *_) = lists(folder).problems
    assert told.startswith(f"{FACTS}: [[elsewhere]] 1: {sentence}")


def test_a_page_without_a_place_for_the_table_is_named_and_another_word_makes_it_stale(folder):
    with_row(folder)
    assert (
        f"{LESSON}.md: the table of names in other systems is not what lessons/*/chapter.toml say"
        in state(folder)[1][0]
    )
    write(folder, EN, "(sec-small)=\n# Small\n")
    needs = "^the table of names in other systems needs a line `% elsewhere` and a line `% end else"
    with pytest.raises(ValueError, match=needs):
        filled(folder, EN)


def test_a_caption_of_a_cell_that_is_not_there_is_named(folder):
    with_row(folder, '\n[[figures]]\ncell = "gone"\nen = "A"\nzh-Hans = "甲"\n')
    said = "[[figures]] has a caption for `gone`, but demo.py in this folder has no such cell"
    assert lists(folder).problems == [f"{FACTS}: {said}"]
