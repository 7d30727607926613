"""What live programs send, on this machine's simulated devices: figures worked out from the shapes by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import pods, traffic

ALONG_X = P("x")


def mesh(shape=(8,), names=("x",), kind=AxisType.Auto):
    devices = jax.devices()[: int(np.prod(shape))]
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(shape), devices=devices)


def seen(collectives):
    return [(c.op, c.axes, c.bytes, c.times) for c in collectives]


def mapped(f, on=None, in_specs: Any = ALONG_X, out_specs: Any = ALONG_X):
    return jax.shard_map(f, mesh=on or mesh(), in_specs=in_specs, out_specs=out_specs, check_vma=False)


def total(on=None, axes="x"):
    return mapped(lambda a: lax.psum(a, axes), on, P("x"), P())


def along_x(shape, **more):
    return jax.device_put(jnp.ones(shape), NamedSharding(mesh(**more), P("x")))


def test_a_loop_of_unknown_length_has_traffic_but_neither_total_nor_time():
    until = mapped(lambda x: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: lax.psum(c, "x"), x))
    collectives = traffic.of(until, jnp.ones(80))
    assert seen(collectives) == [("all-reduce", ("x",), 40, None)]
    assert collectives[0].sent is None and str(traffic.table(collectives)).endswith("?")
    with pytest.raises(ValueError, match="40 bytes runs an unknown .* the bytes cannot be added up$"):
        traffic.total(collectives)
    with pytest.raises(ValueError, match="all-reduce of 40 bytes runs an unknown .* its time cannot be estimated"):
        traffic.seconds(collectives, "TPU v4")


def test_axes_of_size_one_move_nothing_and_take_no_time():
    flat = mesh((1, 8), ("x", "y"))
    for axes in ("y", ("x", "y")):
        found = traffic.of(total(flat, axes), jnp.ones(16), mesh=flat)
        assert seen(found) == [("all-reduce", ("y",), 64, 1)]
        assert traffic.seconds(found, "TPU v4", flat) == traffic.seconds(found, "TPU v4")


def test_arguments_that_lie_nowhere_in_particular_take_the_mesh_from_the_program():
    for x in (np.ones(8, np.float32), jnp.ones(8), jax.ShapeDtypeStruct((8,), jnp.float32)):
        for f in (total(), jax.jit(total())):
            assert seen(traffic.of(f, x)) == [("all-reduce", ("x",), 4, 1)]
    found = []

    def loss(x):  # so do tracers
        found.append(seen(traffic.of(total(), x)))
        return x.sum()

    jax.grad(jax.jit(loss))(jnp.ones(8))
    assert found == [[("all-reduce", ("x",), 4, 1)]]
    explicit = along_x((8, 4), kind=AxisType.Explicit)
    assert seen(traffic.of(lambda x: x.sum(0), explicit)) == [("all-reduce", ("x",), 16, 1)]
    f = jax.pmap(lambda x: lax.psum(x, "i"), "i")
    assert seen(traffic.of(f, np.ones((8, 3), np.float32))) == [("all-reduce", ("i",), 12, 1)]


def test_what_moves_nothing_is_no_collective():
    one = mesh((1,))
    alone = traffic.of(total(one), jnp.ones(8), mesh=one)
    assert alone == traffic.of(lambda x: x + 1, 3.0) == traffic.of(total(), along_x((8, 0))) == []
    assert traffic.total(alone) == traffic.seconds(alone, "TPU v5e", one) == 0
    assert str(traffic.table(alone)) == "no collective: nothing is sent (compiled for CPU)"
    assert "no collective: nothing is sent" in traffic.table([])._repr_html_()


def test_what_cannot_be_read_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="incompatible devices"):  # JAX's own, which names them
        traffic.of(total(), jax.device_put(jnp.ones(16), jax.devices()[3]))
    with pytest.raises(ValueError, match="has 4 devices, but the program was compiled for 8"):
        traffic.of(total(), jnp.ones(8), mesh=mesh((4,)))
    nowhere = "^an AbstractMesh has no devices to compile for: call minipod.devices.simulate.*$"
    with pytest.raises(ValueError, match=nowhere):
        traffic.of(total(AbstractMesh((2048,), ("x",), axis_types=(AxisType.Auto,))), jnp.ones(4096))
    lowered = jax.jit(lambda x: x.sum()).lower(along_x(8))
    with pytest.raises(ValueError, match="lowered but not compiled"):
        traffic.read(lowered.as_text("hlo"))
    compiled = lowered.compile()
    with pytest.raises(TypeError, match="^a compiled program takes no arguments here"):
        traffic.of(compiled, jnp.ones(8))
    with pytest.raises(TypeError, match="expected the text of a compiled program, got Compiled"):
        traffic.read(compiled)  # type: ignore[arg-type]


def test_a_table_shows_each_kind_once_in_text_and_html():
    shown = traffic.table(traffic.of(lambda x: x.sum(0), along_x((8, 6))))
    assert [line.split() for line in str(shown).splitlines()] == [
        ["collective", "axes", "bytes", "times", "sent"],
        ["all-reduce", "x", "24", "1", "42"],
        ["each", "device", "sends", "(compiled", "for", "CPU):", "42"],
    ]
    assert '<table class="minipod traffic">' in shown._repr_html_()
    assert '<td>all-reduce</td><td>x</td><td style="text-align: right">24</td>' in shown._repr_html_()
    seven = traffic.Collective("collective-permute", ((0, 1),), 256, times=7, axes=("x",))
    once = traffic.Collective("collective-permute", ((0, 1),), 256, axes=("x",))
    assert str(traffic.table([seven])) == str(traffic.table([once] * 7))  # as in a loop, so beside each other
    below = '<th scope="row" colspan="4">each device sends (compiled for CPU)</th><td style="text-align: right">42</td>'
    assert below in shown._repr_html_()


def test_a_table_says_what_the_program_was_compiled_for():
    x = along_x((8, 6))
    here = jax.jit(lambda x: x.sum(0)).lower(x).compile().as_text() or ""
    tiled = here.replace("f32[6]{0}", "f32[6]{0:T(128)}")  # as the TPU's compiler writes it
    assert tiled != here
    bills = {
        "given arrays": (traffic.of(lambda x: x.sum(0), x), "CPU"),
        "given a mesh": (traffic.read(here, mesh()), "CPU"),
        "a mesh of other devices": (traffic.read(here, pods.mesh("h100:8", x=8)), "GPU"),
        "a text that shows it": (traffic.read(tiled, mesh()), "TPU"),
        "a mesh without devices": (traffic.read(here, mesh().abstract_mesh), ""),
        "nothing but a text": (traffic.read(here), ""),
        "a part of it": (traffic.of(lambda x: x.sum(0), x)[:1], ""),
    }
    for name, (bill, kind) in bills.items():
        last = str(traffic.table(bill)).splitlines()[-1]
        assert last == f"each device sends{f' (compiled for {kind})' if kind else ''}: 42", name
    called = 'ROOT %k = f32[8]{0:T(128)} custom-call(%p), custom_call_target="tpu_custom_call"'
    kernel = f"HloModule k\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n  %p = f32[8]{{0}} parameter(0)\n  {called}\n}}\n"
    assert str(traffic.table(traffic.read(kernel))) == f"{traffic.EMPTY} (compiled for TPU, not counting kernels)"
    library = kernel.replace('"tpu_custom_call"', '"mpi_allreduce", custom_call_has_side_effect=true')
    assert str(traffic.table(traffic.read(library))).endswith("(compiled for TPU, not counting mpi_allreduce)")


def test_what_devices_send_is_exact_and_an_int_where_it_is_whole():
    thirds = [traffic.Collective("all-reduce", ((0, 1, 2),), 4)] * 3  # 16/3 each
    assert traffic.total(thirds) == 16 and isinstance(traffic.total(thirds), int)
    assert traffic.total(thirds[:1]) == traffic.sent("all-reduce", 4, 3) == pytest.approx(16 / 3)
    assert traffic.sent("all-gather", 4, 8) == 3.5 and traffic.sent("collective-broadcast", 12, 3) == 12
    whole = traffic.sent("all-reduce", 4, 8, times=5)
    assert whole == 35 and isinstance(whole, int)
    assert [line.split()[-1] for line in str(traffic.table(thirds[:1])).splitlines()] == ["sent", "5.3", "5.3"]
    # of branches the one that sends most, which has not the largest array: 1400 and 1750
    groups = (tuple(range(8)),)
    whole = traffic.Collective("all-gather", groups, 1600, branch=((0, 0),))
    assert traffic.total([whole, traffic.Collective("all-reduce", groups, 1000, branch=((0, 1),))]) == 1750
    for op, devices, said in (
        ("psum", 8, "no collective is called 'psum': choose from all-"),
        ("all-reduce", 0, "a collective needs at least 1 device, not 0"),
    ):
        with pytest.raises(ValueError, match=said):
            traffic.sent(op, 4, devices)
