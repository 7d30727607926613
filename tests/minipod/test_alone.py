"""minipod's own tests need nothing of the book: neither its packages nor its files."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
SUPPORT = {file.stem: file for file in (HERE.parent / "support").glob("*.py")}
BOOK = ("grader", "lessons", "solutions", "publish", "book")
PATH = re.compile(rf"""["/]({"|".join(BOOK)})[/"]""")


def needed() -> list[Path]:
    """The files of these tests, and those of tests/support that they import."""
    files = [*HERE.rglob("*.py")]
    for file in files:  # which grows meanwhile
        files += [SUPPORT[name] for name in imported(file) if name in SUPPORT and SUPPORT[name] not in files]
    return files


def imported(file: Path) -> set[str]:
    """The first parts of the names of the modules that a file imports."""
    nodes = [*ast.walk(ast.parse(file.read_text("utf-8")))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


def test_nothing_of_the_book_is_imported_or_read():
    imports = {file.name: sorted(imported(file) & {*BOOK}) for file in needed()}
    assert {name: modules for name, modules in imports.items() if modules} == {}
    files = [file for file in needed() if file != Path(__file__)]
    lines = [f"{file.name}: {line}" for file in files for line in file.read_text("utf-8").splitlines()]
    assert [line for line in lines if PATH.search(line)] == []
