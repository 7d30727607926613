"""What the instructor's guide says of each chapter, from its chapter.toml and words.toml: `make sync` puts it there."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from grader.exercise.lesson_words import lesson_words
from publish.chapter_toml import Chapter
from publish.pages import terms

PAGE = "teaching"
T = TypeVar("T")


def lessons(root: Path, found: list[Chapter], edition: str) -> Iterator[str]:
    """A list item for each chapter: its goal and minutes, what to ask, what is often wrong."""
    words = terms.ui()
    for chapter in found:
        times = words["teach_minutes"][edition].format(read=chapter.read, solve=chapter.solve)
        yield f"- {{doc}}`{chapter.lesson}` {times}"
        if (teaching := chapter.teaching) is None:
            continue
        yield f"  - {_in(teaching.goal, edition)}"
        yield f"  - {words['teach_ask'][edition]}{words['teach_between'][edition].join(_in(teaching.ask, edition))}"
        wrong = [_mistake(root / "lessons" / chapter.lesson, name, edition) for name in teaching.wrong]
        yield f"  - {words['teach_wrong'][edition]}{words['teach_and'][edition].join(wrong)}"


def unknown(root: Path, chapter: Chapter) -> list[str]:
    """The mistakes that a chapter expects and no words.toml names, a sentence each."""
    folder, problems = root / "lessons" / chapter.lesson, []
    for name in chapter.teaching.wrong if chapter.teaching else []:
        try:
            _mistake(folder, name, "en")
        except (KeyError, ValueError):
            problems.append(f"lessons/{chapter.lesson}/chapter.toml: wrong: words.toml has no mistake «{name}»")
    return problems


def _mistake(folder: Path, name: str, edition: str) -> str:
    """A mistake's name, and the exercise in which it is made. KeyError where there is none of that name."""
    exercise, _, mistake = name.partition(".")
    words = lesson_words(folder)[exercise]
    said = _in(words.mistakes[f"{exercise}__{mistake}"].name, edition)
    return terms.ui()["teach_mistake"][edition].format(exercise=_in(words.title, edition), mistake=said)


def _in(texts: Mapping[str, T], edition: str) -> T:
    """What is said in this language, else in another. KeyError where nothing is said."""
    return texts[edition if edition in texts else next(iter(texts), edition)]
