"""What a page says in passing and no cell of it shows: each test names its chapter."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import NamedSharding, P
from jax.ad_checkpoint import print_saved_residuals
from jax.lax import with_sharding_constraint
from small_meshes import mesh_of

from lessons.ch01_devices.in_time import in_time, spans
from minipod import traffic
from minipod.pods import recorded
from minipod.traffic.interconnects import LINKS

ROOT = Path(__file__).resolve().parents[2]


def test_padding_with_nan_leaves_a_masked_sum_alone_and_spoils_its_gradient():
    """Chapter 11, of the mean with a mask."""
    x = np.ones((4, 4), np.float32)
    x[3] = np.nan
    mask = np.arange(4) < 3

    def loss(w):
        return jnp.sum((x[:, :3] @ w - x[:, 3]) ** 2, where=mask)

    value, gradient = jax.value_and_grad(loss)(jnp.float32([1, -2, 3]))
    assert value == 3 and np.isnan(gradient).all()


def test_rows_that_nobody_asked_to_cut_are_computed_whole_by_each_device():
    """Chapter 5, of the seventeen rows without a constraint."""
    program = jax.jit(lambda x, w: jnp.exp(2 * x @ w).sum()).lower(jnp.zeros((17, 256)), jnp.ones((256, 512)))
    assert round(program.compile().cost_analysis()["flops"] / (2 * 256 * 512)) == 17


def test_what_is_left_of_an_uneven_result_depends_on_the_version():
    """Chapter 5, of twelve rows that are returned, and of six over the second axis."""
    mesh = mesh_of(x=2, y=4)

    def returned(rows, spec, **options):
        on = NamedSharding(mesh, spec)
        function = jax.jit(lambda x: with_sharding_constraint(2 * x, on), **options)
        return function(jnp.ones((rows, 4))).sharding

    halves = {"out_shardings": NamedSharding(mesh, P("x"))}
    assert returned(12, P(("x", "y")), **halves).spec == returned(6, P("y"), **halves).spec == P("x")
    if jax.__version_info__ < (0, 11):
        assert returned(12, P(("x", "y"))).spec == P("x")
        return
    with pytest.raises(ValueError, match="is not div"):
        returned(12, P(("x", "y")))
    assert not hasattr(returned(6, P("y")), "spec")


def test_the_peak_that_the_cpu_compiler_tells_leaves_the_temporaries_out():
    """Chapter 9, where it donates."""
    step = jax.jit(lambda w: w - jax.grad(lambda w: jnp.sum(jnp.sin(jnp.sin(w @ w) @ w)))(w))
    memory = step.lower(jnp.ones((256, 256))).compile().memory_analysis()
    beside = memory.argument_size_in_bytes + memory.output_size_in_bytes
    assert memory.temp_size_in_bytes >= 256 * 256 * 4
    assert memory.peak_memory_in_bytes < beside + memory.temp_size_in_bytes


@pytest.fixture
def x() -> jax.Array:
    return jax.device_put(jnp.ones((64, 64)), NamedSharding(jax.make_mesh((8,), ("data",)), P("data")))


def test_a_donated_array_may_be_taken_over_by_another_dtype_or_layout_of_its_size(x):
    """Chapter 4, where it donates."""
    for function, spec in ((lambda x: (x > 0).astype(jnp.int32), P("data")), (lambda x: 2 * x, P(None, "data"))):
        step = (
            jax.jit(function, donate_argnums=0, out_shardings=NamedSharding(x.sharding.mesh, spec)).lower(x).compile()
        )
        assert step.memory_analysis().alias_size_in_bytes == x.nbytes / 8


def test_device_put_moves_between_memories_inside_a_function(x):
    """Chapter 5, of the three verbs."""
    to_host = jax.jit(lambda x: jax.device_put(2 * x, jax.memory.Space.Host))
    assert to_host(x).sharding.memory_kind == "pinned_host"


def test_only_indexing_asks_where_a_part_of_a_cut_dimension_shall_lie(x):
    """Chapter 3, of seventeen rows that were padded."""
    with pytest.raises(Exception, match="out_sharding"):
        x[:16]
    assert jax.typeof(jax.lax.slice(x, (0, 0), (16, 64))).sharding.spec == P("data", None)


@pytest.mark.parametrize(
    ("host", "device", "steps", "one_by_one", "queued"), [(1, 2, 4, 12, 9), (3, 1, 4, 16, 13), (2, 2, 5, 20, 12)]
)
def test_only_the_longer_half_of_a_step_counts_when_steps_are_queued(host, device, steps, one_by_one, queued):
    """Chapter 1, of its picture."""
    for wait, whole in ((True, one_by_one), (False, queued)):
        found = spans(host, device, steps, wait)
        assert max(span["end"] for span in found) == whole
        for lane in ("host", "device"):
            own = [span for span in found if span["lane"] == lane]
            assert [span["step"] for span in own] == list(range(1, steps + 1))
            assert all(a["end"] <= b["start"] for a, b in zip(own, own[1:], strict=False))
        for given, worked in zip(found[::2], found[1::2], strict=True):
            assert given["end"] <= worked["start"]
    assert f"= {one_by_one}<" in (svg := in_time(host, device, steps).svg) and f"= {queued}<" in svg
    with pytest.raises(ValueError, match="9 steps of 1 and 2 units cannot be drawn: 2 to 8 steps"):
        in_time(1, 2, 9)


def of_old(primitive, *_, **__):
    """A policy that names what it knew before, and not `reshard`."""
    return not primitive.name.startswith(("all_gather", "sharding_constraint"))


@pytest.mark.parametrize("kept_whole", [False, True])
def test_a_weight_made_whole_by_reshard_is_kept_only_by_a_policy_that_does_not_name_it(lesson, capsys, kept_whole):
    """Chapter 9, of what is kept."""
    policy = of_old if kept_whole else lesson("ch09_training", "model").not_whole

    def layer(x, w):
        return jnp.tanh(x @ jax.sharding.reshard(w, P()))

    with jax.set_mesh(jax.make_mesh((8,), ("data",))):  # Explicit axes
        x, w = (jax.device_put(jnp.ones(shape), P("data")) for shape in ((16, 64), (64, 24)))
        capsys.readouterr()
        print_saved_residuals(jax.checkpoint(layer, policy=policy), x, w)
    found = capsys.readouterr().out
    assert ("f32[64,24]" in found) == kept_whole
    assert kept_whole or ("f32[64@data,24] from the argument" in found and "f32[16@data,24]" in found)  # the pieces are


def test_more_tokens_than_the_cache_has_room_for_are_refused(lesson):
    """Chapter 20's server: before anything is placed or compiled, for in the cache it would be lost in silence."""
    with pytest.raises(ValueError, match="the cache would be full: 9 tokens and room for 8"):
        lesson("ch20_serving", "run").serve(None, None, "sequence", None, np.zeros((1, 9), int), 5, 8)


