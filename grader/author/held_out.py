"""python -m grader.author.held_out [CHAPTER …]: answers by people who had only the statements; what they are told.

tests/data/held_out/SET/chNN_name.py are answers files. `right`, `right_d` are right ones, in other styles; `a` to `g`
wrong ones, with one misconception each; `two`, `two_c` to `two_g` with two at once: `# what:` above each function says
which. What each is told was graded by hand, in grades.toml: EXERCISE = [GRADE, the beginning of what it is told].

named    the misconception, or its equivalent      useful   leads there: a key, a smallest case, an error's own words
useless  only that it is wrong                     false    what is not so

Ends with 1 where a right answer is refused, a wrong one passes, something false is said, or a grade is missing; then it
prints the lines of grades.toml that are to be written.
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
WRONG = ("a", "b", "c", "d", "e", "f", "g", "two", "two_c", "two_e", "two_f", "two_g")
RIGHT = ("right", "right_d")
SETS = (*WRONG, *RIGHT)
GRADES = ("named", "useful", "useless", "false")
SEED, LIMIT = 1, 40
BEGINNING = 60  # characters of a message that a grade goes with


@dataclass(frozen=True)
class Answer:
    """One held-out answer and what became of it. grade: one of GRADES, "passed", "refused", "accepted" or "" (none)."""

    set: str
    exercise: str
    grade: str
    said: str


def beginning(message: str) -> str:
    """The first words of a message without its numbers: they are of one seed."""
    first = message.strip().partition("\n")[0]
    return re.sub(r"\d+(\.\d+)?", "#", first)[:BEGINNING].strip()


def judged(name: str, lessons: list[str]) -> list[dict[str, str]]:
    """What the checks say of one set's answers, as pytest's --report has it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        wanted = [f"lessons/{lesson}" for lesson in lessons if Path(FOLDER, name, f"{lesson}.py").exists()]
        if not wanted:
            return []
        options = [
            f"--answers={FOLDER / name}",
            f"--report={report}",
            f"--seed={SEED}",
            "--lang=en",
        ]
        command = [
            sys.executable,
            "-m",
            "pytest",
            *wanted,
            *options,
            f"--limit={LIMIT}",
            "-q",
            "-p",
            "no:cacheprovider",
        ]
        subprocess.run(command, cwd=HERE, capture_output=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""})
        found: list[dict[str, str]] = json.loads(report.read_text(encoding="utf-8"))
        return found


def graded(name: str, rows: list[dict[str, str]], grades: dict[str, dict[str, list[str]]]) -> Iterator[Answer]:
    """Each answer of a set with its grade."""
    for row in rows:
        exercise, said = row["exercise"], beginning(row["message"])
        if row["outcome"] == "todo":
            continue  # it is no held-out answer any more
        if name in RIGHT:
            grade = "accepted" if row["outcome"] == "right" else "refused"
        elif row["outcome"] == "right":
            grade = "passed"
        else:
            noted, words = grades.get(name, {}).get(exercise, ["", ""])
            grade = noted if words == said else ""
        yield Answer(name, exercise, grade, said)


def counted(answers: list[Answer]) -> str:
    """A table by chapter, and for each set of wrong answers the share that is named, or led there."""
    columns = [*GRADES, "passed", "refused", "accepted"]
    chapter = [answer.exercise.partition(".")[0] for answer in answers]
    rows = []
    for one in sorted(set(chapter)):
        times = Counter(a.grade for a, c in zip(answers, chapter, strict=True) if c == one)
        rows.append((one, *(str(times[column] or "") for column in columns)))
    lines = [str(Table(("", *columns), tuple(rows)))]
    for name in WRONG:
        of_set = [a for a in answers if a.set == name]
        well = sum(a.grade in ("named", "useful") for a in of_set)
        if of_set:
            exact = sum(a.grade == "named" for a in of_set)
            share = f"{well / len(of_set):.0%} named or led there, {exact / len(of_set):.0%} named"
            lines.append(f"{name}: {len(of_set)} answers, {share}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Judge all sets and print the table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m grader.author.held_out", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER")
    options = parser.parse_args(argv)
    lessons: list[str] = []
    for chapter in options.chapters:
        if not (named := chapters.named(HERE / "lessons", chapter)):
            parser.error(f"there is no chapter {chapter}")
        lessons += named
    lessons = lessons or sorted({path.stem for path in FOLDER.glob("*/ch*.py")})
    grades = tomllib.loads((FOLDER / "grades.toml").read_text(encoding="utf-8"))
    answers = [answer for name in SETS for answer in graded(name, judged(name, lessons), grades)]
    print(counted(answers))
    bad = [a for a in answers if a.grade in ("passed", "false", "refused")]
    for answer in bad:
        print(f"{answer.grade}: {answer.set}/{answer.exercise}: {answer.said}")
    missing = [a for a in answers if not a.grade]
    for name in WRONG:
        if of_set := [a for a in missing if a.set == name]:
            print(f"to be graded:\n[{name}]")
            print("\n".join(f'"{a.exercise}" = ["", {json.dumps(a.said, ensure_ascii=False)}]' for a in of_set))
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
