"""Write the report as one self-contained HTML page: where the class is stuck, its mistakes, the table, each student."""

import html
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median

from grader.classroom.grading import OUTCOMES, ClassGrading, Outcome
from grader.classroom.results import tally
from grader.classroom.results.integrity_words import integrity_words
from grader.classroom.submissions import shown
from grader.files import write_private
from grader.messages import say

STYLE = Path(__file__).with_name("class_page.css")
MARKS = {"right": "✓", "wrong": "✗", "hung": "∞", "broken": "!", "todo": "○", "skipped": "»", "absent": "–"}


@dataclass
class ClassRun:
    """Facts about the run itself, for the report. isolation: message keys. changed: paths. others: names and keys."""

    grading: ClassGrading
    folder: str
    isolation: list[str]
    values: dict[str, object]
    changed: list[str]
    others: list[tuple[str, str]]
    when: str


def write_page(path: Path, run: ClassRun) -> None:
    """Write the report, in the language of the run."""
    grading, lang = run.grading, run.grading.lang
    heading = say("class-title", lang)
    sections = [
        *_section("class-stuck", lang, _stuck(grading)),
        *_section("class-mistakes", lang, _mistakes(grading)),
        *_section("class-who", lang, _legend(grading) + _grid(grading)),
        *_section("class-each", lang, _students(grading)),
        *_section("class-integrity", lang, integrity_words(grading)),
        *_section("class-about", lang, _about(run)),
    ]
    body = [
        f"<header><h1>{_e(heading)}</h1>",
        f'<p class="muted">{_e(run.folder)} · {_e(run.when)} · --seed {grading.settings.seed}</p></header>',
        "<main>",
        *_alarms(run),
        _figures(grading),
        *sections,
        "</main>",
    ]
    style = STYLE.read_text(encoding="utf-8")
    page = (
        f'<!doctype html>\n<html lang="{lang}">\n<meta charset="utf-8">\n<title>{_e(heading)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>\n<body>\n'
    )
    write_private(path, (page + "\n".join(body) + "\n</body>\n</html>\n").encode())


def _e(text: object) -> str:
    return html.escape(shown(str(text)))


def _items(keys: Iterable[str]) -> str:
    return "".join(f"<li>{item}</li>" for item in keys)


def _alarms(run: ClassRun) -> list[str]:
    lang, parts = run.grading.lang, []
    if run.changed:
        names = _items(f"<code>{_e(path)}</code>" for path in run.changed[:50])
        parts.append(f'<div class="alarm" role="alert"><p><strong>{_e(say("class-changed", lang))}</strong></p>')
        parts.append(f'<ul class="plain">{names}</ul></div>')
    if "class-isolation-none" in run.isolation:
        parts.append(f'<div class="open"><p>{_e(say("class-isolation-none", lang))}</p></div>')
    return parts


def _figures(grading: ClassGrading) -> str:
    lang, count = grading.lang, len(grading.exercises)
    solved = [tally.solved(grading, student) for student in grading.outcomes]
    middle = f"{median(solved):g}/{count}"
    figures = [
        (len(solved), "class-students"),
        (count, "class-exercises"),
        (middle, "class-median"),
        (sum(n == count for n in solved), "class-finished"),
    ]
    return f'<ul class="figures">{_items(f"<b>{n}</b><span>{_e(say(key, lang))}</span>" for n, key in figures)}</ul>'


def _legend(grading: ClassGrading) -> str:
    met = {o.outcome for outcomes in grading.outcomes.values() for o in outcomes.values()}
    entries = [f"{_mark(outcome)} {_e(_word(outcome, grading.lang))}" for outcome in OUTCOMES if outcome in met]
    return f'<ul class="legend">{_items(entries)}</ul>'


def _word(outcome: str, lang: str) -> str:
    return say("class-absent" if outcome == "absent" else outcome, lang)


def _mark(outcome: str) -> str:
    return f'<span class="mark {outcome}" aria-hidden="true">{MARKS[outcome]}</span>'


