"""python -m publish.sync [--check]: fill the pages from the lessons, and derive the Traditional Chinese of their words.

Filled in are the bodies of code cells (from demo.py, by name), programs, exercises (a new one last), the lists of
chapters, and the list of published addresses. `--check` writes nothing; it fails, naming page and cell, if something is
stale, unknown, unused, out of order or not filled in, if an address is gone, or if the editions differ. Texts that a
chapter omits in one language, as its `only` says, are named, but are not a failure. Drafts are left alone.
"""

import argparse
import contextlib
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import yaml

from grader.exercise import chapters as lessons
from grader.exercise.statements import chinese
from publish import addresses, files
from publish.author.chapter_files import ChapterFiles, functions
from publish.author.templates import MARK, unfilled
from publish.languages import unlike, unwritten
from publish.lists import Lists, lists
from publish.page import ROOT, WRITTEN, Page, demo_cells, program_cell, read_page, show, written
from publish.pages import exercise_blocks, figures, terms


@dataclass
class Result:
    """The findings: stale files, and problems.

    stale      files that do not have the text that they should: path → (text, sentence)
    problems   sentences about faults that no sync can fix
    unwritten  sentences about texts that are left out in one of the languages
    """

    stale: dict[Path, tuple[str, str]]
    problems: list[str]
    unwritten: list[str]


def chapters(root: Path = ROOT, listed: Lists | None = None) -> list[str]:
    """Return the book's pages in the order of _toc.yml once the chapters are in it. listed: its text, if known."""
    path = root / "_toc.yml"
    text = path.read_text("utf-8")
    with contextlib.suppress(ValueError):  # which `check` reports
        text = (listed or lists(root)).fill(path, text)
    toc = yaml.safe_load(text)
    names = [toc["root"]]
    for part in toc.get("parts", [toc]):
        names += [entry["file"] for entry in part.get("chapters") or []]
    return names


def synced(page: Page, edition: str, root: Path = ROOT) -> tuple[str, list[str], list[str]]:
    """Return the text of a page as it should be, sentences on its stale parts, and its problems."""
    chapter, name = page.path.stem, show(page.path, root)
    lesson = root / "lessons" / chapter
    stale = []
    if new := [each for each in functions(lesson / "exercises.py") if each not in {e.name for e in page.exercises}]:
        stale = [f"{name}: has no place for the exercise `{each}`" for each in new]
        page = read_page(page.path, root, with_places(page, new))
    problems = list(page.problems)
    demo = demo_cells(lesson / "demo.py") if (lesson / "demo.py").exists() else {}
    edits: list[tuple[int, int, str]] = []  # line range and the text that belongs there
    for cell in page.cells:
        here = f"{name}:{cell.first + 1}: cell `{cell.name}`"
        if cell.kind == "cell":
            if cell.name not in demo:
                problems.append(f"{here}: lessons/{chapter}/demo.py has no cell of that name")
                continue
            body = demo[cell.name]
        elif cell.kind == "program":
            if not (lesson / cell.name).is_file():
                problems.append(f"{here}: there is no file lessons/{chapter}/{cell.name}")
                continue
            body = program_cell(cell.name, (lesson / cell.name).read_text("utf-8"))
        else:
            continue
        if "```" in body:
            problems.append(f"{here}: three backticks in a cell would close it on the page")
        elif body != cell.body:
            stale.append(f"{here} is not what lessons/{chapter} says")
            edits.append((cell.first + 1 + len(cell.options), cell.last, body))
    for number, exercise in enumerate(page.exercises, 1):
        here = f"{name}:{exercise.first + 1}"
        try:
            block = exercise_blocks.block(root, chapter, exercise.name, number, edition, terms.ui())
        except (ValueError, SyntaxError) as error:
            problems.append(f"{here}: {error}")
            continue
        if block != "\n".join(page.lines[exercise.first + 1 : exercise.last]):
            stale.append(f"{here}: exercise `{exercise.name}` is not what lessons/{chapter} says")
            edits.append((exercise.first + 1, exercise.last, block))
    problems += _order(page, name, list(demo))
    lines = list(page.lines)
    for first, last, text in sorted(edits, reverse=True):
        lines[first:last] = text.split("\n")
    return "\n".join(lines), stale, problems


def with_places(page: Page, exercises: list[str]) -> str:
    """Return the text of a page with a place for each of these exercises: below its last exercise, or at its end."""
    at = page.exercises[-1].last + 1 if page.exercises else len(page.lines) - 1  # its text ends with a newline
    places = [line for name in exercises for line in ("", f"% exercise: {name}", "% end exercise")]
    return "\n".join([*page.lines[:at], *places, *page.lines[at:]])


