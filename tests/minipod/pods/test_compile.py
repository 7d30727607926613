"""Programs compiled for slices that are not here: needs libtpu and flatbuffers, the extra `pods`."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import jax
import jax.numpy as jnp
import pod_programs
import pytest
from jax import NamedSharding, P
from jax.sharding import AxisType

from minipod import pods
from minipod.hlo import text, work
from minipod.pods import compiler, facts, making

needs_libtpu = pytest.mark.skipif(
    bool(compiler.missing("tpu")),
    reason="libtpu and flatbuffers are not installed: pip install libtpu flatbuffers (214 MB)",
)
pytestmark = needs_libtpu
GIB = 2**30
# The same program, compiled in a process of its own by JAX's own way, with the real devices of the topology.
DIRECTLY = """
import json, os, sys
os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
import jax, numpy as np
from jax.experimental import topologies
import pod_programs
name, on, order, axes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
there = {d.id: d for d in topologies.get_topology_desc(platform="tpu", topology_name=on).devices}
mesh = jax.sharding.Mesh(np.array([there[i] for i in order]).reshape([*axes.values()]), tuple(axes))
function, arguments = getattr(pod_programs, name)(mesh)
compiled = (function if hasattr(function, "lower") else jax.jit(function)).lower(*arguments).compile()
stats = compiled.memory_analysis()
coords = {i: list(d.coords) for i, d in there.items()}
print(json.dumps([stats.argument_size_in_bytes, stats.temp_size_in_bytes, stats.alias_size_in_bytes,
                  stats.peak_memory_in_bytes, compiled.cost_analysis()["flops"],
                  compiled.cost_analysis()["bytes accessed"], coords]))
