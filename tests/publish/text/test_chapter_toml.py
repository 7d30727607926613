"""chapter.toml: what is missing, wrong or unknown in it is one sentence that says what to write."""

import re

import pytest
from small_chapter import FACTS

from grader.exercise.chapters import FILE
from publish.chapter_toml import Chapter, Teaching, read_chapter, read_chapters

WHERE = "lessons/ch95_small/chapter.toml"
TEACHING = """[teaching]
goal.en = "Do it."
ask.en = ["Why?"]
wrong = ["twice.squared"]
"""
LABEL = '[[labels]]\nfind = "{}"\nzh-Hans = "词"\n'


def chapter_of(folder, text):
    lesson = folder / "ch95_small"
    lesson.mkdir(parents=True, exist_ok=True)
    if text is not None:
        (lesson / FILE).write_text(text, "utf-8")
    return read_chapter(lesson)


def test_a_chapter_is_what_its_file_says(tmp_path):
    found = chapter_of(tmp_path, FACTS + LABEL.format("one (\\\\d)"))
    title = {"en": "Small", "zh-Hans": "小"}
    assert found == Chapter("ch95_small", 95, 1, title, 5, False, (("one (\\d)", "词"),))
    found = chapter_of(tmp_path, FACTS.replace('title.en = "Small"\n', "") + TEACHING)  # one title stands for both
    assert (found.titled("en"), found.titled("zh-Hans")) == ("小", "小")
    assert found.teaching == Teaching({"en": "Do it."}, {"en": ["Why?"]}, ["twice.squared"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no such file: write one like lessons/ch01_devices/chapter.toml"),
        ("number = ", "cannot be read: Invalid value (at end of document)"),
        (FACTS.replace("95", "9"), "number is 9, the folder's name says 95: write `number = 95`"),
        (FACTS.replace("number = 95\n", ""), "number is missing: write `number = 95`"),
        (FACTS.replace("solve = 5", "solve = true"), "solve is not a whole number above 0: write `solve = 20`"),
        (re.sub("title.*\n", "", FACTS), "the title is missing: write `title.en = "),
        (FACTS.replace("title.en", "title.de"), "title.de is not a title: write it for en or zh-Hans"),
        ("minutes = 3\n" + FACTS, "`minutes` is not a known key: choose from number, part, title, solve,"),
        (FACTS + 'measures = "yes"\n', "measures is not true or false: write `measures = true`"),
        (FACTS + LABEL.format("("), "[[labels]] find = `(` is not a valid pattern: missing ), unterminated subpattern"),
        (FACTS + TEACHING.replace("wrong", "often"), "[teaching] is incomplete: it has goal (a text by language), ask"),
        (FACTS + TEACHING.replace('"Why?"', "1"), "[teaching] is incomplete"),
        (FACTS + '[[labels]]\nfind = "x"\n', "one of [[labels]] is incomplete: it needs find and zh-Hans"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(ValueError) as error:
        chapter_of(tmp_path, text)
    assert str(error.value).startswith(f"{WHERE}: {sentence}") and "\n" not in str(error.value)


def test_a_folder_of_another_name_is_no_chapter(tmp_path):
    (tmp_path / "ch9").mkdir()
    assert read_chapters(tmp_path) == ([], ["lessons/ch9: a chapter's folder has a name such as ch03_sharding"])
