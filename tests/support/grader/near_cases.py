"""What the tests of near misses share: verdicts on values made directly, without children."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from grader.exercise.spec import Spec
from grader.judge.near_misses import near_miss
from grader.judge.verdict import Verdict, judge
from grader.messages import Message
from grader.say.explain import explain, near_words
from grader.see.observation import FileObservation, Observation, ProcessResult
from grader.see.packing import pack

RNG = np.random.default_rng(3)
E = RNG.normal(size=(16, 5)).astype(np.float32)
DEVICES = jax.devices()
MESH = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
GRID = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def rows(x, mesh=MESH, spec=("x",)):
    """x, laid out over a mesh."""
    return jax.device_put(jnp.asarray(x), NamedSharding(mesh, P(*spec)))


def result(cases: Iterable[Observation], name: str = "f") -> ProcessResult:
    """What a process saw of a function."""
    return ProcessResult("ok", FileObservation(functions={name: tuple(cases)}))


def case(value: Any = None, args: tuple[Any, ...] = (), printed: str = "", **more: Any) -> Observation:
    return Observation(tuple(pack(a, data=False) for a in args), pack(value), printed=printed, **more)


def judged(answer: list[Observation], right: list[Observation], near: Path | None = None, **about: Any) -> Verdict:
    """The verdict on the cases of one process. near: the lesson's folder, where a near miss is looked for, too."""
    spec = spec_of(near or Path(), **about)
    verdict = judge(spec, Verdict(spec.exercise, ""), [right], [result(answer)], "f")
    if near:
        verdict.near = near_miss(spec, verdict, [right], [answer])
    return verdict


def spec_of(folder: Path = Path(), **about: Any) -> Spec:
    """An exercise f."""
    return Spec("ch90_one", "f", folder, lambda rng: [], **about)


def explained(verdict: Verdict, lang: str = "en", **about: Any) -> list[str]:
    """What a learner reads, line by line."""
    return explain(spec_of(**about), verdict, 20.0, 2.0, lang).splitlines()


def diagnosis(answer: list[list[Observation]], right: list[list[Observation]], **options: Any) -> Message | None:
    """The near miss, or None. answer, right: per process its cases."""
    spec = spec_of(processes=len(answer), **options)
    verdict = Verdict(spec.exercise, "")
    judge(spec, verdict, right, [result(cases) for cases in answer], "f")
    assert verdict.outcome == "wrong"
    found = near_miss(spec, verdict, right, answer)
    for lang in ("en", "zh-Hans"):
        assert found is None or "{" not in near_words(found, lang)
    return found


def of_values(got: list[Any], expected: list[Any], args: tuple[Any, ...] = (), **options: Any) -> Message | None:
    """The diagnosis of values, one for each case, in one process."""
    mine, right = ([case(value, args) for value in values] for values in (got, expected))
    return diagnosis([mine], [right], **options)
