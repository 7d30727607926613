"""Read a learner's file so that one broken function does not hide the others."""

import ast
import errno
import hashlib
import importlib.util
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

LARGEST = 200_000  # bytes of an answers file
JOINED = 200  # unindented lines that are tried as the rest of one statement

_START = re.compile(r"(@|def |async def |class )")
_DEF = re.compile(r"(?:async )?def +(\w+)|class +(\w+)")


@dataclass
class Answers:
    """One answers file, parsed but not run.

    source     the text with every top-level block that does not parse blanked out; lines keep their numbers
    functions  name -> its first line, for each function that parses
    faults     name -> (line, Python's message), for each function that was blanked out
    fault      the first fault that belongs to no function, or None
    blanked    the text that was blanked out
    fingerprint  a hash of the bytes that were read
    """

    path: Path
    source: str = ""
    functions: dict[str, int] = field(default_factory=dict)
    faults: dict[str, tuple[int, str]] = field(default_factory=dict)
    fault: tuple[int, str] | None = None
    blanked: str = ""
    shapes: dict[str, str] = field(default_factory=dict)  # name -> its code without name and docstring, as ast.dump
    fingerprint: str = ""


def read(path: Path) -> Answers:
    """Parse an answers file. Raises OSError or UnicodeDecodeError if it cannot be read."""
    data = _bytes(path)
    answers = Answers(path, _text(data), fingerprint=fingerprint(data))
    if _error(answers.source) is not None:
        _blank_out(answers)
    for node in syntax_tree(answers.source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
            answers.functions[name], answers.shapes[name] = node.lineno, _shape(node)
    return answers


def fingerprint(data: bytes) -> str:
    """Identify an answers file by a hash of all of it, since functions may use one another."""
    return hashlib.sha256(data).hexdigest()[:16]


def _bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is not a file")
    if path.stat().st_size > LARGEST:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST // 1000} kB")
    return path.read_bytes()


def _text(data: bytes) -> str:
    """Decode a file as Python would, with a byte order mark or a declared encoding."""
    try:
        return importlib.util.decode_source(data)
    except UnicodeDecodeError:
        raise
    except (SyntaxError, LookupError, ValueError) as error:  # an encoding that does not exist, or is none for a file
        raise OSError(errno.EINVAL, str(error)) from error


def is_blank(answers: Answers, blanks: Path, name: str, called: str = "") -> bool:
    """Return whether the function's code is still that of the blank; comments and docstring do not count.

    called  its name in the answers, if different
    """
    shape = answers.shapes.get(called or name)
    return shape is not None and shape == read(blanks).shapes.get(name)


def may_define(answers: Answers, name: str) -> bool:
    """Return whether running the file may give the name a value, as a comment or a call does not."""
    if name in answers.functions or name in answers.faults or re.search(rf"\b{name}\b", answers.blanked):
        return True
    if re.search(rf"\b{name}\b|import +\*", answers.source) is None:
        return False
    tree = syntax_tree(answers.source)
    bound = top_level_names(tree)
    if name in bound or "*" in bound:
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) and name in node.names:
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str):  # globals()["f"] = …, exec("def f …")
            if node.value == name or re.search(rf"\bdef +{name}\b", node.value):
                return True
    return False


def top_level_names(tree: ast.Module) -> set[str]:
    """Return the names that the statements of a file bind, `*` for `from … import *`; functions are not entered."""
    names: set[str] = set()
    nodes: list[ast.AST] = [*tree.body]
    inner = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, inner):
            continue
        if isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        nodes += ast.iter_child_nodes(node)
    return names


def syntax_tree(source: str) -> ast.Module:
    """Parse the learner's code without Python's warnings. Raises SyntaxError or ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape sequence is Python's to warn of, when it runs
        return ast.parse(source)


def _shape(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    body = node.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        node.body = body[1:]
    node.name = ""
    try:
        return ast.dump(node)
    except RecursionError:
        return "deeper than any blank"


def _error(source: str) -> tuple[int, str] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape sequence is Python's to warn of, when it runs
            compile(source, "answers", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 1, str(error) or "nested too deeply"
    return None


def _blank_out(answers: Answers) -> None:
    """Parse block by block; blank out each block that fails to parse even when joined with the next one.

    A block is never joined with the next definition: an unclosed bracket would swallow it.
    """
    lines = answers.source.split("\n")
    tops = [i for i, line in enumerate(lines) if i == 0 or (line[:1].strip() and not line.startswith("#"))]
    begins = [
        bool(_START.match(lines[top])) and not (n and lines[tops[n - 1]].startswith("@")) for n, top in enumerate(tops)
    ]
    tops.append(len(lines))
    kept, n = [""] * len(lines), 0
    while n < len(begins):
        last = next((m for m in range(n + 1, len(begins)) if begins[m]), len(begins))
        tries = range(n + 1, min(n + JOINED, last) + 1)
        if end := next((m for m in tries if _error("\n".join(lines[tops[n] : tops[m]])) is None), 0):
            kept[tops[n] : tops[end]] = lines[tops[n] : tops[end]]
            n = end
            continue
        block = lines[tops[n] : tops[last]]
        line, message = _error("\n".join(block)) or (1, "invalid syntax")
        names = [m.group(1) or m.group(2) for text in block if (m := _DEF.match(text))]
        answers.faults.update({name: (tops[n] + line, message) for name in names})
        if not names:
            answers.fault = answers.fault or (tops[n] + line, message)
        n = last
    answers.source = "\n".join(kept)
    answers.blanked = "\n".join(line for line, still in zip(lines, kept, strict=True) if line != still)
