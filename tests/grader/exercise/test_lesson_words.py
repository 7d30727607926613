"""What words.toml says of an exercise, in the nearest language; what is half written is left out."""

import pytest

from grader.exercise.lesson_words import ExerciseWords, MistakeWords, exercise_words
from grader.messages import pick

WORDS = """
[twice]
title.en = "Twice"
title.zh-Hans = "两倍"
hints.en = ["Think.", "Multiply."]
formerly = ["double"]
mistakes.squared.name.en = "squared"
mistakes.squared.text.en = "Not the square."

[half]
title = "Half"
hints.en = "Divide."
mistakes.whole.name.zh-Hans = "没有分"
mistakes.other = 3
"""


def test_the_words_of_an_exercise_with_what_is_derived(tmp_path):
    folder = tmp_path / "ch95_small"
    folder.mkdir()
    (folder / "words.toml").write_text(WORDS, encoding="utf-8")
    derived = '[twice]\ntitle.zh-Hant = "兩倍"\nstatement.zh-Hant = "回傳兩倍。"\n'
    (folder / "words.zh-Hant.toml").write_text(derived, encoding="utf-8")
    assert exercise_words(tmp_path, "ch95_small.twice") == ExerciseWords(
        title={"en": "Twice", "zh-Hans": "两倍", "zh-Hant": "兩倍"},
        hints={"en": ["Think.", "Multiply."]},
        mistakes={"twice__squared": MistakeWords({"en": "squared"}, {"en": "Not the square."})},
        formerly=("double",),
        statement={"zh-Hant": "回傳兩倍。"},
    )
    mistakes = {"half__whole": MistakeWords({"zh-Hans": "没有分"}, {}), "half__other": MistakeWords({}, {})}
    assert exercise_words(tmp_path, "ch95_small.half") == ExerciseWords(mistakes=mistakes)  # half written: left out
    assert exercise_words(tmp_path, "ch95_small.thrice") == exercise_words(tmp_path, "ch96_none.x") == ExerciseWords()
    assert pick({}, "en", "twice") == "twice"
    with pytest.raises(KeyError):
        pick({}, "en")
