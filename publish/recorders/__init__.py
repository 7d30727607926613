"""Record what not every machine can run: programs under Slurm, on hosts, on a GPU, with other people's libraries.

`make record WHAT=ch16_night` runs one of them, by its row of book/recordings.toml. They write files of the lessons, and
are for maintainers: no lesson imports them, and the package that readers install has none of them.
"""

import json
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LESSONS = ROOT / "lessons"


def save(file: Path, recorded: object, indent: int | None = 1) -> None:
    """Write `recorded` to a file as JSON."""
    file.write_text(json.dumps(recorded, indent=indent, ensure_ascii=False) + "\n", "utf-8")


def today() -> str:
    return date.today().isoformat()


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of these packages that are installed here."""
    return {name: version(name) for name in packages}
