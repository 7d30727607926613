"""Find the folders of chapters, their names, and which of them are drafts."""

import re
import tomllib
from pathlib import Path

FILE = "chapter.toml"
TITLES = "titles.toml"  # of all chapters, in languages that are derived: titles.zh-Hant.toml
NAME = re.compile(r"ch(\d\d)_[a-z][a-z0-9_]*")


def lessons_in(lessons: Path, drafts: bool = True) -> list[str]:
    """Return the folders of chapters, complete or not, in order; with drafts or without."""
    return [p.name for p in sorted(lessons.glob("ch[0-9]*")) if p.is_dir() and (drafts or not is_draft(p))]


def given_out(lessons: Path, file: str) -> list[Path]:
    """Return this file of each chapter that has it and is not a draft, in order."""
    return [path for path in sorted(lessons.glob(f"ch*/{file}")) if not is_draft(path.parent)]


def is_draft(folder: Path) -> bool:
    """Return whether chapter.toml keeps a chapter out of the book; False if the file cannot be read."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
        return "draft" in text and tomllib.loads(text).get("draft") is True  # most need not be parsed
    except (OSError, ValueError):
        return False


def named(lessons: Path, wanted: str) -> list[str]:
    """Return a list with the folder that `ch03`, `ch3` or `ch03_sharding` means; empty if there is none."""
    wanted = re.sub(r"^ch(\d)(?=_|$)", r"ch0\1", wanted)
    return [name for name in lessons_in(lessons) if wanted in (name, name.partition("_")[0])]
