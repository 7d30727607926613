"""List the known mistakes: boxes on pages and, for each exercise, the first words of the checker's explanations."""

import re
from collections.abc import Iterator

from grader.exercise import chapters
from grader.exercise.lesson_words import lesson_words
from publish.page import ROOT
from publish.pages import exercise_blocks
from publish.reference import places
from publish.reference.places import Edition

# The whole explanations would make this the heaviest page of the site; learners get the rest from the checker.
# A Chinese character says as much as two letters do.
FIRST = re.compile(r"(?:.{25,}?[.!?](?= [A-Z`“])|.{12,}?[。！？]|.*$)")


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: by chapter, the boxes; then by exercise, folded, each known mistake with its first words."""
    for source in edition.sources:
        chapter = chapters.NAME.fullmatch(source.name)
        boxes = [box for box in places.boxes(source.page) if box.kind == "mistake"]
        if not chapter or not (boxes or source.page.exercises):
            continue
        yield f"(sec-mistakes-ch{chapter[1]})="
        yield f"## {int(chapter[1])} · {edition.page(source.name)}"
        yield ""
        for box in boxes:
            yield f"- {edition.link(box.label, edition.text_of(box.title))}"
        yield ""
        words = lesson_words(ROOT / "lessons" / source.name)
        for exercise in source.page.exercises:
            lesson = words.get(exercise.name)
            if not lesson or not lesson.mistakes:
                continue
            title = edition.titles[exercise_blocks.label(exercise.name)].replace("`", "")
            yield f":::{{dropdown}} {edition.words('mistakes_known').format(title, len(lesson.mistakes))}"
            yield edition.words("mistakes_exercise").format(edition.link(exercise_blocks.label(exercise.name)))
            yield ""
            for mistake in lesson.mistakes.values():
                name, text = (_in(edition, words) for words in (mistake.name, mistake.text))
                yield f"- **{name}**{edition.words('elsewhere_colon')}{first(text)}"
            yield ":::"
            yield ""


def first(text: str) -> str:
    """Return the first sentence and, if it is short, the next one."""
    match = FIRST.match(text := " ".join(text.split()))
    return match[0] if match else text


def _in(edition: Edition, texts) -> str:
    """Return the text in the edition's language, or else in the other one."""
    language = "en" if edition.name == "en" else "zh-Hans"
    text = texts[language if language in texts else next(iter(texts))]
    return edition.text_of(text)
