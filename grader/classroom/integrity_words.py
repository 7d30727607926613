"""What the report says of lines worth reading, and of answers that are nearly the same."""

import html

from grader.classroom.grading import ClassGrading
from grader.classroom.submissions import shown
from grader.messages import say


def integrity_words(grading: ClassGrading) -> str:
    """The part of the page, or "" where there is nothing to read."""
    lang = grading.lang
    parts = [_lines(grading, n, student.name) for n, student in enumerate(grading.students)]
    pairs = [
        f"<li>{_e(pair.one)} · {_e(pair.other)}: {len(pair.exercises)}/{pair.both}"
        f' <span class="muted">{_e(", ".join(pair.exercises))}</span></li>'
        for pair in grading.alike
    ]
    alike = f'<h3>{_e(say("class-alike", lang))}</h3><ul class="plain">{"".join(pairs)}</ul>' if pairs else ""
    inner = "".join(parts) + alike
    return f"<p>{_e(say('class-integrity-why', lang))}</p>{inner}" if inner else ""


def _lines(grading: ClassGrading, n: int, student: str) -> str:
    found = [(lesson, line) for lesson, lines in grading.telling.get(student, {}).items() for line in lines]
    paired = any(student in (pair.one, pair.other) for pair in grading.alike)
    if not found and not paired:
        return ""
    items = "".join(
        f"<li><code>{_e(lesson)}.py:{line.number}</code> <code>{_e(line.text)}</code>"
        f' <span class="muted">{_e(line.why)}</span></li>'
        for lesson, line in found
    )
    return f'<h3 id="read-{n}">{_e(student)}</h3><ul class="plain">{items}</ul>'


def _e(text: object) -> str:
    return html.escape(shown(str(text)))
