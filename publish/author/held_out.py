"""python -m publish.author.held_out [CHAPTER …]: wrong answers that no known mistake explains; what they are told.

tests/data/held_out/chNN_name.py are answers files by people who had only the statements, an answer an exercise at most;
`# what:` above each function says the misconception. What each is told was graded by hand, in grades.toml:
EXERCISE = [GRADE, the beginning of what it is told].

useful   leads there: a key, a smallest case, an error's own words      useless  only that it is wrong
named    a known mistake explains it: the answer moves to others/       false    what is not so

Ends with 1 where a wrong answer passes, something false is said, or a grade is missing; then it prints the lines of
grades.toml that are to be written.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.exercise import chapters
from grader.home import HERE
from minipod.tables import Table

FOLDER = HERE / "tests/data/held_out"
GRADES = ("named", "useful", "useless", "false")
SEED, LIMIT = 1, 40
BEGINNING = 60  # characters of a message that a grade goes with


@dataclass(frozen=True)
class Answer:
    """One held-out answer and what became of it. grade: one of GRADES, "passed" or "" (none)."""

    exercise: str
    grade: str
    said: str


def beginning(message: str) -> str:
    """The first words of a message without its numbers: they are of one seed."""
    first = message.strip().partition("\n")[0]
    return re.sub(r"\d+(\.\d+)?", "#", first)[:BEGINNING].strip()


def judged(lessons: list[str]) -> list[dict[str, str]]:
    """What the checks say of the answers to these lessons, as pytest's --report has it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        options = [f"--answers={FOLDER}", f"--report={report}", f"--seed={SEED}", f"--limit={LIMIT}", "--lang=en"]
        wanted = [f"lessons/{lesson}" for lesson in lessons]
        command = [sys.executable, "-m", "pytest", *wanted, *options, "-q", "-p", "no:cacheprovider"]
        subprocess.run(command, cwd=HERE, capture_output=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""})
        found: list[dict[str, str]] = json.loads(report.read_text(encoding="utf-8"))
        return found


def graded(rows: list[dict[str, str]], grades: dict[str, list[str]]) -> Iterator[Answer]:
    """Each answer with its grade; an exercise without an answer is todo, and none."""
    for row in rows:
        exercise, said = row["exercise"], beginning(row["message"])
        if row["outcome"] == "todo":
            continue
        noted, words = grades.get(exercise, ["", ""])
        grade = "passed" if row["outcome"] == "right" else noted if words == said else ""
        yield Answer(exercise, grade, said)


def counted(answers: list[Answer]) -> str:
    """A table by chapter."""
    columns = [*GRADES, "passed"]
    by_chapter: dict[str, Counter[str]] = {}
    for answer in answers:
        by_chapter.setdefault(answer.exercise.partition(".")[0], Counter())[answer.grade] += 1
    rows = [(one, *(str(times[c] or "") for c in columns)) for one, times in sorted(by_chapter.items())]
    return str(Table(("", *columns), tuple(rows)))


def main(argv: list[str] | None = None) -> int:
    """Judge the answers and print the table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m publish.author.held_out", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER")
    options = parser.parse_args(argv)
    lessons: list[str] = []
    for chapter in options.chapters:
        if not (named := chapters.named(HERE / "lessons", chapter)):
            parser.error(f"there is no chapter {chapter}")
        lessons += named
    lessons = lessons or sorted(path.stem for path in FOLDER.glob("ch*.py"))
    grades = tomllib.loads((FOLDER / "grades.toml").read_text(encoding="utf-8"))
    answers = list(graded(judged(lessons), grades))
    print(counted(answers))
    bad = [a for a in answers if a.grade in ("passed", "false")]
    print("".join(f"{answer.grade}: {answer.exercise}: {answer.said}\n" for answer in bad), end="")
    missing = [a for a in answers if not a.grade]
    if missing:
        print("to be graded:")
        print("\n".join(f'"{a.exercise}" = ["", {json.dumps(a.said, ensure_ascii=False)}]' for a in missing))
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
