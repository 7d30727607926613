"""Write the class as a table for a spreadsheet: a row per student, a column per exercise; last, the lines to read."""

import csv
import io
import re
import unicodedata
from pathlib import Path

from grader.classroom.grading import ClassGrading
from grader.classroom.results.tally import short, solved
from grader.files import write_private

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # https://owasp.org/www-community/attacks/CSV_Injection


def write_csv(path: Path, grading: ClassGrading) -> None:
    """Write the table. Outcomes are English words in every language; a known mistake follows: `wrong: squared`."""
    file = io.StringIO()
    rows = csv.writer(file, quoting=csv.QUOTE_ALL)  # whatever a spreadsheet takes for the end of a cell
    rows.writerow(["student", "solved", "exercises", *grading.exercises, "to read"])
    for student, outcomes in grading.outcomes.items():
        cells = [
            f"{o.outcome}: {short(exercise, o.mistake)}" if o.mistake else o.outcome for exercise, o in outcomes.items()
        ]
        lines_to_read = str(sum(map(len, grading.lines_to_read.get(student, {}).values())))
        rows.writerow(map(_text, [student, str(solved(grading, student)), str(len(outcomes)), *cells, lines_to_read]))
    write_private(path, ("\ufeff" + file.getvalue()).encode())  # the mark makes Excel read UTF-8


def _text(cell: str) -> str:
    """Return a cell that a spreadsheet reads as text, whatever character a student's name begins with."""
    # A spreadsheet may trim a cell, and cut it where we did not.
    visible = "".join(c for c in cell if not c.isspace() and unicodedata.category(c)[0] != "C")
    risky = any(part.startswith(_FORMULA) for part in re.split("[;,|]", visible))
    return f"'{cell}" if risky or cell.startswith(_FORMULA) else cell
