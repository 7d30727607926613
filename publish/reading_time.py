"""Estimate how long a chapter's page takes to read, from its words, its code and the code's output."""

import functools
import json
import re
from pathlib import Path

from grader.exercise.statements import HAN
from publish.chapter_tables import WRITTEN
from publish.pages import terms

WORDS = 238  # a minute: silent reading of English non-fiction (Brysbaert 2019, doi:10.1016/j.jml.2019.104047)
CHARACTERS = 255  # Chinese ones a minute (Trauzettel-Klosinski and Dietz 2012, doi:10.1167/iovs.11-8284)
LINES = 20  # of code and output a minute: assumed, nobody has measured it
STEP = 5  # minutes: the estimate is no more precise than that
_EXERCISE = re.compile(r"^% exercise:", re.M)
_WORD = re.compile(r"[^\W\u3400-\u9fff][^\s\u3400-\u9fff]*")


def minutes(lesson: str, root: Path) -> int:
    """Return the minutes, a multiple of STEP, for the page up to its first exercise; the English page if it exists."""
    pages = [page for edition in WRITTEN if (page := root / "book" / edition / f"{lesson}.md").exists()]
    files = [*pages[:1], *root.glob(f"book/outputs/{lesson}.json")]
    return _counted(*((path, path.stat().st_mtime_ns, path.stat().st_size) for path in files))


@functools.cache
def _counted(*files: tuple[Path, int, int]) -> int:
    """Return the minutes for a page and its current outputs; each edition asks."""
    taken = 0.0
    for path, *_ in files:
        text = path.read_text("utf-8")
        taken += _reading(text) if path.suffix == ".md" else _printed(text) / LINES
    return max(STEP, STEP * round(taken / STEP))


def _reading(page: str) -> float:
    words = characters = code = 0
    for line, is_code in terms.with_fences(_EXERCISE.split(page)[0]):
        if is_code:
            code += bool(line.strip())
        else:
            characters += len(HAN.findall(line))
            words += len(_WORD.findall(line))
    return words / WORDS + characters / CHARACTERS + code / LINES


def _printed(recorded: str) -> int:
    """Return the number of lines that the cells of a page print, as recorded."""
    outputs = [output for cell in json.loads(recorded)["cells"] for output in cell["outputs"]]
    return sum("".join(output["text"]).count("\n") for output in outputs if "text" in output)
