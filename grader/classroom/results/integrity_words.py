"""Write the report's section on lines worth reading, and on answers that are nearly the same."""

import html

from grader.classroom.grading import ClassGrading
from grader.classroom.submissions import shown
from grader.messages import say


def integrity_words(grading: ClassGrading) -> str:
    """Return the section of the page, or "" if there is nothing to read."""
    lang = grading.lang
    inner = "".join(_of(grading, n, student.name) for n, student in enumerate(grading.students))
    return f"<p>{_e(say('class-integrity-why', lang))}</p>{inner}" if inner else ""


def _of(grading: ClassGrading, n: int, student: str) -> str:
    """Return a student's lines, and the other students with nearly the same answers."""
    items = [
        f"<li><code>{_e(lesson)}.py:{line.number}</code> <code>{_e(line.text)}</code>"
        f' <span class="muted">{_e(line.why)}</span></li>'
        for lesson, lines in grading.lines_to_read.get(student, {}).items()
        for line in lines
    ]
    items += [
        f"<li>{_e(say('class-alike', grading.lang))} · {_e(pair.other if student == pair.one else pair.one)}"
        f' · {len(pair.exercises)}/{pair.both} <span class="muted">{_e(", ".join(pair.exercises))}</span></li>'
        for pair in grading.alike
        if student in (pair.one, pair.other)
    ]
    return f'<h3 id="read-{n}">{_e(student)}</h3><ul class="plain">{"".join(items)}</ul>' if items else ""


def _e(text: object) -> str:
    return html.escape(shown(str(text)))
