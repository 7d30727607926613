"""Copies that drift apart are never right: each solution again, its first copy right and every other one off."""

from functools import partial
from pathlib import Path

import pytest

from grader.author.chapter_files import functions
from grader.exercise.exercises import Catalogue
from grader.judge.verdict import Verdict, judge
from grader.see import observe
from grader.see.observation import received
from grader.see.observe import Target
from minipod import forked

ROOT = Path(__file__).resolve().parents[2]
# Those of which some array of the result has copies, by chapter.
COPIES = {
    "ch02_pmap": ("train_step", "masked_mean"),
    "ch03_sharding": ("spec_for_picture", "pad_and_slice"),
    "ch04_jit": ("quiet_product", "known_to_all", "two_steps_in_place"),
    "ch05_constraints": ("dense",),
    "ch06_shard_map": ("block_sums", "mean_and_variance", "first_largest"),
    "ch07_collectives": ("ring_all_reduce",),
    "ch08_three_ways": ("mlp_by_constraints", "mlp_by_hand", "mlp_explicit"),
    "ch09_training": ("dropout_step", "shard_to_fit", "gated_mlp", "accumulated_gradient"),
}
DRIFT = """

def _drift(function):
    import functools

    import jax
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

    def traced(x, mesh):
        def body(block):
            rank = sum(jax.lax.axis_index(name) for name in mesh.axis_names)
            return block + (rank > 0).astype(block.dtype)

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
            parts.append(jax.device_put(shard.data + 1, shard.device) if block in seen else shard.data)
            seen.add(block)
        return jax.make_array_from_single_device_arrays(x.shape, x.sharding, parts)

    @functools.wraps(function)
    def drifting(*args):
        mesh = next((arg for arg in args if isinstance(arg, Mesh)), None) or jax.make_mesh((8,), ("all",))
        return jax.tree.map(lambda x: drifted(x, mesh), function(*args))

    return drifting


NAME = _drift(NAME)
"""


def seen(spec, path: Path, source: str | None = None):
    """What the exercise's function does in a child."""
    look = partial(observe.encoded, spec, 1, Target(path, [spec.name], source))
    return [received(r) for r in forked.wait(forked.start(look, spec.processes, spec.devices, 120.0, 4.0))]


def test_no_exercise_with_copies_is_left_out():
    listed = {f"{chapter}.{name}" for chapter, names in COPIES.items() for name in names}
    assert all(set(names) <= set(functions(ROOT / "lessons" / c / "exercises.py")) for c, names in COPIES.items())
    assert len(listed) == 19


@pytest.mark.parametrize("chapter", COPIES)
def test_copies_that_drift_apart_are_not_right(chapter):
    catalogue, path = Catalogue(ROOT / "lessons", chapter), ROOT / "solutions" / f"{chapter}.py"
    for name in COPIES[chapter]:
        spec = catalogue.spec(f"{chapter}.{name}")
        right = [result.cases(name) for result in seen(spec, path)]
        answer = seen(spec, path, path.read_text() + DRIFT.replace("NAME", name))
        verdict = judge(spec, Verdict(spec.exercise, ""), right, answer, name)
        assert verdict.outcome == "wrong", spec.exercise
        assert verdict.difference and verdict.difference.kind == "copies", (spec.exercise, verdict.failure)
