"""python tests/mistakes_seen.py CHAPTER: which mistakes and solutions of a chapter behave the same, as JSON.

A process of its own, because children are forked from one that has started no backend.
"""

import functools
import itertools
import json
import sys
from pathlib import Path

from lessons.checking import mistakes, observe
from lessons.checking.catalogue import Catalogue
from lessons.checking.spec import Spec
from lessons.checking.warm import warm_up
from minipod import forked

ROOT = Path(__file__).resolve().parents[1]
SEED = 20


def seen(spec: Spec, path: Path, names: list[str]) -> forked.Job:
    """Start children that call these functions of a file on the inputs of one seed."""
    look = functools.partial(observe.observe_file, spec, SEED, path, names)
    return forked.start(look, spec.processes, spec.devices, mistakes.LIMIT, 4.0, mistakes.PATIENCE)


def every(spec: Spec) -> dict[str, mistakes.Seen]:
    """What the solution and each mistake do: tame ones in one child, each of the others in its own."""
    solution, wrong = ROOT / "solutions" / f"{spec.lesson}.py", spec.folder / "mistakes.py"
    known = mistakes.known_mistakes(spec)
    jobs = {spec.name: seen(spec, solution, [spec.name])}
    together = forked.wait(seen(spec, wrong, known)) if spec.processes == 1 else []
    if together and not mistakes.is_wild(together):
        results = dict.fromkeys(known, together)
    else:
        results = {}
        for n in range(0, len(known), 2):
            alone = {name: seen(spec, wrong, [name]) for name in known[n : n + 2]}
            results |= {name: forked.wait(job) for name, job in alone.items()}
    results |= {name: forked.wait(job) for name, job in jobs.items()}
    return {name: (results[name], name, str(solution if name == spec.name else wrong)) for name in results}


def alike(spec: Spec) -> list[tuple[str, str]]:
    """The pairs that do the same on every input, in every process."""
    return [
        (a, b)
        for (a, one), (b, other) in itertools.combinations(every(spec).items(), 2)
        if mistakes.same_behaviour(spec, one, other)
    ]


if __name__ == "__main__":
    warm_up(ROOT / ".cache" / "jax")
    catalogue = Catalogue(ROOT / "lessons")
    chosen = [name for name in catalogue.exercises if name.startswith(f"{sys.argv[1]}.")]
    print(json.dumps({name: alike(catalogue.spec(name)) for name in chosen}))
