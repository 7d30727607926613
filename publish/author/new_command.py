"""Run `python -m lessons new CHAPTER [NAME]`: write stubs of a new exercise or a new chapter, each marked FILL IN.

All of the files are written or none of them, and nothing is overwritten.
"""

import argparse
import contextlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.exercise import chapters
from grader.files import write_whole
from grader.home import HERE
from publish.author import templates
from publish.author.chapter_files import ChapterFiles, functions
from publish.chapter_tables import WRITTEN
from publish.chapter_toml import read_chapters
from publish.languages import written_in

DESCRIPTION = (
    "Add the stubs of an exercise to a chapter (`new ch03 'rows_of(x, mesh)'`), or make the files of a new chapter "
    "(`new ch25_pipelines`). `python -m lessons check ch03` then names each place to fill in."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: print the files that it wrote, or say in one sentence why there are none and return 2."""
    parser = argparse.ArgumentParser(prog="python -m lessons new", description=DESCRIPTION)
    parser.add_argument(
        "chapter",
        metavar="CHAPTER",
        help="an existing chapter, such as ch03, or the folder of a new one, such as ch25_pipelines",
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="function that the exercise asks for, such as 'rows_of(x, mesh)'"
    )
    parser.add_argument(
        "--only",
        choices=WRITTEN,
        help="create the texts in this language only, and note that in words.toml (chapter.toml)",
    )
    parser.add_argument(
        "--mistakes", nargs="+", metavar="WHY", default=list(templates.STUBS), help="a name for each known mistake"
    )
    parser.add_argument(
        "--root", type=Path, default=HERE, help="folder with lessons/, solutions/ and book/ (default: this project)"
    )
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    try:
        if options.name is None:
            texts = new_chapter(root, options.chapter, [options.only] if options.only else [*WRITTEN])
        else:
            texts = new_exercise(root, options.chapter, options.name, options.only, options.mistakes)
        _write(root, texts)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename} cannot be written: {error.strerror or error}. No file has changed.", file=sys.stderr)
        return 2
    for path in texts:
        print(path)
    short = options.chapter.partition("_")[0]
    if options.name is None:
        print(f"Add exercises with `.venv/bin/python -m lessons new {short} NAME`.")
    print(f"Replace every {templates.MARK} until `.venv/bin/python -m lessons check {short}` says “everything holds”;")
    print("then run `make format sync check`.")
    return 0


def new_chapter(root: Path, lesson: str, languages: list[str]) -> dict[str, str]:
    """Return the files of a new chapter: path below root → text. Raises ValueError if the name is taken or invalid."""
    lessons = root / "lessons"
    if existing := chapters.named(lessons, lesson):
        lesson = existing[0]
        if lacks := [place for place in templates.chapter(lesson, 0, 0, []) if not (root / place).exists()]:
            raise ValueError(
                f"The chapter {lesson} lacks {', '.join(lacks)}. "
                f"Write them, or move lessons/{lesson} away, so that `new {lesson}` can make all of it."
            )
        raise ValueError(f"There is a chapter {lesson} already; `new {lesson[:4]} NAME` adds an exercise to it.")
    parsed = chapters.NAME.fullmatch(lesson)
    if not parsed:
        known = ", ".join(chapters.lessons_in(lessons))
        raise ValueError(
            f"There is no chapter {lesson}, and a new one needs a name such as ch25_pipelines: two digits, small "
            f"letters. The chapters are {known}."
        )
    number = int(parsed[1])
    if same := chapters.named(lessons, f"ch{parsed[1]}"):
        raise ValueError(f"{same[0]} already has the number {number}: choose a different one.")
    parts = [c.part for c in read_chapters(lessons)[0]] or [1]
    texts = templates.chapter(lesson, number, parts[-1], languages)
    for path in texts:
        if (root / path).exists():
            raise ValueError(f"There is a file {path} already: move it away, or choose a different name.")
    return texts


def new_exercise(root: Path, wanted: str, asked: str, only: str | None, mistakes: Sequence[str]) -> dict[str, str]:
    """Return the files of a chapter with one more exercise: path below root → text. Raises ValueError if impossible.

    only      the language in which the exercise is written; None: those of the chapter
    mistakes  names of the known mistakes
    """
    lessons = root / "lessons"
    named = chapters.named(lessons, wanted)
    if not named:
        raise ValueError(f"There is no chapter {wanted}; choose from {', '.join(chapters.lessons_in(lessons))}.")
    function = templates.Signature.read(asked)
    name = function.name
    chapter = ChapterFiles(root, named[0])
    for lesson in chapters.lessons_in(lessons):  # a page links to an exercise by its name alone
        other = ChapterFiles(root, lesson)
        for path in (other.blanks, other.solution):
            if name in functions(path):
                raise ValueError(f"{other.place(path)} already has a function {name}: choose a different name.")
    for path in (chapter.blanks, chapter.solution, chapter.checks):
        if path.exists() and re.search(rf"\b{name}\b", _code(_read(chapter, path))):
            raise ValueError(f"`{name}` is a name that {chapter.place(path)} already uses: choose a different one.")
    for why in mistakes:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", why):
            raise ValueError(f"`{why}` cannot be a mistake: its name is in small letters, such as wrong_axis")
    of_chapter = written_in(lessons / chapter.lesson)
    languages = [only] if only else [*of_chapter]
    added = {
        chapter.blanks: templates.blank(function, languages),
        chapter.checks: templates.test(function),
        chapter.solution: templates.solution(function),
        chapter.mistakes: templates.mistakes(function, mistakes),
        chapter.words: templates.words(name, languages, mistakes, only if only and len(of_chapter) > 1 else ""),
    }
    if not any(page.exists() for page in chapter.pages):
        raise ValueError(f"{chapter.place(chapter.pages[0])} is missing: an exercise needs a page.")
    return {chapter.place(path): _appended(chapter, path, text) for path, text in added.items()}


def _code(text: str) -> str:
    """Return a file's code without the text of its docstrings."""
    return re.sub(r'""".*?"""', "", text, flags=re.S)


def _read(chapter: ChapterFiles, path: Path) -> str:
    """Return the text of a file of the chapter. Raises ValueError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(
            f"{chapter.place(path)} is missing: a chapter needs it before it can get an exercise."
        ) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{chapter.place(path)} cannot be read: {error}") from None


def _appended(chapter: ChapterFiles, path: Path, text: str) -> str:
    """Return the file's text with `text` appended."""
    old = _read(chapter, path).rstrip("\n")
    space = "\n\n\n" if path.suffix == ".py" else "\n\n"
    return f"{old}{space}{text}" if old else text


def _write(root: Path, texts: dict[str, str]) -> None:
    """Write all these files; if one cannot be written, restore the earlier ones."""
    before: dict[Path, bytes | None] = {}
    folders: list[Path] = []
    try:
        for name, text in texts.items():
            path = root / name
            folders += [p for p in reversed(path.parents) if not p.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            before[path] = path.read_bytes() if path.exists() else None
            write_whole(path, text.encode())
    except BaseException:
        with contextlib.suppress(OSError):
            for path, old in before.items():
                path.unlink(missing_ok=True) if old is None else path.write_bytes(old)
            for folder in reversed(folders):
                folder.rmdir()
        raise
