"""The blanks that a learner is given: in one language, which may change, and nothing of the learner's is lost."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.exercise import answers, blanks, untouched
from grader.exercise.statements import HAN, blanks_in

ROOT = Path(__file__).parents[3]
EXERCISES = '''"""The exercises of ch95_small.

Work on your copy, answers/ch95_small.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch95_small.py 里作答，本文件保持原样。
"""

import jax  # noqa: F401 (for your answers)


def twice(x):
    """Double x,
    all of it.

    Returns 2 x.

    把 x 加倍，
    全部加倍。返回 2 x。
    """
    # TODO: add,
    # or multiply.
    # TODO：相加，
    # 也可以相乘。
    y = x  # a copy
    # It is x still.
    # 仍然是 x。
    return y


def thrice(x):
    """Three times x."""
    # TODO: add twice.
    raise NotImplementedError
'''
THRICE = EXERCISES[EXERCISES.index("\n\ndef thrice") :]
CHINESE = (
    '''"""本章的练习。

请在本文件里作答。检查不会覆盖你写下的内容。
"""

import jax  # noqa: F401


def twice(x):
    """把 x 加倍，
    全部加倍。返回 2 x。
    """
    # TODO：相加，也可以相乘。
    y = x  # a copy
    # 仍然是 x。
    return y
'''
    + THRICE
)
# Without the lines in Chinese and the empty ones above them.
ENGLISH = re.sub(r"\n?\n.*[\u4e00-\u9fff].*", "", EXERCISES).replace(
    "Work on your copy, answers/ch95_small.py; this file stays as it is.",
    "Write your answers here. The checks never overwrite what you write.",
)
TRADITIONAL = """["this file"]
statement.zh-Hant = "本章的練習。\\n\\n請在你自己的副本 answers/ch95_small.py 裡作答。"
[twice]
statement.zh-Hant = "把 x 加倍。"
comments.zh-Hant = ["TODO：相加。", "還是 x。"]
"""


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "lessons" / "ch95_small"
    folder.mkdir(parents=True)
    (folder / "exercises.py").write_text(EXERCISES, "utf-8")
    (folder / "words.zh-Hant.toml").write_text(TRADITIONAL, "utf-8")
    return tmp_path / "lessons"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The learner's file, not yet there."""
    return tmp_path / "answers" / "ch95_small.py"


@pytest.mark.parametrize(("lang", "text"), [("en", ENGLISH), ("zh-Hans", CHINESE)])
def test_a_blank_is_in_one_language_with_a_header_that_is_true(lessons, path, lang, text):
    blanks.prepare(lessons, path.parent, lang)
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["en", "zh-Hant", "both"])
def test_another_language_changes_what_nobody_has_touched(lessons, path, before, end):
    path.parent.mkdir()
    given = EXERCISES if before == "both" else blanks_in(lessons / "ch95_small" / "exercises.py", before)
    path.write_bytes(given.replace("\n", end).encode())
    untouched.translate(lessons, path.parent, "zh-Hans")
    assert path.read_bytes().decode() == CHINESE.replace("\n", end)
    untouched.translate(lessons, path.parent, "en")
    assert path.read_bytes().decode() == ENGLISH.replace("\n", end)


def test_what_the_learner_wrote_stays_when_the_language_changes(lessons, path):
    blanks.prepare(lessons, path.parent, "en")
    mine = ENGLISH.replace("    y = x  # a copy\n", "    y = x + x\n").replace("Write your answers", "My answers are")
    path.write_text(mine + "\n\n# a note\nHELP = 1\n")
    untouched.translate(lessons, path.parent, "zh-Hans")
    assert path.read_text("utf-8") == mine.replace(" (for your answers)", "") + "\n\n# a note\nHELP = 1\n"
    for text in ("def twice(x:\n", "\x00", "def twice(x):\n    return x\n", ""):
        path.write_text(text)
        untouched.translate(lessons, path.parent, "zh-Hans")
        assert path.read_text() == text


def test_a_blank_of_before_in_both_languages_is_still_a_blank(lessons, path):
    path.parent.mkdir()
    path.write_text(EXERCISES, "utf-8")
    exercises = lessons / "ch95_small" / "exercises.py"
    assert all(answers.is_blank(answers.read(path), exercises, name) for name in ("twice", "thrice"))
    kept = blanks.reset(path, exercises, "twice", "zh-Hans")
    assert kept and "Double x" in kept.read_text("utf-8")
    assert CHINESE[CHINESE.index("def twice") :] in path.read_text("utf-8")


def test_many_files_are_counted_and_not_listed(lessons, tmp_path):
    for n in range(1, 6):
        shutil.copytree(lessons / "ch95_small", lessons / f"ch0{n}_more")
    (note,) = blanks.prepare(lessons, tmp_path / "answers", "en")
    assert note == "The exercises of 6 chapters were copied to answers/: write your answers there."
    for path in (tmp_path / "answers").iterdir():
        path.write_text("def thrice(x):\n    return 3 * x\n")
    (note,) = blanks.complete(lessons, tmp_path / "answers", "zh-Hans")
    assert note == "answers/ 的 6 个文件里缺少 6 道练习：已在文件末尾补上空白练习。"
    for path in (tmp_path / "answers").iterdir():
        path.write_text("def thrice(x):\n    return 3 * x\n")
        path.chmod(0o444)
    notes = blanks.complete(lessons, tmp_path / "answers", "en")
    assert len(notes) == 4 and notes[-1] == "Other files with the same problem: 3."


def test_a_further_language_is_words_and_no_code(lessons, tmp_path):
    """In a copy of the grader: a table in languages.toml, a file of messages, a chapter's file of words."""
    shutil.copytree(ROOT / "grader", tmp_path / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "grader" / "languages.toml").open("a") as file:
        file.write('\n[fr]\nlocales = ["fr"]\nnearest = ["en"]\n')
    (tmp_path / "grader" / "messages.fr.toml").write_text(
        '[answers-yours]\nfr = "Écrivez vos réponses ici."\n[solved-all]\nfr = "{solved} sur {total}"\n', "utf-8"
    )
    (lessons / "ch95_small" / "words.fr.toml").write_text(
        '[twice]\ntitle.fr = "Le double"\nstatement.fr = "Doublez x."\ncomments.fr = ["TODO : additionnez."]\n', "utf-8"
    )
    program = """
from pathlib import Path
from grader.exercise import blanks, lesson_words, statements
from grader.messages import locale_language, pick, say
lang = locale_language()
blanks.prepare(Path("lessons"), Path("answers"), lang)
title = lesson_words.exercise_words(Path("lessons"), "ch95_small.twice").title
print(lang, pick(title, lang), say("solved-all", lang, solved=1, total=2), say("right", lang), sep=" · ")
"""
    env, texts = {"LC_ALL": "fr_CA.UTF-8", "PYTHONUTF8": "1"}, {"capture_output": True, "encoding": "utf-8"}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, **texts)
    assert run.stdout == "fr · Le double · 1 sur 2 · right\n", run.stderr
    text = (tmp_path / "answers" / "ch95_small.py").read_text("utf-8")
    assert '    """Doublez x."""\n    # TODO : additionnez.\n    y = x' in text and "    # It is x still.\n" in text
    assert "Écrivez vos réponses ici." in text and not HAN.search(text)
