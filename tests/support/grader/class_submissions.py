"""A class made up from solutions, known mistakes and blanks: the same one for the same seed."""

import ast
import random
from pathlib import Path

from grader.exercise.progress import all_exercises

NAMES = "Ada Bo Chen Dana Emil Fatima Goran Hana Ines Jun Kai Lea Mio Nora Omar Pia Qi Rosa Sam Tala Uma Vera".split()
NAMES += ["Wei", "Xiu", "Yara", "Zoë", "李雷", "韩梅梅", "José Ångström", "O'Neil"]


def generate(root: Path, folder: Path, students: int = 30, seed: int = 0) -> dict[str, dict[str, str]]:
    """Write folder/NAME/chNN_name.py for the lessons of `root`.

    Returns by student and exercise what was written: "right", "todo", "absent" or the name of a mistake.
    """
    rng = random.Random(seed)
    lessons: dict[str, list[str]] = {}
    for exercise in all_exercises(root / "lessons"):
        lesson, _, name = exercise.partition(".")
        lessons.setdefault(lesson, []).append(name)
    written: dict[str, dict[str, str]] = {}
    for n in range(students):
        student = NAMES[n % len(NAMES)] + (f" {n // len(NAMES) + 1}" if n >= len(NAMES) else "")
        (folder / student).mkdir(parents=True)
        written[student] = {}
        able = rng.betavariate(3, 2)
        for lesson, names in lessons.items():
            if rng.random() < 0.06:
                written[student] |= {f"{lesson}.{name}": "absent" for name in names}
                continue
            chosen = {name: _choice(rng, able, root / "lessons" / lesson, name) for name in names}
            (folder / student / f"{lesson}.py").write_text(source(root, lesson, chosen), encoding="utf-8")
            written[student] |= {f"{lesson}.{name}": what for name, what in chosen.items()}
    return written


def source(root: Path, lesson: str, chosen: dict[str, str]) -> str:
    """A submission's text: each exercise right, blank ("todo"), or the mistake of that name."""
    parts = [(root / "solutions" / f"{lesson}.py").read_text("utf-8")]
    mistaken = [what for what in chosen.values() if what not in ("right", "todo")]
    if mistaken:
        parts.append((root / "lessons" / lesson / "mistakes.py").read_text("utf-8"))
    blanks = (root / "lessons" / lesson / "exercises.py").read_text("utf-8")
    for node in ast.parse(blanks).body:
        if isinstance(node, ast.FunctionDef) and chosen.get(node.name, "right") == "todo":
            parts.append(ast.get_source_segment(blanks, node) or "")
    parts += [f"{name} = {what}" for name, what in chosen.items() if what in mistaken]
    return "\n\n".join(parts) + "\n"


def _choice(rng: random.Random, able: float, lesson: Path, name: str) -> str:
    if rng.random() < able:
        return "right"
    tree = ast.parse((lesson / "mistakes.py").read_text("utf-8"))
    known = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith(f"{name}__")]
    return rng.choice(known) if known and rng.random() < 0.7 else "todo"
