"""A chapter of one exercise, whole, for the tests of what is said when something in it does not hold."""

from pathlib import Path

from publish.author.chapter_files import ChapterFiles

LESSON = "ch95_small"
FACTS = """number = 95
part = 1
solve = 5
title.en = "Small"
title.zh-Hans = "小"
"""
TEACHING = """
[teaching]
goal.en = "Double."
goal.zh-Hans = "加倍。"
ask.en = ["Why?"]
ask.zh-Hans = ["为什么？"]
wrong = ["twice.squared"]
"""
BLANKS = '''def twice(n: int) -> int:
    """Twice n.

    n 的两倍。
    """
    raise NotImplementedError
'''
CHECKS = """
def test_twice(check):
    check(lambda rng: [(int(n),) for n in rng.integers(10, 99, 3)], oracle=lambda n: 2 * n)
"""
MISTAKES = {"squared": "n * n", "halved": "n / 2", "as_text": "str(n) * 2"}
OTHERS = {
    "right": "n + n",
    "right_by_shifting": "n << 1",
    "squared": "n**2",
    "untouched": "n",
    "float_of_it": "2.0 * n",
    "name_misspelt": "2 * m",
}


def named(name: str, bodies: dict[str, str]) -> str:
    """Functions `name__why(n)`, each of which returns an expression."""
    return "\n\n".join(f"def {name}__{why}(n):\n    return {body}" for why, body in bodies.items()) + "\n"


def words(mistakes: dict[str, str]) -> str:
    """A words.toml of which nothing is missing."""
    text = """[twice]
title = {en = "Twice", zh-Hans = "两倍"}
hints.en = ["What is twice?", "Add.", "n + n"]
hints.zh-Hans = ["两倍是什么？", "相加。", "n + n"]
"""
    for why in mistakes:
        text += f'[twice.mistakes.{why}]\nname = {{en = "{why}", zh-Hans = "错"}}\n'
        text += 'text = {en = "So.", zh-Hans = "这样。"}\n'
    return text


def write(root: Path) -> ChapterFiles:
    """The whole chapter in the project `root`."""
    chapter = ChapterFiles(root, LESSON)
    texts = {
        chapter.facts: FACTS + TEACHING,
        chapter.folder / "demo.py": "# %% start\n",
        chapter.blanks: BLANKS,
        chapter.checks: CHECKS,
        chapter.mistakes: named("twice", MISTAKES),
        chapter.words: words(MISTAKES),
        chapter.solution: "def twice(n):\n    return 2 * n\n",
        chapter.other_answers: named("twice", OTHERS),
        **dict.fromkeys(chapter.pages, "% exercise: twice\n% end exercise\n"),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return chapter
