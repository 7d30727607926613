"""Turn an exercise into cells of a notebook: its blank, which runs as it is, and a cell that checks it."""

import ast
import hashlib
from pathlib import Path

from grader.exercise.function_text import without_docstring
from grader.exercise.lesson_words import ExerciseWords, lesson_words
from grader.exercise.statements import code_in


def blank_cell(blanks: Path, name: str, lang: str) -> str:
    """Return the blank with comments in one language, below all imports of its file, since answers may use them."""
    tree = ast.parse(blanks.read_text("utf-8"))
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    texts = lesson_words(blanks.parent).get(name) or ExerciseWords()
    function = code_in(without_docstring(blanks, name).split("\n"), lang, texts)
    return "\n\n\n".join(["\n".join(imports), "\n".join(function)]).lstrip()


def check_cell(name: str) -> str:
    """Return the cell that checks an answer; its comments call up a hint and the solution."""
    return f'lessons.check("{name}")\n# lessons.hint("{name}")\n# lessons.solution("{name}")'


def digest(folder: Path) -> str:
    """Return a hash of a chapter's exercises and their checks; empty if it has no exercises."""
    paths = [folder / "exercises.py", folder / "test_exercises.py"]
    if not all(path.is_file() for path in paths):
        return ""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:12]
