"""Programs compiled for slices that are not here: needs libtpu and flatbuffers, the extra `pods`."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import pod_programs
import psutil
import pytest
from jax import P
from jax.sharding import AxisType

from minipod import pods
from minipod.hlo import text
from minipod.pods import compiler
from minipod.pods.bounds import estimate

pytestmark = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
GIB = 2**30


@cache
def planned(name, on="v5e:2x4", **axes):
    function, arguments = getattr(pod_programs, name)(pods.mesh(on, **axes or {"data": 8}))
    return pods.compile(function, *arguments)


@pytest.fixture(scope="module", autouse=True)
def warm():
    with pods.warm():
        yield


def test_a_plan_has_what_the_program_must_have_and_the_json_has_the_keys_that_it_promises():
    product = planned("product")
    assert product.fits and not product.recorded and product.silent is None
    assert product.memory["arguments"] == 2 * 4096 // 8 * (512 + 1024)
    assert product.flops == {"bf16": 2 * 512 * 4096 // 8 * 1024}
    assert [(c.op, c.axes) for c in product.collectives] == [("all-reduce", ("data",))]
    sent = 2 * 7 / 8 * product.collectives[0].bytes
    assert product.sent == {"data": sent} and product.seconds.network == pytest.approx(sent / 9e10)
    assert product.seconds.compute == pytest.approx(2 * 512 * 512 * 1024 / 1.97e14)
    assert product.text.startswith("HloModule jit_step")
    data = json.loads(json.dumps(product.data()))
    assert [*data] == ["fits", "memory", "flops", "sent", "seconds", "at_least", "estimate", "bound"]
    assert [*data["memory"]] == ["arguments", "outputs", "temporaries", "limit"]
    assert [*data["seconds"]] == ["compute", "memory", "network"]
    assert data["bound"] == max(data["seconds"], key=data["seconds"].get)


def test_it_is_what_jax_compiles_in_its_own_way():
    """The detour over jax.export and the child changes nothing."""
    names = ("product", "donated", "softmax")
    script = Path(pod_programs.__file__).with_name("compiled_by_jax.py")
    asked = [f"{pod_programs.__file__}:{name}" for name in names]
    command = [sys.executable, script, "v5e:2x4", "data=8", *asked]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600, check=True)
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        plan, theirs = planned(name), json.loads(line)
        ours = {"argument": "arguments", "temp": "temporaries", "alias": "aliased"}
        assert {kind: plan.memory[key] for kind, key in ours.items()} == theirs["memory"]
        if name == "product":  # there is no loop, which XLA's own analysis would count once
            assert sum(plan.flops.values()) == pytest.approx(theirs["flops"], rel=0.01)
        if name == "softmax":
            assert plan.flops == {} and plan.moved == pytest.approx(theirs["moved"], rel=0.01)


def test_what_does_not_fit_has_the_compilers_own_words_and_figures():
    plan = planned("too_large", "v5e:2x2", data=4)
    assert not plan.fits and "exceeds available HBM (15.75G)" in plan.full
    assert plan.memory["limit"] == 15.75 * GIB and plan.memory["peak"] >= 40 * GIB
    assert plan.memory["arguments"] == 40 * GIB and plan.bound is None and plan.sent is None
    assert "Ran out of memory" in str(plan)


@pytest.mark.long
@pytest.mark.parametrize("name", ["v4:2x2x1", "v5p:2x2x1", "v6e:2x2", "7x:2x2x1"])
def test_the_limit_is_the_one_that_the_compiler_names(name):
    found = pods.slice_of(name)
    plan = planned("too_large_anywhere", name, data=found.devices)
    assert not plan.fits and plan.memory["limit"] == pytest.approx(found.generation.limit * GIB, rel=1e-3)


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


def test_several_are_compiled_at_once():
    found = pods.search(pod_programs.product, "v5e:4x4", pods.layouts("v5e:4x4", "data", "model"), at_once=2)
    assert [dict(p.mesh.shape)["data"] for p in found] == [16, 4, 1]
    assert [p.memory["arguments"] for p in found] == [2 * 4096 // n * 1536 for n in (16, 4, 1)]
    assert found[2].seconds.network == 0  # alone along "data"


@pytest.mark.parametrize(
    "program, kind, said",
    [
        ("no_form", RuntimeError, "eigvals (does not compile|cannot be exported) for v5e:2x2: .*eig"),
        ("calls_back", RuntimeError, r"callbacks to Python, such as jax.debug.print: .* to minipod plan"),
        ("here", ValueError, "the arguments' mesh is not a slice's: make it with minipod.pods.mesh"),
        ("two_meshes", ValueError, "the arguments lie on different meshes"),
    ],
)
def test_what_cannot_be_compiled_is_answered_in_one_sentence(program, kind, said):
    with pytest.raises(kind, match=said) as caught:
        planned(program, "v5e:2x2", data=4)
    assert "\n" not in str(caught.value)


def test_a_libtpu_that_another_process_holds_is_named():
    said = 'ABORTED: Internal error when accessing libtpu multi-process lockfile. Run "$ sudo rm /tmp/libtpu_lockfile".'
    assert compiler._death(1, said, None).startswith("libtpu cannot lock /tmp/libtpu_lockfile: end the process")


def test_a_warm_compiler_compiles_one_program_after_the_other_and_leaves_nothing(capfd):
    def compilers():
        children = psutil.Process().children()
        return {p.pid for p in children if "minipod.pods.compile_process" in " ".join(p.cmdline())}

    before = compilers()
    with pods.warm():
        (pid,) = compilers() - before
        for devices in (4, 2):
            planned("product", "v5e:2x2", data=devices, model=4 // devices)
            assert compilers() - before == {pid}
    assert compilers() == before and capfd.readouterr() == ("", "")


def test_an_estimate_lies_between_the_longest_of_the_three_and_their_sum_and_fetches_hide_sums():
    """By hand: 4 × 2 × 2048 × 1024 weights of 2 bytes a device, 41.0 µs at 819 GB/s; four sums, that hold the core."""
    mesh = pods.mesh("v5e:2x4", d=8)

    def step(x, weights):  # products of few rows: the weights are fetched ahead
        for up, down in weights:
            x = x + jnp.tanh(x @ up) @ down
        return x

    shapes = pod_programs.array(mesh, (2048, 8192), None, "d"), pod_programs.array(mesh, (8192, 2048), "d")
    plan = pods.compile(step, pod_programs.array(mesh, (16, 2048)), [shapes] * 4)
    one, said = estimate(text.parse(plan.text), plan.chip, mesh), plan.seconds
    assert (one.compute, one.memory, one.network) == pytest.approx((said.compute, said.memory, said.network))
    assert said.least * (1 - 1e-9) <= one.seconds <= said.most * (1 + 1e-9)
    assert one.memory == pytest.approx(33_554_432 / 8.19e11, rel=0.02)
    assert len(plan.collectives) == 4 and plan.overlaps == () and one.network == pytest.approx(one.for_network)
    assert one.seconds - one.memory < 0.4 * one.network  # most of the sums' time has passed under fetches


@pytest.mark.skipif(bool(compiler.missing("cuda")), reason="jax-cuda13-plugin is not installed (143 MB)")
def test_eight_gpus_that_are_not_here():
    with pods.warm("cuda"):
        plan, large = planned("product", "h100:8", data=8), planned("too_large", "h100:8", data=8)
    assert plan.fits and sum(plan.flops.values()) == 2 * 512 * 4096 // 8 * 1024
    assert plan.memory["arguments"] == 2 * 4096 // 8 * (512 + 1024)
    assert [(c.op, c.axes) for c in plan.collectives] == [("all-reduce", ("data",))]
    assert plan.seconds.network >= 6.6e-6 + 14 * 0.6e-6
    assert not large.fits and large.memory["limit"] == 84942979072 and "GiB at once, but has" in large.full


def test_two_devices_on_a_chip_have_no_time_for_the_network():
    """A 7x has two devices on a chip, which share its links; of most programs libtpu 0.0.52 has no text for it."""
    plan = planned("product", "7x:2x2x1", data=8)
    assert plan.fits and plan.seconds.network is None
    assert any("share a chip and its links" in why or "cannot print this program" in why for why in plan.seconds.why)