"""


@pytest.fixture(scope="module")
def product():
    return pods.compile(*flat(pod_programs.product(pods.mesh("v5e:2x4", data=8))))


def flat(program):
    function, arguments = program
    return function, *arguments


def test_a_plan_has_what_the_program_must_have(product):
    assert product.fits and not product.recorded and product.silent is None
    assert product.memory["arguments"] == 2 * 4096 // 8 * (512 + 1024)
    assert product.flops == {"bf16": 2 * 512 * 4096 // 8 * 1024}
    assert [(c.op, c.axes) for c in product.collectives] == [("all-reduce", ("data",))]
    sent = 2 * 7 / 8 * product.collectives[0].bytes
    assert product.sent == {"data": sent} and product.seconds.network == pytest.approx(sent / 9e10)
    assert product.seconds.compute == pytest.approx(2 * 512 * 512 * 1024 / 1.97e14)
    assert product.text.startswith("HloModule jit_step")


def test_the_json_has_the_keys_that_it_promises(product):
    data = json.loads(json.dumps(product.data()))
    assert [*data] == ["fits", "memory", "flops", "sent", "seconds", "at_least", "estimate", "bound"]
    assert [*data["memory"]] == ["arguments", "outputs", "temporaries", "limit"]
    assert [*data["seconds"]] == ["compute", "memory", "network"]
    assert data["bound"] == max(data["seconds"], key=data["seconds"].get)


@pytest.mark.parametrize("name", ["product", "donated", "softmax"])
def test_it_is_what_jax_compiles_in_its_own_way(name):
    """The detour over jax.export and the child changes nothing; and the devices are where libtpu has them."""
    mesh = pods.mesh("v5e:2x4", data=8)
    plan = pods.compile(*flat(getattr(pod_programs, name)(mesh)))
    order = [d.id for d in mesh.devices.flat]
    command = [sys.executable, "-c", DIRECTLY, name, "v5e:2x4", json.dumps(order), json.dumps(dict(mesh.shape))]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stderr
    *memory, flops, moved, coords = json.loads(done.stdout)
    assert memory == [plan.memory[key] for key in ("arguments", "temporaries", "aliased", "peak")]
    if name == "product":  # there is no loop, which XLA's own analysis would count once
        assert sum(plan.flops.values()) == pytest.approx(flops, rel=0.01)
    if name == "softmax":
        assert plan.flops == {} and plan.moved == pytest.approx(moved, rel=0.01)
    assert coords == {str(d.id): list(d.coords) for d in mesh.devices.flat}


def test_what_is_donated_takes_no_place_twice():
    plan = pods.compile(*flat(pod_programs.donated(pods.mesh("v6e:2x2", data=4))))
    each = 2 * 4096 * 4096 // 4
    assert plan.memory["aliased"] == each and plan.memory["arguments"] == 2 * each
    assert plan.memory["peak"] < 2.5 * each


def test_what_does_not_fit_has_the_compilers_own_words_and_figures():
    plan = pods.compile(*flat(pod_programs.too_large(pods.mesh("v5e:2x2", data=4))))
    assert not plan.fits and "exceeds available HBM (15.75G)" in plan.full
    assert plan.memory["limit"] == 15.75 * GIB and plan.memory["peak"] >= 40 * GIB
    assert plan.memory["arguments"] == 40 * GIB and plan.bound is None and plan.sent is None
    assert "Ran out of memory" in str(plan)


@pytest.mark.parametrize("name", ["v4:2x2x1", "v5p:2x2x1", "v6e:2x2", "7x:2x2x1"])
def test_the_limit_is_the_one_that_the_compiler_names(name):
    found = pods.slice_of(name)
    plan = pods.compile(*flat(pod_programs.too_large_anywhere(pods.mesh(name, data=found.devices))))
    assert not plan.fits and plan.memory["limit"] == pytest.approx(found.generation.limit * GIB, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("name", ["v4:8x8x8", "v5p:8x8x8", "v6e:16x16", "v5e:16x16", "7x:4x8x8"])
def test_the_largest_slices_compile(name):
    devices = pods.slice_of(name).devices
    plan = pods.compile(*flat(pod_programs.product(pods.mesh(name, data=devices))))
    assert plan.fits and plan.memory["arguments"] == 2 * 4096 // devices * (512 + 1024)


def test_axes_may_be_explicit():
    mesh = pods.mesh("v5e:2x4", (AxisType.Explicit,) * 2, data=2, model=4)

    def layer(x, w):
        return jnp.einsum("bd,df->bf", x, w, out_sharding=P("data", "model"))

    with jax.set_mesh(mesh):
        args = pod_programs.array(mesh, (256, 512), "data"), pod_programs.array(mesh, (512, 1024), None, "model")
        plan = pods.compile(layer, *args)
    assert plan.flops == {"bf16": 2 * 128 * 512 * 256} and plan.sent == {"data": 0, "model": 0}


def test_a_ragged_all_to_all_is_compiled_though_export_calls_it_incompatible():
    mesh = pods.mesh("v5e:2x4", x=8)

    def swapped(rows, out, sizes):
        here = jnp.cumsum(sizes) - sizes
        there = jax.lax.axis_index("x") * sizes
        return jax.lax.ragged_all_to_all(rows, out, here, sizes, there, sizes, axis_name="x")

    mapped = jax.shard_map(swapped, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    rows = pod_programs.array(mesh, (8 * 64, 128), "x", dtype=jnp.float32)
    plan = pods.compile(mapped, rows, rows, pod_programs.array(mesh, (64,), "x", dtype=jnp.int32))
    assert [(c.op, c.bytes) for c in plan.collectives] == [("ragged-all-to-all", 64 * 128 * 4)]


def test_a_loop_of_unknown_length_counts_once_and_its_facts_say_so():
    mesh = pods.mesh("v5e:2x2", data=4)
    arg = pod_programs.array(mesh, (64, 64), "data")
    plan = pods.compile(lambda x: jax.lax.while_loop(lambda x: x.sum() < 10, lambda x: x @ x, x), arg)
    assert plan.fits and sum(plan.flops.values()) == 2 * 64 // 4 * 64 * 64
    assert all(c.times is not None for c in plan.collectives)
    assert facts.read(text.parse(plan.text), {"data": 4})["loops"] == {"once": 1}


def test_several_are_compiled_at_once():
    started = time.monotonic()
    found = pods.search(pod_programs.product, "v5e:4x4", pods.layouts("v5e:4x4", "data", "model"), at_once=2)
    assert [dict(p.mesh.shape)["data"] for p in found] == [16, 4, 1]
    assert [p.memory["arguments"] for p in found] == [2 * 4096 // n * 1536 for n in (16, 4, 1)]
    assert time.monotonic() - started < 60
    assert found[2].seconds.network == 0  # alone along "data"


@pytest.mark.parametrize(
    "program, kind, said",
    [
        ("no_form", RuntimeError, "eigvals does not compile for v5e:2x2: .*eig"),
        ("calls_back", RuntimeError, r"calls Python back \(jax.debug.print, .* to minipod plan"),
        ("no_sharding", ValueError, r"no argument has a NamedSharding, .* give one a jax.ShapeDtypeStruct\("),
        ("here", ValueError, "the arguments lie on devices of this machine: make their mesh with minipod.pods.mesh"),
        ("two_meshes", ValueError, "the arguments lie on different meshes"),
    ],
)
def test_what_cannot_be_compiled_is_answered_in_one_sentence(program, kind, said):
    with pytest.raises(kind, match=said) as caught:
        pods.compile(*flat(getattr(pod_programs, program)(pods.mesh("v5e:2x2", data=4))))
    assert "\n" not in str(caught.value)


def test_a_name_that_libtpu_aborts_on_ends_the_child_alone():
    """v5e:32x32 passes no check of ours; here it is smuggled in."""
    traced = compiler.trace(*flat(pod_programs.product(pods.mesh("v5e:16x16", data=256))))
    wrong = replace(traced, on=replace(traced.on, name="v5e:32x32"))
    with pytest.raises(RuntimeError, match="the compiler died of step for v5e:32x32|does not compile") as caught:
        making.make(wrong)
    assert "\n" not in str(caught.value)


def test_a_libtpu_that_another_process_holds_is_named(monkeypatch):
    said = 'ABORTED: Internal error when accessing libtpu multi-process lockfile. Run "$ sudo rm /tmp/libtpu_lockfile".'
    assert compiler._death(1, said, None).startswith("another process holds libtpu")


def test_a_warm_compiler_compiles_one_program_after_the_other():
    import psutil

    def compilers():
        return [p.pid for p in psutil.Process().children() if "minipod.pods.compile_process" in " ".join(p.cmdline())]

    with pods.warm():
        (pid,) = compilers()
        for devices in (4, 2):
            pods.compile(*flat(pod_programs.product(pods.mesh("v5e:2x2", data=devices, model=4 // devices))))
            assert compilers() == [pid]
    assert not compilers()


def test_nothing_is_printed_and_nothing_is_left_running(capfd, product):
    import psutil

    pods.compile(*flat(pod_programs.product(pods.mesh("v5e:2x2", data=4))))
    assert capfd.readouterr() == ("", "")
    assert not [p for p in psutil.Process().children() if "minipod.pods.compile_process" in " ".join(p.cmdline())]


def test_a_batched_product_counts_as_written(product):
    """The TPU's compiler writes a batch as a spatial dimension with holes."""
    mesh = pods.mesh("v5e:2x2", data=4)
    args = [
        jax.ShapeDtypeStruct(s, jnp.bfloat16, sharding=NamedSharding(mesh, P("data"))) for s in ((32, 64, 128),) * 2
    ]
    plan = pods.compile(lambda a, b: jnp.einsum("bqd,bkd->bqk", a, b), *args)
    assert plan.flops == {"bf16": 2 * 32 // 4 * 64 * 64 * 128}
    assert work.work(text.parse(plan.text)).moved == plan.moved


@pytest.mark.skipif(bool(compiler.missing("cuda")), reason="jax-cuda13-plugin is not installed (143 MB)")
def test_eight_gpus_that_are_not_here():
    plan = pods.compile(*flat(pod_programs.product(pods.mesh("h100:8", data=8))))
    assert plan.fits and sum(plan.flops.values()) == 2 * 512 * 4096 // 8 * 1024
    assert plan.memory["arguments"] == 2 * 4096 // 8 * (512 + 1024)
    assert [(c.op, c.axes) for c in plan.collectives] == [("all-reduce", ("data",))]
    assert plan.seconds.network >= 6.6e-6 + 14 * 0.6e-6
    large = pods.compile(*flat(pod_programs.too_large(pods.mesh("h100:8", data=8))))
    assert not large.fits and large.memory["limit"] == 84942979072 and "GiB are needed at once" in large.full


def test_two_devices_on_a_chip_have_no_time_for_the_network():
    """A 7x has two devices on a chip, which share its links; of most programs libtpu 0.0.52 has no text for it."""
    plan = pods.compile(*flat(pod_programs.product(pods.mesh("7x:2x2x1", data=8))))
    assert plan.fits and plan.seconds.network is None
    assert any("share its links, too" in why or "cannot print this program" in why for why in plan.seconds.why)
