"""python drifted.py CHAPTER EXERCISE …: each solution once more, all its copies but the first off; what the judge says.

In a Python of its own, for children are forked from it: it must have started no backend.
"""

import json
import sys
from functools import partial
from pathlib import Path

from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Spec
from grader.judge.verdict import Verdict, judge
from grader.see import observe
from grader.see.observation import ProcessResult, received
from grader.see.observe import Target
from minipod import forked

ROOT = Path(__file__).resolve().parents[2]
DRIFT = """

def _drift(function):
    import functools

    import jax
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

    def traced(x, mesh):
        def body(block):
            rank = sum(jax.lax.axis_index(name) for name in mesh.axis_names)
            return block ^ (rank > 0) if block.dtype == bool else block + (rank > 0).astype(block.dtype)

        if AxisType.Explicit in mesh.axis_types:
            x = jax.reshard(x, NamedSharding(mesh, PartitionSpec()))
        off = jax.shard_map(body, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False)
        return off(x)

    def drifted(x, mesh):
        if isinstance(x, jax.core.Tracer):
            return traced(x, mesh)
        if not isinstance(x, jax.Array):
            return x
        seen, parts = set(), []
        for shard in sorted(x.addressable_shards, key=lambda s: s.device.id):
            block = str(shard.index)
            off = ~shard.data if x.dtype == bool else shard.data + 1
            parts.append(jax.device_put(off, shard.device) if block in seen else shard.data)
            seen.add(block)
        return jax.make_array_from_single_device_arrays(x.shape, x.sharding, parts)

    @functools.wraps(function)
    def drifting(*args):
        mesh = next((arg for arg in args if isinstance(arg, Mesh)), None) or jax.make_mesh((8,), ("all",))
        return jax.tree.map(lambda x: drifted(x, mesh), function(*args))

    return drifting


NAME = _drift(NAME)
"""


def seen(spec: Spec, path: Path, source: str | None = None) -> list[ProcessResult]:
    """What the exercise's function does in a child."""
    look = partial(observe.encoded, spec, 1, Target(path, [spec.name], source))
    return [received(r) for r in forked.wait(forked.start(look, spec.processes, spec.devices, 120.0, 4.0))]


def verdict(chapter: str, name: str) -> Verdict:
    spec = Catalogue(ROOT / "lessons", chapter).spec(f"{chapter}.{name}")
    path = ROOT / "solutions" / f"{chapter}.py"
    right = [result.cases(name) or () for result in seen(spec, path)]
    answer = seen(spec, path, path.read_text() + DRIFT.replace("NAME", name))
    return judge(spec, Verdict(spec.exercise, ""), right, answer, name)


if __name__ == "__main__":
    told = {name: verdict(sys.argv[1], name) for name in sys.argv[2:]}
    print(json.dumps({n: [v.outcome, getattr(v.difference, "kind", str(v.failure))] for n, v in told.items()}))
