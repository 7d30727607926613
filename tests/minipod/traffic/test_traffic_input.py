"""What `minipod.traffic` is given that nobody planned for: a right answer, or one clear sentence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import traffic


def mesh(shape=(8,), names=("x",)):
    devices = jax.devices()[: int(np.prod(shape))]
    return jax.make_mesh(shape, names, axis_types=(AxisType.Auto,) * len(shape), devices=devices)


def total(on, axes="x"):
    return jax.shard_map(lambda a: lax.psum(a, axes), mesh=on, in_specs=P("x"), out_specs=P(), check_vma=False)


def seen(collectives):
    return [(c.op, c.axes, c.bytes, c.times) for c in collectives]


ONE = [("all-reduce", ("x",), 8, 1)]  # 16 f32 over 8 devices


def test_an_array_that_lies_nowhere_in_particular():
    for x in (jnp.ones(16), np.ones(16, np.float32), jax.ShapeDtypeStruct((16,), jnp.float32)):
        assert seen(traffic.of(total(mesh()), x)) == ONE


def test_an_array_on_one_device_is_an_error_of_jax_that_names_the_devices():
    x = jax.device_put(jnp.ones(16), jax.devices()[3])
    with pytest.raises(ValueError, match="incompatible devices"):
        traffic.of(total(mesh()), x)


def test_tracers_inside_jit_and_grad():
    found = []

    def loss(x):
        found.append(seen(traffic.of(total(mesh()), x)))
        return x.sum()

    jax.jit(loss)(jnp.ones(16))
    jax.grad(loss)(jnp.ones(16))
    assert found == [ONE, ONE]


def test_a_mesh_with_one_device_sends_nothing():
    on = mesh((1,))
    found = traffic.of(total(on), jnp.ones(16), mesh=on)
    assert found == []
    assert traffic.total(found) == traffic.seconds(found, "TPU v5e", on) == 0
    assert str(traffic.table(found)) == "no collective: nothing is sent (compiled for CPU)"


@pytest.mark.parametrize("axes", ["y", ("x", "y")])
def test_an_axis_of_size_one_is_none_along_which_anything_moves(axes):
    on = mesh((1, 8), ("x", "y"))
    found = traffic.of(total(on, axes), jnp.ones(16), mesh=on)
    assert seen(found) == [("all-reduce", ("y",), 64, 1)]
    assert traffic.seconds(found, "TPU v4", on) == traffic.seconds(found, "TPU v4")


def test_an_array_without_elements_sends_no_bytes():
    x = jax.device_put(jnp.ones((0, 4)), NamedSharding(mesh(), P("x")))
    assert traffic.total(traffic.of(total(mesh()), x)) == 0


@pytest.mark.devices(1024)
def test_a_thousand_devices():
    on = mesh((16, 64), ("x", "y"))
    summed = jax.shard_map(lambda a: lax.psum(a, "y"), mesh=on, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    (found,) = traffic.of(summed, jax.ShapeDtypeStruct((160_000,), "float32"), mesh=on)
    assert (found.bytes, [*found.axes], len(found.groups), len(found.groups[0])) == (40_000, ["y"], 16, 64)
    assert found.sent == 2 * 63 * 40_000 / 64  # 10,000 f32 on each
    assert traffic.seconds([found], "TPU v4", on) == 2 * 32 * 1e-6  # 32 hops, twice; the bytes alone take 0.9 µs


def test_a_mesh_without_devices_is_answered_in_one_sentence():
    x = jax.ShapeDtypeStruct((4096,), jnp.float32)
    with pytest.raises(ValueError, match="^an AbstractMesh has no devices to compile for: give a Mesh, .*$"):
        traffic.of(total(AbstractMesh((2048,), ("x",), axis_types=(AxisType.Auto,))), x)


def test_a_program_that_is_compiled_already():
    compiled = jax.jit(total(mesh())).lower(jnp.ones(16)).compile()
    with pytest.raises(TypeError, match="^this is compiled already: give minipod.traffic.read its"):
        traffic.of(compiled, jnp.ones(16))
    with pytest.raises(TypeError, match="expected the text of a compiled program, got Compiled"):
        traffic.read(compiled)  # type: ignore[arg-type]
    assert seen(traffic.read(str(compiled.as_text()), mesh())) == ONE


def test_a_loop_of_unknown_length_has_traffic_but_neither_total_nor_time():
    def until(x):
        return lax.while_loop(lambda c: c.sum() < 9.0, lambda c: lax.psum(c, "x"), x)

    found = traffic.of(
        jax.shard_map(until, mesh=mesh(), in_specs=P("x"), out_specs=P("x"), check_vma=False), jnp.ones(16)
    )
    assert seen(found) == [("all-reduce", ("x",), 8, None)]
    for ask in (traffic.total, lambda c: traffic.seconds(c, "TPU v4")):
        with pytest.raises(ValueError, match="runs an unknown number of times"):
            ask(found)
