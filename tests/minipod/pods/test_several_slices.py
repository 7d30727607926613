"""Several slices: what a compiled program sends between them, and how long that takes, worked out by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest
from jax import NamedSharding, P
from jax.sharding import Mesh

from minipod import pods, traffic
from minipod.hlo import between_slices
from minipod.hlo.ops import Collective
from minipod.pods import compiler, rows
from minipod.pods.facts import facts
from minipod.pods.plan import plan
from minipod.traffic import several_slices

SIZE = 2**28
ICI, DCN = 4.5e10, 3.125e9  # v5e, one way: of a link, of a chip's part of its host's network
HEAD = "HloModule jit_f, num_partitions=4\n\nENTRY %main (x: f32[1024]) -> f32[1024] {\n"
SEND = """  %x = f32[1024]{{0:T(1024)}} parameter(0)
  %go = token[] after-all()
  %send = (f32[1024]{{0:T(1024)}}, u32[], token[]) send(%x, %go), channel_id=2, is_host_transfer=true, frontend_attributes={{_xla_host_transfer_handler_name="xla_megascale_runtime",_xla_megascale_target={target},_xla_megascale_transfer_type="{kind}"}}
  %send-done = token[] send-done(%send), channel_id=2, is_host_transfer=true, frontend_attributes={{_xla_host_transfer_handler_name="xla_megascale_runtime"}}
  ROOT %y = f32[1024]{{0:T(1024)}} add(%x, %x)
}}
"""  # noqa: E501


@pytest.fixture(scope="module")
def mesh():
    return pods.mesh("2xv5e:2x2", replica=2, data=2, model=2)


@pytest.mark.parametrize(
    "kind, target, op, axes, size, groups",
    [
        ("ALL_REDUCE", '"{1,2}x{0:3}"', "all-reduce", ("replica",), 4096, ((0, 4), (2, 6), (1, 5), (3, 7))),
        ("ALL_GATHER", '"{1:2}x{0,1,2:3}"', "all-gather", ("replica",), 8192, ((0, 4), (2, 6), (1, 5), (3, 7))),
        ("REDUCE_SCATTER", "{{100000,200000},{100001,200001},{100002,200002},{100003,200003}}",
         "reduce-scatter", ("replica",), 4096, ((0, 4), (2, 6), (1, 5), (3, 7))),
        ("ALL_TO_ALL", "{{100000,100002,200000,200002},{100001,100003,200001,200003}}",
         "all-to-all", ("replica", "model"), 4096, ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("ONE_TO_ONE", "{{100000->200000},{200000->100000}}",
         "collective-permute", ("replica",), 4096, ((0, 4), (4, 0))),
    ],
)  # fmt: skip
def test_a_send_to_other_slices_is_the_collective_that_it_is_for(mesh, kind, target, op, axes, size, groups):
    """Spellings as libtpu 0.0.52 writes them. The mesh walks y first: chip 1 of a slice stands at place 2 of it."""
    (c,) = traffic.read(HEAD + SEND.format(kind=kind, target=target), mesh)
    assert (c.op, c.axes, c.bytes, c.groups) == (op, axes, size, groups)


@pytest.mark.parametrize(
    "kind, target, said",
    [
        ("GOSSIP", "{{100000,200000}}", "a transfer between slices has the unknown type GOSSIP"),
        ("ALL_REDUCE", "everybody", "source and target of a transfer between slices are not understood"),
        ("ALL_REDUCE", "{{100000,300000}}", "it is sent to devices that the mesh does not have"),
    ],
)
def test_what_is_not_understood_is_refused(mesh, kind, target, said):
    with pytest.raises(ValueError, match=said):
        traffic.read(HEAD + SEND.format(kind=kind, target=target), mesh)


def on(mesh, op, *axes):
    return Collective(op, rows(dict(mesh.shape), axes), SIZE, axes=axes)


@pytest.mark.parametrize(
    "op, axes, expected",
    [
        ("all-reduce", ("replica",), SIZE / DCN),  # 2 (2-1)/2 of the array
        ("all-reduce", ("data",), SIZE / ICI),
        # reduce-scatter and all-gather of all inside, over two links; a quarter between
        ("all-reduce", ("replica", "data", "model"), 2 * SIZE * 3 / 4 / (2 * ICI) + SIZE / 4 / DCN),
        ("all-gather", ("replica", "data"), SIZE / 2 / 2 / DCN + SIZE / 2 / ICI),
        ("reduce-scatter", ("replica", "data"), SIZE / 2 / ICI + SIZE / 2 / 2 / DCN),
        ("all-to-all", ("replica", "data"), SIZE / 2 / DCN + SIZE / 2 / ICI),
    ],
)
def test_a_collective_takes_the_links_inside_and_the_network_between(mesh, op, axes, expected):
    assert traffic.seconds([on(mesh, op, *axes)], "TPU v5e", mesh) == pytest.approx(expected)


def test_a_permute_goes_inside_and_between_and_slices_do_not_share_their_links(mesh):
    """All shift by one place: 3 → 4 and 7 → 0 cross; inside a slice 1 → 2 goes over two chips."""
    shift = Collective("collective-permute", tuple((i, (i + 1) % 8) for i in range(8)), SIZE)
    inside, cross = several_slices.pieces(shift, (0,) * 4 + (1,) * 4)
    assert (len(inside[0].groups), cross[0].groups) == (6, ((3, 4), (7, 0)))
    assert [crosses for _, crosses in (inside, cross)] == [False, True]
    took = traffic.seconds([shift], "TPU v5e", mesh)
    assert took == pytest.approx(SIZE / DCN + traffic.seconds([inside[0]], "TPU v5e", mesh))
    pairs = ((0, 1), (1, 0), (2, 3), (3, 2))  # in two slices they take as long as in one
    both = Collective("collective-permute", pairs + tuple((a + 4, b + 4) for a, b in pairs), SIZE)
    one = traffic.seconds([replace(both, groups=pairs)], "TPU v5e", pods.mesh("v5e:2x2", data=2, model=2))
    assert traffic.seconds([both], "TPU v5e", mesh) == pytest.approx(one)


def test_a_mesh_whose_slices_are_mixed_and_a_link_without_a_network_between_are_refused(mesh):
    mixed = Mesh(mesh.devices.reshape(2, 4).T, ("data", "replica"))
    with pytest.raises(ValueError, match="let its first axes cross the slices"):
        between_slices.numbers(mixed)
    link = replace(traffic.LINKS["TPU v5e"], between="")
    with pytest.raises(ValueError, match="no source gives the speed of the network between slices of TPU v5e"):
        traffic.seconds([on(mesh, "all-reduce", "replica")], link, mesh)


@pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
def test_a_step_is_planned_over_two_slices(mesh):
    """Weights are whole in each slice: their gradients, cut in four, are summed between slices once."""
    w = jax.ShapeDtypeStruct((512, 1024), jnp.bfloat16, sharding=NamedSharding(mesh, P("data", "model")))
    x = jax.ShapeDtypeStruct((2048, 512), jnp.bfloat16, sharding=NamedSharding(mesh, P(("replica", "data"))))

    def step(w, x):
        grads = jax.grad(lambda w: jnp.mean(jnp.square((x @ w).astype(jnp.float32))))(w)
        return w - 0.1 * grads.astype(w.dtype)

    plan = pods.compile(step, w, x)
    piece = 512 * 1024 * 2 // 4
    assert plan.on == "2xv5e:2x2" and plan.memory["arguments"] == piece + 2048 // 4 * 512 * 2
    assert plan.sent is not None and plan.sent["replica"] % piece == 0 and plan.sent["replica"] <= 2 * piece
    assert plan.seconds.network is not None and plan.seconds.network > plan.sent["replica"] / DCN


def test_over_several_slices_there_is_no_time_by_the_schedule_and_the_plan_says_so(mesh):
    text = HEAD + SEND.format(kind="ALL_REDUCE", target='"{1,2}x{0:3}"')
    memory = dict.fromkeys(("argument", "output", "alias", "temp", "peak"), 4096)
    answer = {"text": text, "memory": memory, "silent": None, "devices": [d.id for d in mesh.devices.flat]}
    made = plan("program", "2xv5e:2x2", mesh, facts(answer, pods.slice_of("2xv5e:2x2"), mesh), {"jax": "0"})
    assert made.seconds.network and made.bound == "network" and made.estimate is None
    assert "no estimate from the program's schedule: waits for other slices are not modelled" in made.notes
