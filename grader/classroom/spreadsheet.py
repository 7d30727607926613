"""The class as a table for a spreadsheet: a row a student, a column an exercise."""

import csv
from pathlib import Path

from grader.classroom.grading import ClassGrading
from grader.classroom.tally import short, solved

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # https://owasp.org/www-community/attacks/CSV_Injection


def write_csv(path: Path, grading: ClassGrading) -> None:
    """Outcomes are the same English words in every language; a known mistake follows: `wrong: squared`."""
    with open(path, "w", newline="", encoding="utf-8-sig") as file:  # the mark makes Excel read UTF-8
        rows = csv.writer(file)
        rows.writerow(["student", "solved", "exercises", *grading.exercises])
        for student, outcomes in grading.outcomes.items():
            cells = [
                f"{o.outcome}: {short(exercise, o.mistake)}" if o.mistake else o.outcome
                for exercise, o in outcomes.items()
            ]
            rows.writerow(map(_text, [student, str(solved(grading, student)), str(len(outcomes)), *cells]))


def _text(cell: str) -> str:
    """A cell that a spreadsheet takes for text, whatever a student's name begins with."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
