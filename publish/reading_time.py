"""How long a chapter's page takes to read, counted on the page as it is: its words, its code and what that prints."""

import json
import re
from pathlib import Path

from publish.pages import terms

WORDS = 238  # a minute: silent reading of English non-fiction (Brysbaert 2019, doi:10.1016/j.jml.2019.104047)
LINES = 20  # of code and output a minute: assumed, nobody has measured it
STEP = 5  # minutes: nobody reads to the minute
_EXERCISE = re.compile(r"^% exercise:", re.M)


def minutes(lesson: str, root: Path) -> int:
    """Minutes, a multiple of STEP, for the English page up to its first exercise."""
    page = root / "book/en" / f"{lesson}.md"
    if not page.exists():
        return STEP
    words = code = 0
    for line, is_code in terms.with_fences(_EXERCISE.split(page.read_text("utf-8"))[0]):
        if is_code:
            code += bool(line.strip())
        else:
            words += len(line.split())
    return max(STEP, STEP * round((words / WORDS + (code + _printed(lesson, root)) / LINES) / STEP))


def _printed(lesson: str, root: Path) -> int:
    """Lines of text that the cells of a page print, as recorded."""
    recorded = root / "book/outputs" / f"{lesson}.json"
    if not recorded.exists():
        return 0
    outputs = [output for cell in json.loads(recorded.read_text("utf-8"))["cells"] for output in cell["outputs"]]
    return sum("".join(output["text"]).count("\n") for output in outputs if "text" in output)
