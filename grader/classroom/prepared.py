"""Prepare an exercise before any submission is run: observe what the solution and the known mistakes do.

The observations are made once per seed and kept in .cache/class until the lesson, solution, grader or JAX changes.
"""

import base64
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.exercise.asked import Asked
from grader.exercise.spec import Settings, Spec
from grader.files import write_private
from grader.run import checking
from grader.run.mistakes_seen import LIMIT, see_all
from grader.see import observe
from grader.see import serialized_arguments as arguments
from grader.see.compiled import budget_of, places_of
from grader.see.observation import ProcessResult
from grader.see.wire import Malformed, decode, encode
from minipod import forked

_GRADER = Path(__file__).parents[1]
_OURS = (*_GRADER.rglob("*.py"), *_GRADER.glob("*.toml"), *(_GRADER.parent / "minipod").rglob("*.py"))
_PACKAGES = ("jax", "jaxlib", "numpy")


class Unpacked(Exception):
    """Raised if arguments cannot leave the process that drew them; the text says why."""


@dataclass(frozen=True)
class Prepared:
    """One exercise, ready to be judged.

    solution, mistakes  the observations of each process
    arguments  for each process, the cases as a sandbox gets them · cases: with budgets, for those that are measured
    kept  the arguments that a sandbox can only ask, as JSON: the fields of each `Asked`
    """

    solution: list[ProcessResult]
    mistakes: dict[str, list[ProcessResult]]
    arguments: tuple[str, ...]
    cases: str
    kept: str

    def asked(self) -> list[Asked]:
        """Return the arguments that a sandbox can only ask, as they are before the first call."""
        return [Asked({int(n): x for n, x in table}, *rest) for table, *rest in json.loads(self.kept)]


def prepare(spec: Spec, settings: Settings) -> Prepared:
    """Load an exercise from .cache/class, or observe it now and keep it there. Raises Unpacked."""
    path = spec.root / ".cache" / "class" / f"{spec.exercise}-{_key(spec, settings)}.json"
    try:
        return decode(Prepared, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, Malformed):
        made = _see(spec, settings)
    if all(result.status == "ok" for result in made.solution):
        with contextlib.suppress(OSError):  # a project that cannot be written to: then nothing is remembered
            write_private(path, json.dumps(encode(made)).encode())
    return made


def _see(spec: Spec, settings: Settings) -> Prepared:
    drawn = forked.run(
        partial(_drawn, spec, settings.seed), spec.processes, spec.devices, settings.limit, settings.memory
    )
    if wrong := next((result for result in drawn if result.status != "ok"), None):
        raise Unpacked(wrong.text or wrong.status)
    results = checking.CachedResults()
    checking.prepare(spec, settings, results)
    see_all(spec, replace(settings, limit=min(settings.limit, LIMIT)), results.mistakes)
    serialized = tuple(result.value["arguments"] for result in drawn)
    return Prepared(
        results.solution or [], results.mistakes, serialized, drawn[0].value["cases"], drawn[0].value["kept"]
    )


def _drawn(spec: Spec, seed: int) -> dict[str, str]:
    """In a child: return the cases as bytes. An answer that is only traced gets zeros; its program gets the numbers."""
    spec, drawn = observe.draw(spec, seed)
    if spec.how != "jit":
        kept: list[Asked] = []
        text = _text(arguments.dumps(drawn, kept))
        asked = [[list(one.table.items()), one.most, one.name, one.unknown, one.enough] for one in kept]
        return {"arguments": text, "cases": "", "kept": json.dumps(asked)}
    cases: Any = [(args, budget_of(spec, args)) for args in drawn]
    blank = [arguments.blanked(args, places_of(args)) for args in drawn]
    return {"arguments": _text(arguments.dumps(blank, [])), "cases": _text(arguments.dumps(cases, [])), "kept": "[]"}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _key(spec: Spec, settings: Settings) -> str:
    files = [spec.root / "solutions" / f"{spec.lesson}.py", *sorted(spec.folder.glob("*.*"))]
    return cache_key(settings.seed, settings.limit, settings.memory, files=files)


def cache_key(*about: object, files: Iterable[Path] = ()) -> str:
    """Hash these values (their repr), these files and what judges (grader, minipod, JAX, Python) into 40 hex digits."""
    digest = hashlib.sha256(_judge() + repr(about).encode(errors="replace"))
    for path in files:
        digest.update(_named(path))
    return digest.hexdigest()[:40]


@functools.cache
def _judge() -> bytes:
    versions = [platform.python_version(), *map(importlib.metadata.version, _PACKAGES)]
    return repr(versions).encode() + b"".join(map(_named, sorted(_OURS)))


def _named(path: Path) -> bytes:
    """Return the name of a file and a digest of its contents, or the reason why they cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        content = str(error.strerror).encode()
    return path.name.encode(errors="replace") + b"\0" + hashlib.sha256(content).digest()