def _order(page: Page, name: str, demo: list[str]) -> list[str]:
    """Return sentences for cells that no page uses, cells used twice, and an order that differs from the demo's."""
    where = f"lessons/{page.path.stem}/demo.py"
    used = [c for c in page.cells if c.kind == "cell" and c.name in demo]
    names = [c.name for c in used]
    missing = ", ".join(f"`{d}`" for d in demo if d not in names)
    problems = [f"{name}: no cell of the page shows {missing} of {where}"] if missing else []
    for cell in used:
        if names.count(cell.name) > 1:
            return [*problems, f"{name}:{cell.first + 1}: cell `{cell.name}` is on the page more than once"]
    expected = [d for d in demo if d in names]
    for cell, right in zip(used, expected, strict=True):
        if cell.name != right:
            return [*problems, f"{name}:{cell.first + 1}: cell `{cell.name}` is where {where} has `{right}`"]
    return problems


def editions_differ(pages: dict[str, Page], root: Path = ROOT) -> list[str]:
    """Return the differences between the editions of one page: cells, tags, exercises and labels, in order."""
    problems, (first, *others) = [], pages.values()

    def facts(page: Page) -> dict[str, list[str]]:
        return {
            "cell": [" ".join([c.kind, c.name, *c.options[1:]]).strip() for c in page.cells],
            "exercise": [e.name for e in page.exercises],
            "label": page.labels,
        }

    for other in others:
        for what, theirs in facts(other).items():
            ours = facts(first)[what]
            gap = next((i for i in range(max(len(ours), len(theirs))) if ours[i : i + 1] != theirs[i : i + 1]), None)
            if gap is not None:
                a, b = ("".join(f"`{x}`" for x in side[gap : gap + 1]) or "none" for side in (ours, theirs))
                both = f"{show(first.path, root)} has {a}, {show(other.path, root)} has {b}"
                problems.append(f"{what} {gap + 1} differs between the editions: {both}")
    return problems


def check(root: Path = ROOT) -> Result:
    """Check every page, every words file and every list of chapters."""
    listed = lists(root)
    names, result = chapters(root, listed), Result({}, [*listed.problems], [])
    lesson_names = lessons.lessons_in(root / "lessons", drafts=False)
    owner: dict[str, Path] = {}  # English pages: which one has a label
    texts: dict[str, list[str]] = {}  # each page's, as they should be
    for name in names:
        pages: dict[str, Page] = {}
        for edition in WRITTEN:
            path = root / "book" / edition / f"{name}.md"
            if path.exists():
                pages[edition] = read_page(path, root)
                _page(pages[edition], edition, root, listed, result)
                texts.setdefault(name, []).append(result.stale.get(path, (pages[edition].text, ""))[0])
            elif name not in lesson_names or not written(name, edition, root).exists():
                by = f"lessons/{name} needs" if name in lesson_names else "_toc.yml names"
                result.problems.append(f"{show(path, root)} is missing: {by} it")
        for label in pages["en"].labels if "en" in pages else []:
            if label in owner:
                here, other = show(pages["en"].path, root), show(owner[label], root)
                result.problems.append(f"{here}: {other} also has the label `{label}`")
            owner[label] = pages["en"].path
        if len(pages) > 1:
            result.problems += editions_differ(pages, root)
    for path in sorted(root.glob("book/*/*.md")):
        if (
            path.parent.name in WRITTEN
            and path.stem not in names
            and not lessons.is_draft(root / "lessons" / path.stem)
        ):
            result.problems.append(_stray(path, root))
    for path in [path for path in listed.blocks if path.suffix != ".md" or path.parent == root]:
        _file(path, path.read_text("utf-8"), "", root, listed, result)
    try:
        fresh = derived(root)
    except ValueError as error:
        result.problems.append(str(error))
        fresh = {}
    for path, text in fresh.items():
        if not path.exists() or path.read_text("utf-8") != text:
            result.stale[path] = text, f"{show(path, root)} does not agree with the file next to it"
    for path, text in figures.front_pictures(root).items():
        if not path.exists() or path.read_text("utf-8") != text:
            result.stale[path] = text, f"{show(path, root)} is not the picture that the front page shows"
    text, gone = addresses.listed(root, texts)
    result.problems += [] if result.problems else gone  # it may be the label that one of the pages lacks
    if text:
        result.stale[root / addresses.LIST] = text, f"{addresses.LIST} does not have every address of the pages"
    for name in lesson_names:
        result.problems += _unfilled(root, name)
        left_out, wrong = unwritten(root, name)
        result.problems += [*wrong, *unlike(root, name)]
        result.unwritten += left_out
    result.problems[:] = dict.fromkeys(result.problems)
    return result