def test_a_chunk_of_a_prompt_is_written_where_it_begins(lesson, n=4, room=3):
    """Chapter 20, with a cache cut along the sequence: chunks inside one part, over several, and one token."""
    cache = lesson("ch20_serving", "cache")
    mesh = mesh_of(s=n)

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P(None, "s"), P(), P()), out_specs=P(None, "s"))
    def write(held, new, first):
        return cache.write({"k": held, "v": held}, 1, new, new, first, jax.lax.axis_index("s") * room)["v"]

    before = np.arange(2.0 * n * room, dtype=np.float32).reshape(2, -1, 1, 1, 1)
    for length in (1, 2, 7):
        new = -1 - np.arange(length, dtype=np.float32).reshape(1, -1, 1, 1)
        for first in range(n * room - length + 1):
            expected = before.copy()
            expected[1, first : first + length] = new[0][:, None]
            np.testing.assert_array_equal(write(before, new, first), expected)


@pytest.mark.parametrize(
    ("name", "on", "axes", "hops", "with_them", "by_bytes"),
    [
        ("batch_32_2k", "v5e:4x4", {"h": 4, "r": 4}, 12, 2.41, 1.87),
        ("batch_32_2k", "v5e:8x8", {"h": 8, "r": 8}, 28, 5.63, 1.90),
        ("batch_32_2k", "v6e:4x4", {"h": 4, "r": 4}, 12, 2.41, 0.93),
        ("small_batch_32_2k", "v5e:4x4", {"h": 4, "r": 4}, 12, 0.97, 0.38),
    ],
)
def test_a_microsecond_a_hop_decides_how_long_the_network_of_a_step_takes(
    lesson, name, on, axes, hops, with_them, by_bytes
):
    """Chapter 20: without it memory, not the network, bounds 32 sequences on 64 chips."""
    planned = lesson("ch20_serving", "planned")
    plan = planned.planned(name, on, **axes)
    link = LINKS[f"TPU {on.partition(':')[0]}"]
    assert link.latency == 1e-6 and planned.of_network(plan) == pytest.approx([with_them, by_bytes], abs=0.005)
    assert 1e3 * plan.seconds.network == pytest.approx(with_them, abs=0.005)
    assert by_bytes < 1e3 * plan.seconds.memory
    empty = replace(next(c for c in plan.collectives if c.op == "all-reduce"), bytes=0, times=1)
    assert traffic.at_least([empty], link, plan.mesh).seconds == pytest.approx(hops * 1e-6)


@pytest.mark.parametrize(
    ("name", "on", "gib", "copies", "products"),
    [("one", "v5e:4x4", 800 / 1024, 56, 76), ("eight", "v5p:2x2x4", 6.25, 447, 500)],
)
def test_copying_activations_to_the_host_takes_nearly_as_long_as_the_products(name, on, gib, copies, products):
    """Chapter 17: at the 15 GB/s that `minipod.chips` assumes; the size is that of offload_tpu.txt."""
    (plan,) = recorded.plans(ROOT / "lessons/ch17_step", f"{name}_names", on)
    assert plan.chip.host == 1.5e10 and 1e3 * gib * 2**30 / plan.chip.host == pytest.approx(copies, abs=0.5)
    assert 1e3 * plan.seconds.compute == pytest.approx(products, abs=0.5)
