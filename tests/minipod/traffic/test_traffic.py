"""What live programs send, on this machine's simulated devices: figures worked out from the shapes by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import pods, traffic
from minipod.devices import simulate

simulate(8)


def mesh(shape=(8,), names=("x",), kind=AxisType.Auto):
    devices = jax.devices()[: int(np.prod(shape))]
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(shape), devices=devices)


def seen(collectives):
    return [(c.op, c.axes, c.bytes, c.times) for c in collectives]


ALONG_X = P("x")


def mapped(f, on=None, in_specs: Any = ALONG_X, out_specs: Any = ALONG_X):
    return jax.shard_map(f, mesh=on or mesh(), in_specs=in_specs, out_specs=out_specs, check_vma=False)


# The layer of the source «Distributed arrays and automatic parallelization», written in three ways.


def layer(x, w, b):
    return jax.nn.sigmoid(x @ w + b)


def by_jit(on):
    return layer, (P("x"), P("x", None), P())


def by_constraint(on):
    keep = NamedSharding(on, P("x"))
    constrain = jax.lax.with_sharding_constraint
    return lambda x, w, b: layer(constrain(x, keep), constrain(w, keep), b), (P(), P(), P())


def by_shard_map(on):
    specs = (P("x"), P("x", None), P())
    return mapped(lambda x, w, b: jax.nn.sigmoid(lax.psum(x @ w, "x") + b), on, specs, P()), specs


@pytest.mark.parametrize("way", [by_jit, by_constraint, by_shard_map])
def test_a_layer_written_in_three_ways_sends_one_all_reduce_of_16_bytes(way):
    on = mesh()
    function, specs = way(on)
    args = [jnp.ones(shape) for shape in ((32,), (32, 4), (4,))]
    placed = [jax.device_put(a, NamedSharding(on, s)) for a, s in zip(args, specs, strict=True)]
    collectives = traffic.of(function, *placed)
    assert seen(collectives) == [("all-reduce", ("x",), 16, 1)]
    assert collectives[0].sent == traffic.total(collectives) == 28  # 2 × 7/8 × 16


def test_a_ring_in_a_loop_has_the_same_total_and_table_as_the_unrolled_one():
    ring = [(i, (i + 1) % 8) for i in range(8)]

    def once(_, carry):
        total, y = carry
        y = lax.ppermute(y, "x", ring)
        return total + y, y

    def unrolled(x):
        carry = x, x
        for _ in range(7):
            carry = once(_, carry)
        return carry[0]

    x = jnp.ones(8 * 64)  # 64 f32 a device: 256 bytes, 7 times
    loop = traffic.of(mapped(lambda x: lax.fori_loop(0, 7, once, (x, x))[0]), x)
    flat = traffic.of(mapped(unrolled), x)
    assert traffic.total(loop) == traffic.total(flat) == 7 * 256
    assert [len(loop), len(flat)] == [1, 7]
    assert str(traffic.table(loop)) == str(traffic.table(flat))


def test_times_of_nested_loops_multiply():
    def three(c, _):
        return lax.psum(c, "x") * 0.1, None

    def five(c, _):
        return lax.scan(three, c, None, length=3)[0], None

    nested = mapped(lambda x: lax.scan(five, x, None, length=5)[0])
    assert seen(traffic.of(nested, jnp.ones(80))) == [("all-reduce", ("x",), 40, 15)]


def test_a_loop_of_unknown_length_has_no_total():
    until = mapped(lambda x: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: lax.psum(c, "x"), x))
    collectives = traffic.of(until, jnp.ones(80))
    assert seen(collectives) == [("all-reduce", ("x",), 40, None)]
    assert collectives[0].sent is None
    with pytest.raises(ValueError, match="40 bytes runs an unknown .* a budget over it cannot be checked"):
        traffic.total(collectives)
    assert str(traffic.table(collectives)).endswith("?")


def test_a_loop_whose_counter_is_tested_in_eight_bits_is_not_taken_for_one_that_runs_once():
    """It runs 200 times: 257, 514, … are 1, 2, … in eight bits."""

    def block(x):
        turn = lambda s: (s[0] + 257, lax.psum(x + 0 * s[0].astype(x.dtype), "x"))  # noqa: E731
        return lax.while_loop(lambda s: s[0].astype(jnp.uint8) < 200, turn, (jnp.int32(0), x))[1]

    collectives = traffic.of(mapped(block), jnp.ones(64))
    assert seen(collectives) == [("all-reduce", ("x",), 32, None)]
    with pytest.raises(ValueError, match="32 bytes runs an unknown number of times"):
        traffic.total(collectives)


def test_branches_are_alternatives_and_the_costliest_counts():
    def either(flag, x):
        return lax.cond(flag[0], lambda v: lax.psum(v, "x"), lambda v: v + lax.psum(v[:5], "x").sum(), x)

    collectives = traffic.of(mapped(either, in_specs=(P(), P("x"))), np.array([True]), jnp.ones(80))
    assert sorted(c.bytes for c in collectives) == [20, 40]
    assert traffic.total(collectives) == 70  # 2 × 7/8 × 40


def test_the_costliest_branch_is_the_one_that_sends_most_not_the_one_with_the_largest_array():
    whole = traffic.Collective("all-gather", (tuple(range(8)),), 1600, branch=((0, 0),))  # sends 1400
    summed = traffic.Collective("all-reduce", (tuple(range(8)),), 1000, branch=((0, 1),))  # sends 1750
    assert traffic.total([whole, summed]) == 1750


def test_the_gradients_of_a_data_parallel_step_are_summed_once():
    def loss(p, x):
        return ((jnp.tanh(x @ p["a"]) @ p["b"]) ** 2).mean()

    on = mesh()
    p = {"a": jnp.ones((16, 32)), "b": jnp.ones((32, 4))}
    x = jax.device_put(jnp.ones((64, 16)), NamedSharding(on, P("x")))
    p = jax.device_put(p, NamedSharding(on, P()))
    collectives = traffic.of(jax.grad(loss), p, x)
    assert {c.op for c in collectives} == {"all-reduce"}
    assert traffic.total(collectives) == 7 * (16 * 32 + 32 * 4)  # 2 × 7/8 × 4 bytes each


def test_axes_are_those_of_the_mesh_in_its_order():
    cube = mesh((2, 2, 2), ("a", "b", "c"))
    for axes in [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("c", "a"), ("a", "b", "c")]:
        left = tuple(n for n in ("a", "b", "c") if n not in axes)
        f = mapped(lambda x, axes=axes: lax.psum(x, axes), cube, P("a", "b", "c"), P(*left))
        (c,) = traffic.of(f, jnp.ones((4, 4, 4)))
        assert c.axes == tuple(sorted(axes))
        assert c.bytes == 4 * 4 * 4 * 4 // 8


def test_groups_within_an_axis_are_no_axis():
    halves = [[0, 1, 2, 3], [4, 5, 6, 7]]
    (c,) = traffic.of(mapped(lambda x: lax.psum(x, "x", axis_index_groups=halves)), jnp.ones(8))
    assert c.groups == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert c.axes is None


@pytest.mark.parametrize(
    "collective, op, bytes, sent",
    [
        (lambda x: lax.all_gather(x, "x"), "all-gather", 8 * 64 * 4, 7 * 64 * 4),
        (lambda x: lax.psum_scatter(x, "x", tiled=True), "reduce-scatter", 64 * 4, 7 * 8 * 4),
        (lambda x: lax.all_to_all(x, "x", 0, 0, tiled=True), "all-to-all", 64 * 4, 7 * 8 * 4),
        (lambda x: lax.ppermute(x, "x", [(0, 3)]), "collective-permute", 64 * 4, 64 * 4),
        (lambda x: lax.psum(x, "x"), "all-reduce", 64 * 4, 2 * 7 * 8 * 4),
    ],
)
def test_every_collective_of_lax_has_its_bytes_and_its_ring_cost(collective, op, bytes, sent):
    (c,) = traffic.of(mapped(collective), np.ones(8 * 64, np.float32))
    assert (c.op, c.axes, c.bytes, c.sent) == (op, ("x",), bytes, sent)


def test_numpy_and_uncommitted_arguments_take_the_mesh_from_the_program():
    f = mapped(lambda x: lax.psum(x, "x"))
    for x in (np.ones(8, np.float32), jnp.ones(8)):
        assert seen(traffic.of(f, x)) == [("all-reduce", ("x",), 4, 1)]
        assert seen(traffic.of(jax.jit(f), x)) == [("all-reduce", ("x",), 4, 1)]


def test_explicit_axes_are_read_too():
    x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh(kind=AxisType.Explicit), P("x")))
    assert seen(traffic.of(lambda x: x.sum(0), x)) == [("all-reduce", ("x",), 16, 1)]


def test_pmap_is_read_too():
    f = jax.pmap(lambda x: lax.psum(x, "i"), "i")
    assert seen(traffic.of(f, np.ones((8, 3), np.float32))) == [("all-reduce", ("i",), 12, 1)]


def test_what_moves_nothing_is_no_collective():
    assert traffic.of(lambda x: x + 1, 3.0) == []
    f = mapped(lambda x: lax.psum(x, "x"))
    assert traffic.of(f, jnp.ones((8, 0))) == []
    assert traffic.of(mapped(lambda x: lax.psum(x, "x"), mesh((1,))), jnp.ones(8)) == []
    flat = mesh((8, 1), ("x", "y"))
    both = mapped(lambda x: (lax.psum(x, ("x", "y")), lax.psum(2 * x, "y")), flat, P("x", "y"), (P(), P("x")))
    assert seen(traffic.of(both, jnp.ones((8, 1)))) == [("all-reduce", ("x",), 4, 1)]


def test_a_mesh_of_another_size_is_refused():
    f = mapped(lambda x: lax.psum(x, "x"))
    with pytest.raises(ValueError, match="has 4 devices, the program was compiled for 8"):
        traffic.of(f, jnp.ones(8), mesh=mesh((4,)))


def test_a_program_that_is_only_lowered_is_refused():
    x = jax.device_put(jnp.ones(8), NamedSharding(mesh(), P("x")))
    lowered = jax.jit(lambda x: x.sum()).lower(x)
    with pytest.raises(ValueError, match="lowered but not compiled"):
        traffic.read(lowered.as_text("hlo"))
    with pytest.raises(ValueError, match="not the whole text of a compiled program"):
        traffic.read(lowered.as_text())


def test_a_table_shows_each_kind_once_in_text_and_html():
    x = jax.device_put(jnp.ones((8, 6)), NamedSharding(mesh(), P("x")))
    shown = traffic.table(traffic.of(lambda x: x.sum(0), x))
    assert [line.split() for line in str(shown).splitlines()] == [
        ["collective", "axes", "bytes", "times", "sent"],
        ["all-reduce", "x", "24", "1", "42"],
        ["each", "device", "sends", "(compiled", "for", "CPU):", "42"],
    ]
    assert '<table class="minipod traffic">' in shown._repr_html_()
    assert '<td>all-reduce</td><td>x</td><td style="text-align: right">24</td>' in shown._repr_html_()
    below = '<th scope="row" colspan="4">each device sends (compiled for CPU)</th><td style="text-align: right">42</td>'
    assert below in shown._repr_html_()


def test_an_empty_table_says_that_nothing_is_sent():
    assert str(traffic.table([])) == "no collective: nothing is sent"
    assert "no collective: nothing is sent" in traffic.table([])._repr_html_()
    alone = traffic.of(lambda x: x + 1, jnp.ones(8))
    assert str(traffic.table(alone)) == "no collective: nothing is sent (compiled for CPU)"


def test_a_table_says_what_the_program_was_compiled_for():
    x = jax.device_put(jnp.ones((8, 6)), NamedSharding(mesh(), P("x")))
    here = jax.jit(lambda x: x.sum(0)).lower(x).compile().as_text() or ""
    tiled = (  # as the TPU's compiler writes it
        "HloModule jit_f, entry_computation_layout={(f32[6]{0:T(128)})->f32[6]{0:T(128)}}, num_partitions=8\n\n"
        "ENTRY %main (p: f32[6]) -> f32[6] {\n"
        "  %p = f32[6]{0:T(128)} parameter(0)\n"
        "  ROOT %all-reduce = f32[6]{0:T(128)} all-reduce(%p), channel_id=1, replica_groups=[1,8]<=[8], "
        "use_global_device_ids=true, to_apply=%add\n"
        "}\n"
    )
    there = pods.mesh("v5e:2x4", x=8)
    bills = {
        "given arrays": (traffic.of(lambda x: x.sum(0), x), "CPU"),
        "given a mesh": (traffic.read(here, mesh()), "CPU"),
        "a mesh of other devices": (traffic.read(here, pods.mesh("h100:8", x=8)), "GPU"),
        "a text that shows it": (traffic.read(tiled, mesh()), "TPU"),
        "a text with its mesh": (traffic.read(tiled, there), "TPU"),
        "a mesh without devices": (traffic.read(here, mesh().abstract_mesh), ""),
        "nothing but a text": (traffic.read(here), ""),
        "a part of it": (traffic.of(lambda x: x.sum(0), x)[:1], ""),
    }
    for name, (bill, kind) in bills.items():
        last = str(traffic.table(bill)).splitlines()[-1]
        assert last == f"each device sends{f' (compiled for {kind})' if kind else ''}: 42", name


def test_what_devices_send_is_exact_and_an_int_where_it_is_whole():
    thirds = [traffic.Collective("all-reduce", ((0, 1, 2),), 4)] * 3  # 16/3 each
    assert traffic.total(thirds) == 16 and isinstance(traffic.total(thirds), int)
    assert traffic.total(thirds[:1]) == traffic.sent("all-reduce", 4, 3) == pytest.approx(16 / 3)
    assert traffic.sent("all-gather", 4, 8) == 3.5
    whole = traffic.sent("all-reduce", 4, 8, times=5)
    assert whole == 35 and isinstance(whole, int)
    assert [line.split()[-1] for line in str(traffic.table(thirds[:1])).splitlines()] == ["sent", "5.3", "5.3"]


@pytest.mark.parametrize("op, devices", [("psum", 8), ("all-reduce", 0)])
def test_what_is_no_collective_of_devices_is_refused(op, devices):
    with pytest.raises(ValueError, match=f"a collective of {devices} devices called '{op}' is not known: all-reduce,"):
        traffic.sent(op, 4, devices)