def _unfilled(root: Path, lesson: str) -> list[str]:
    """Return one sentence if a chapter of the book is still as `new` made it."""
    if not (marks := unfilled(ChapterFiles(root, lesson))):
        return []
    places = f"{len(marks)} places still say" if len(marks) > 1 else "a place still says"
    cure = f"`python -m lessons check {lesson[:4]}` names each; a draft has `draft = true` in {lessons.FILE}"
    return [f"lessons/{lesson}: {places} “{MARK}”, first {marks[0]}: {cure}"]


def _page(page: Page, edition: str, root: Path, listed: Lists, result: Result) -> None:
    """Add the findings about one page to the result."""
    try:
        text, old, wrong = synced(page, edition, root)
    except ValueError as error:
        result.problems.append(str(error))
        return
    result.problems += wrong
    _file(page.path, text, "\n".join(old), root, listed, result)


def _file(path: Path, text: str, sentences: str, root: Path, listed: Lists, result: Result) -> None:
    """Add a file that should have this text, with the lists of chapters in it, to the result."""
    try:
        whole = listed.fill(path, text)
    except ValueError as error:
        result.problems.append(f"{show(path, root)}: {error}")
        return
    if whole != text:
        sentence = f"{show(path, root)}: {listed.blocks[path][0].what} is not what lessons/*/chapter.toml say"
        sentences = "\n".join(filter(None, [sentences, sentence]))
    if sentences:
        result.stale[path] = whole, sentences


def _stray(path: Path, root: Path) -> str:
    """Return a sentence about a page that is in no list; the page of a chapter is listed by its chapter.toml."""
    if lessons.NAME.fullmatch(path.stem):
        return f"{show(path, root)}: there is no lessons/{path.stem}/{lessons.FILE}, which puts this page into the book"
    return f"{show(path, root)}: _toc.yml does not name this page"


def derived(root: Path = ROOT) -> dict[Path, str]:
    """Return the correct zh-Hant files: those next to the TOML files of grader and lessons, and one with all titles.

    The other texts of a chapter.toml are for pages, which are derived as a whole.
    """
    out, titles = {}, []
    for folder in ("grader", "lessons"):
        for path in sorted((root / folder).rglob("*.toml")):
            if path.name.endswith(".zh-Hant.toml"):
                continue
            blanks = path.with_name("exercises.py")
            try:
                asked = chinese(blanks) if path.name == "words.toml" and blanks.exists() else {}
                text = path.read_text("utf-8")
                if path.name == lessons.FILE:
                    title = tomllib.loads(text).get("title")
                    if isinstance(title, dict) and "zh-Hans" in title:
                        titles.append(
                            f"{path.parent.name}.zh-Hans = {json.dumps(title['zh-Hans'], ensure_ascii=False)}"
                        )
                    continue
                text = terms.derive_toml(text, asked)
            except SyntaxError as error:
                raise ValueError(f"{show(blanks, root)}:{error.lineno}: cannot be read: {error.msg}") from None
            except ValueError as error:
                raise ValueError(f"{show(path, root)}: cannot be read: {' '.join(str(error).split())}") from None
            if text:
                out[path.with_suffix(".zh-Hant.toml")] = text
    if text := terms.derive_toml("\n".join(titles), source="each chapter.toml"):
        out[(root / "lessons" / lessons.TITLES).with_suffix(".zh-Hant.toml")] = text
    return out


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m publish.sync", description="Fill the pages from the lessons.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if anything is out of date")
    only_check = parser.parse_args(arguments).check
    result = check()
    for problem in result.problems:
        print(problem, file=sys.stderr)
    for sentence in result.unwritten:
        print(f"not yet in both languages: {sentence}")
    if only_check:
        for _, sentences in result.stale.values():
            print(re.sub("$", ": run `make sync`", sentences, flags=re.M), file=sys.stderr)
        return 1 if result.problems or result.stale else 0
    try:
        fill(result)
    except OSError as error:
        print(files.sentence(error, "make sync"), file=sys.stderr)
        return 1
    return 1 if result.problems else 0


def fill(result: Result) -> None:
    """Write the stale files and print their names. Raises OSError, which names the file that cannot be written."""
    for path, (text, _) in result.stale.items():
        files.write(path, text)
        print(f"filled {show(path)}")


if __name__ == "__main__":
    sys.exit(main())
