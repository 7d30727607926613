"""python forged.py CHAPTER MUTANTS EXERCISES: what came back of wrong answers, changed as who forges it would.

Of so many exercises at most the known mistakes are seen as answers are. What they returned, encoded as it comes from a
child, is changed in one to three places: dropped, emptied, doubled, given another tag, made NaN or partial, exchanged.
None may be right unless its numbers are the solution's, which is asked of the encoded numbers themselves. Prints how
many were tried, how many had still the form of an observation, and those that were right.
In a Python of its own, for children are forked from it: it must have started no backend.
"""

import base64
import copy
import json
import random
import sys

import ml_dtypes  # noqa: F401 (bfloat16 as a dtype of NumPy)
import numpy as np
from drifted import ROOT, seen

from grader.exercise.exercises import Catalogue
from grader.judge.mistakes import known_mistakes
from grader.judge.verdict import judge_case
from grader.see.observation import Observation
from grader.see.wire import Malformed, decode, encode

TAGS = ("Array", "Block", "Dict", "Float", "Int", "List", "Nothing", "Placement", "Text", "Tuple", "Node", "Bool")
ODD = (
    None, True, False, 0, 1, -1, 1e300, float("nan"), "", "AAAA", [], {}, {"t": "Nothing"},
    {"t": "Bool", "number": True},
)  # fmt: skip


def places(data, path=()):
    """The path of every part of JSON data, the whole left out."""
    for key, inner in enumerate(data) if isinstance(data, list) else data.items() if isinstance(data, dict) else ():
        yield (*path, key)
        yield from places(inner, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def change(data, rng):
    """Data with one part changed."""
    every = list(places(data))
    *above, key = rng.choice(every)
    holder = at(data, above)
    part = holder[key]
    how = rng.randrange(7)
    if how == 0 and isinstance(holder, list):
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(part))
    elif how == 2 and isinstance(part, list | str):
        holder[key] = part[: rng.randrange(len(part) + 1)] if rng.random() < 0.5 else type(part)()
    elif how == 3 and key == "t":
        holder[key] = rng.choice(TAGS)
    elif how == 4 and isinstance(part, bool):
        holder[key] = not part
    elif how == 5:
        holder[key] = copy.deepcopy(at(data, rng.choice(every)))
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))


def numbers(data):
    """All that an encoded value holds, one after another, in a form that can be compared: no code of the judge's."""
    if isinstance(data, list):
        return [x for item in data for x in numbers(item)]
    if not isinstance(data, dict):
        return [data]
    if data.get("t") == "Array" and data.get("blocks"):
        found = []
        for block in data["blocks"]:
            raw = np.frombuffer(base64.b64decode(block["base64"] or ""), np.dtype(data["dtype"]))
            found += raw.astype(np.complex128).tolist() if raw.dtype.kind not in "SU" else raw.tolist()
        return found
    shown = ("t", "first", "copies", "spec", "placement", "jax", "repr", "dtype", "shape")
    return [x for key in sorted(data) if key not in shown for x in numbers(data[key])]


def same(one, other, tolerance):
    """Whether two encoded values hold the same."""
    a, b = numbers(one), numbers(other)
    number = int | float | complex
    scale = max([abs(x) for x in b if isinstance(x, number) and np.isfinite(x)], default=0.0)
    near = 10 * max(tolerance, 2.0**-6)

    def fits(x, y):
        if isinstance(x, number) and isinstance(y, number):
            return np.isclose(complex(x), complex(y), rtol=near, atol=near * scale, equal_nan=True)
        return x == y

    return len(a) == len(b) and all(map(fits, a, b))


def forge(chapter, mutants, most):
    """(how many were tried, how many could be read, what was right though its numbers are not)."""
    rng, catalogue = random.Random(chapter), Catalogue(ROOT / "lessons", chapter)
    tried, read, right_ones = 0, 0, []
    exercises = catalogue.exercises[:most]
    for exercise in exercises:
        spec = catalogue.spec(exercise)
        right = [result.cases(spec.name) or () for result in seen(spec, ROOT / "solutions" / f"{chapter}.py")]
        wrong = []
        for name in known_mistakes(spec)[:8]:
            source = (spec.folder / "mistakes.py").read_text() + f"\n{spec.name} = {name}\n"
            for place, result in enumerate(seen(spec, spec.folder / "mistakes.py", source)):
                for n, case in enumerate(result.cases(spec.name) or ()):
                    fault = judge_case(spec, case, right[place][n])
                    differs = fault and fault.because.key == "differs" and "printed" not in spec.compare
                    if case.value is not None and differs:
                        wrong.append((encode(case), right[place][n]))
        for _ in range(mutants // len(exercises) if wrong else 0):
            data, solution = rng.choice(wrong)
            data = copy.deepcopy(data)
            for _ in range(rng.choice((1, 1, 2, 3))):
                change(data["value"], rng)
            tried += 1
            try:
                forged = decode(Observation, data)
            except Malformed:
                continue
            read += 1
            taken = judge_case(spec, forged, solution) is None
            if taken and not same(data["value"], encode(solution)["value"], spec.tolerance):
                right_ones.append((exercise, json.dumps(data["value"])[:600]))
    return tried, read, right_ones


if __name__ == "__main__":
    print(json.dumps(forge(sys.argv[1], *map(int, sys.argv[2:]))))
