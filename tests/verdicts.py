"""Verdicts on many answers to a chapter's exercises at once: what was seen of solution and mistakes is seen once.

python tests/verdicts.py CHAPTER SOURCE FOLDER NAME…   (answers are written into FOLDER, the verdicts to stdout)
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def verdicts(chapter: str, source: Path, names: list[str], folder: Path) -> dict[str, dict[str, Any]]:
    """Per function `exercise__why` of `source`, taken as the answer: outcome, mistake, near, message."""
    command = [sys.executable, __file__, chapter, str(source), str(folder), *names]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def _judge(chapter: str, source: str, folder: str, *names: str) -> dict[str, dict[str, Any]]:
    from lessons.checking import running
    from lessons.checking.catalogue import Catalogue
    from lessons.checking.spec import Settings
    from lessons.checking.warm import warm_up

    warm_up(ROOT / ".cache/jax")
    catalogue, text = Catalogue(ROOT / "lessons"), Path(source).read_text()
    known: dict[str, running.Known] = {}
    found = {}
    for name in names:
        exercise = name.partition("__")[0]
        (Path(folder) / f"{chapter}.py").write_text(f"{text}\n{exercise} = {name}\n")
        remembered = known.setdefault(exercise, running.Known())
        check = running.begin(catalogue.spec(f"{chapter}.{exercise}"), Settings(Path(folder), 11), known=remembered)
        verdict = running.finish(check)
        found[name] = {
            "outcome": verdict.outcome,
            "mistake": verdict.mistake,
            "near": verdict.near[0] if verdict.near else None,
            "message": running.in_words(check, "en"),
        }
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    json.dump(_judge(*sys.argv[1:]), sys.stdout)