def _grid(grading: ClassGrading) -> str:
    lang = grading.lang
    chapters = [(name, len(list(group))) for name, group in groupby(grading.exercises, key=_chapter)]
    firsts = {next(e for e in grading.exercises if _chapter(e) == name) for name, _ in chapters}

    def edge(exercise: str) -> str:
        return " first" if exercise in firsts else ""

    tops = "".join(
        f'<th scope="colgroup" colspan="{n}" title="{name}"><span>{name}</span></th>' for name, n in chapters
    )
    names = "".join(
        f'<th scope="col" class="{edge(e)}" title="{_e(tally.title(grading, e))}"><span>{_e(_name(e))}</span></th>'
        for e in grading.exercises
    )
    rows = []
    for n, (student, outcomes) in enumerate(grading.outcomes.items()):
        label = f"<span>{_e(student)} <small>{tally.solved(grading, student)}/{len(outcomes)}</small></span>"
        cells = "".join(_cell(grading, n, student, e, outcome, edge(e)) for e, outcome in outcomes.items())
        rows.append(f'<tr><th scope="row" class="who">{label}</th>{cells}{_to_read(grading, n, student)}</tr>')
    sums = "".join(f'<td class="{edge(row.exercise)}">{row.solved}</td>' for row in tally.by_exercise(grading))
    return (
        f'<div class="frame" tabindex="0" role="region" aria-label="{_e(say("class-who", lang))}"><table class="grid">'
        f'<thead><tr class="chapters"><td class="who"></td>{tops}<td class="first"></td></tr>'
        f'<tr class="names"><th scope="col" class="who">{_e(say("class-student", lang))}</th>{names}'
        f'<th scope="col" class="first words"><span>{_e(say("class-to-read", lang))}</span></th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>"
        f'<tfoot><tr><th scope="row" class="who">{_e(say("class-solved-by", lang))}</th>{sums}'
        '<td class="first"></td></tr></tfoot></table></div>'
    )


def _cell(grading: ClassGrading, n: int, student: str, exercise: str, outcome: Outcome, edge: str) -> str:
    text = _word(outcome.outcome, grading.lang)
    if outcome.mistake:
        text += say("class-because", grading.lang, mistake=tally.mistake_name(grading, exercise, outcome.mistake))
    inside = f'{_mark(outcome.outcome)}<span class="sr">{_e(text)}</span>'
    if _tells(outcome):
        inside = f'<a href="#{_anchor(n, exercise)}">{inside}</a>'
    return f'<td class="{outcome.outcome}{edge}" title="{_e(f"{student} · {exercise} · {text}")}">{inside}</td>'


def _to_read(grading: ClassGrading, n: int, student: str) -> str:
    """Return the cell with the number of a student's lines and pairs that a teacher should read."""
    count = sum(map(len, grading.lines_to_read.get(student, {}).values()))
    count += sum(student in (pair.one, pair.other) for pair in grading.alike)
    return f'<td class="first">{f"""<a href="#read-{n}">{count}</a>""" if count else ""}</td>'


def _chapter(exercise: str) -> str:
    return exercise.partition(".")[0]


def _name(exercise: str) -> str:
    return exercise.partition(".")[2]


def _anchor(n: int, exercise: str) -> str:
    return f"s{n}-{exercise.replace('.', '-')}"


def _tells(outcome: Outcome) -> bool:
    """Return whether there is more to say than the name of the outcome."""
    return bool(outcome.message) and outcome.outcome != "todo"


