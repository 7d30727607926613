"""What others call a chapter's things: a table on its page, all of them and an index on a page of their own."""

import pytest
import small_book
import small_chapter

from grader.exercise import chapters
from publish import sync
from publish.lists import lists

LESSON = small_chapter.LESSON
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
PAGES = {"en": "% elsewhere\n% end elsewhere\n", "zh-Hans": "前\n\n% elsewhere\n% end elsewhere\n\n后\n"}


def book(folder, row=ROW):
    """The small chapter with a row, its pages, and the page of all chapters."""
    small_book.make(folder)
    small_chapter.write(folder)
    facts = folder / "lessons" / LESSON / chapters.FILE
    facts.write_text(small_chapter.FACTS + row, "utf-8")
    for edition, text in PAGES.items():
        for name in (LESSON, "elsewhere"):
            (folder / "book" / edition / f"{name}.md").write_text(text, "utf-8")
    return folder


def filled(folder, edition, name):
    path = folder / "book" / edition / f"{name}.md"
    return lists(folder).fill(path, path.read_text("utf-8"))


def test_a_row_is_in_the_table_of_its_chapter_with_its_source(tmp_path):
    folder = book(tmp_path)
    number = int(LESSON[2:4])
    assert lists(folder).problems == []
    english = filled(folder, "en", LESSON)
    assert f"(sec-ch{number:02}-elsewhere)=\n## Called elsewhere\n" in english
    assert "| Here | PyTorch, NCCL |\n|---|---|\n| split | `DDP` [(docs)](https://pytorch.example/ddp) |\n" in english
    chinese = filled(folder, "zh-Hans", LESSON)
    assert chinese.startswith("前\n\n% elsewhere\n") and chinese.endswith("\n% end elsewhere\n\n后\n")
    assert "\n| 切开 | `DDP` [（文档）](https://pytorch.example/ddp) |\n" in chinese
    # all rows and an index of their words are on one page
    text = filled(folder, "zh-Hans", "elsewhere")
    assert f"\n## {{doc}}`{LESSON}`\n" in text and "| 切开 |" in text
    index = text[text.index("## 索引") :]
    assert f"\n- DDP：{{ref}}`第 {number} 章 <sec-ch{number:02}-elsewhere>`\n- 批次：{{ref}}`第" in index


def test_a_world_without_a_word_of_its_own_has_a_dash_or_no_column_and_a_paper_is_called_so(tmp_path):
    other = ROW.replace("torch.", "megatron.").replace("DDP", "ZeRO")
    text = filled(book(tmp_path / "worlds", ROW + other), "en", LESSON)
    assert "| Here | PyTorch, NCCL | Megatron, DeepSpeed |\n|---|---|---|\n" in text
    assert "/ddp) | — |\n| split | — | `ZeRO` [" in text
    other = ROW.replace("\ntorch.", "\npaper.").replace("https://pytorch.example/ddp", "https://arxiv.org/abs/1")
    text = filled(book(tmp_path / "papers", other), "en", LESSON)
    assert "| Here | Papers |\n|---|---|\n| split | `DDP` [(paper)](https://arxiv.org/abs/1) |" in text


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
def test_what_a_row_lacks_is_named(tmp_path, old, new, sentence):
    assert old in ROW
    (told, *_) = lists(book(tmp_path, ROW.replace(old, new, 1))).problems
    assert told.startswith(f"lessons/{LESSON}/chapter.toml: [[elsewhere]] 1: {sentence}")


def test_a_page_without_a_place_for_the_table_is_named_and_another_word_makes_it_stale(tmp_path):
    folder = book(tmp_path)
    with (folder / "_toc.yml").open("a") as toc:
        toc.write("  - chapters:\n      # chapters of part 1\n      # end chapters\n")
    told = [sentence for path, (_, sentence) in sync.check(folder).stale.items() if path.stem == LESSON]
    sentence = "the table of names in other systems is not what lessons/*/chapter.toml say"
    assert told and f"{LESSON}.md: {sentence}" in told[0]
    (folder / "book/en" / f"{LESSON}.md").write_text("(sec-small)=\n# Small\n", "utf-8")
    needs = "^the table of names in other systems needs a line `% elsewhere` and a line `% end else"
    with pytest.raises(ValueError, match=needs):
        filled(folder, "en", LESSON)


def test_a_caption_of_a_cell_that_is_not_there_is_named(tmp_path):
    folder = book(tmp_path, '\n[[figures]]\ncell = "gone"\nen = "A"\nzh-Hans = "甲"\n')
    (folder / "lessons" / LESSON / "demo.py").write_text("# %% start\nprint(1)\n")
    said = "[[figures]] has a caption for `gone`, but demo.py in this folder has no such cell"
    assert lists(folder).problems == [f"lessons/{LESSON}/chapter.toml: {said}"]