def _stuck(grading: ClassGrading) -> str:
    lang, total = grading.lang, len(grading.students)
    rows = []
    for row in tally.stuck(grading):
        outcome, n = row.commonest
        what = f"{_mark(outcome)} {_e(_word(outcome, lang))} × {n}"
        if outcome == "wrong" and row.mistakes:
            mistake, times = row.mistakes[0]
            what += f"<br>{_e(say('class-mostly', lang, mistake=tally.mistake_name(grading, row.exercise, mistake)))}"
            what += f" × {times}"
        bar = "".join(f'<i class="{o}" style="flex: {n}"></i>' for o, n in row.counts.items())
        counts = " · ".join(f"{_e(_word(o, lang))} {n}" for o, n in row.counts.items())
        rows.append(
            f'<tr><th scope="row">{_e(tally.title(grading, row.exercise))}<br><code>{_e(row.exercise)}</code></th>'
            f"<td>{row.solved}/{total}</td>"
            f'<td><div class="bar" aria-hidden="true">{bar}</div><span class="muted">{counts}</span></td>'
            f"<td>{what}</td></tr>"
        )
    heads = ("class-exercise", "class-solved-by", "class-outcomes", "class-commonest")
    return _list(heads, rows, lang) if rows else _p("class-all-solved", lang)


def _mistakes(grading: ClassGrading) -> str:
    lang = grading.lang
    often, once = [], []
    for exercise, mistake, who in tally.mistakes(grading):
        names = say("list-comma", lang).join(who)
        (often if len(who) > 1 else once).append(
            f'<tr><th scope="row">{_e(tally.mistake_name(grading, exercise, mistake))}'
            f'<p class="muted">{_e(tally.mistake_text(grading, exercise, mistake))}</p></th><td>{len(who)}</td>'
            f"<td><code>{_e(exercise)}</code></td><td>{_e(names)}</td></tr>"
        )
    heads = ("class-mistake", "class-times", "class-exercise", "class-student")
    inner = _list(heads, often, lang) if often else ""
    if once:
        text = _e(say("class-once", lang, count=len(once)))
        inner += f"<details><summary>{text}</summary>{_list(heads, once, lang)}</details>"
    return inner or _p("class-no-mistakes", lang)


def _students(grading: ClassGrading) -> str:
    lang, parts = grading.lang, []
    for n, student in enumerate(grading.students):
        outcomes = grading.outcomes[student.name]
        told = [(e, o) for e, o in outcomes.items() if _tells(o)]
        notes = [f"<code>{_e(name or student.name)}</code> {_e(say(key, lang))}" for name, key in student.notes]
        if not student.lessons:
            notes.insert(0, _e(say("class-absent", lang)))
        if not told and not notes:
            continue
        parts.append(f"<details><summary>{_e(student.name)} ")
        parts.append(f'<small class="muted">{tally.solved(grading, student.name)}/{len(outcomes)}</small></summary>')
        parts.append(f'<ul class="plain">{_items(notes)}</ul>' if notes else "")
        for exercise, outcome in told:
            parts.append(f'<h3 id="{_anchor(n, exercise)}">{_mark(outcome.outcome)} {_e(exercise)} ')
            parts.append(f'<span class="muted">{_e(_word(outcome.outcome, lang))}</span></h3>')
            parts.append(f"<pre>{chr(10).join(map(_e, outcome.message.splitlines()))}</pre>")
        parts.append("</details>")
    return "".join(parts)


def _about(run: ClassRun) -> str:
    lang = run.grading.lang
    lines = [_e(say(key, lang, **run.values)) for key in run.isolation]
    inner = f'<ul class="plain">{_items(lines)}</ul>'
    if run.others:
        packages = [f"<code>{_e(name)}</code> {_e(say(key, lang))}" for name, key in run.others]
        inner += f'{_p("class-others", lang)}<ul class="plain">{_items(packages)}</ul>'
    return inner


def _section(key: str, lang: str, inner: str) -> list[str]:
    """Return a section of the page with its heading; "" if it is empty."""
    heading = f'<section aria-labelledby="{key}"><h2 id="{key}">{_e(say(key, lang))}</h2>'
    return [heading, inner, "</section>"] if inner else []


def _p(key: str, lang: str) -> str:
    return f"<p>{_e(say(key, lang))}</p>"


def _list(heads: tuple[str, ...], rows: list[str], lang: str) -> str:
    cells = "".join(f'<th scope="col">{_e(say(key, lang))}</th>' for key in heads)
    return f'<table class="list"><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
