"""The recorded ring, frame by frame, against devices that pass on one piece after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_frames import cells
from jax import NamedSharding, P, lax

from lessons.ch07_collectives.programs import ring_of_pieces
from lessons.ch07_collectives.traced import traced_ring
from minipod import devices, pictures, traffic

devices.simulate(8)


def turn_by_turn(mesh: jax.sharding.Mesh) -> list[np.ndarray]:
    """What devices hold that start with 2 ** i in each piece, read from them after every turn: [device, piece]."""
    n = mesh.size

    def turn(k):
        def on_each(pieces):  # i32[1, n]
            me, adds = lax.axis_index("x"), k < n - 1
            away = (me - k) % n if adds else (me + 1 - (k - n + 1)) % n
            came = lax.ppermute(pieces[0, away], "x", [(i, (i + 1) % n) for i in range(n)])
            here = (away - 1) % n  # the device before sends the piece before
            return pieces.at[0, here].add(came) if adds else pieces.at[0, here].set(came)

        return jax.jit(jax.shard_map(on_each, mesh=mesh, in_specs=P("x"), out_specs=P("x")))

    x = jax.device_put(jnp.tile(2 ** jnp.arange(n)[:, None], (1, n)), NamedSharding(mesh, P("x")))
    states = [x]
    for k in range(2 * n - 2):
        states.append(turn(k)(states[-1]))
    return [np.concatenate([np.asarray(s.data) for s in state.addressable_shards]) for state in states]


@pytest.mark.parametrize("n", [2, 4, 8])
def test_every_frame_shows_what_the_devices_hold(n):
    mesh = jax.make_mesh((n,), ("x",), devices=jax.devices()[:n])
    player, states = pictures.play(traced_ring(mesh)), turn_by_turn(mesh)
    assert len(player.frames) == len(states) == 2 * n - 1
    for frame, state in enumerate(states):
        owners = [[{i for i in range(n) if held >> i & 1} for held in row] for row in state.tolist()]
        assert cells(player, frame) == [[(str(len(own)), own) for own in row] for row in owners]
    assert all(own == set(range(n)) for row in owners for own in row)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_it_says_what_came_from_where_and_counts_the_bytes_of_the_compiled_ring(n):
    mesh = jax.make_mesh((n,), ("x",), devices=jax.devices()[:n])
    trace, states = traced_ring(mesh), turn_by_turn(mesh)
    for step, old, new in zip(trace.steps[1:], states, states[1:], strict=False):
        changed = {(d, p) for d in range(n) for p in range(n) if old[d, p] != new[d, p]}
        assert {(m.target, m.place) for m in step.moves} == changed
        assert all(m.source == (m.target - 1) % n for m in step.moves)
    ring = jax.jit(jax.shard_map(ring_of_pieces, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
    x = jax.ShapeDtypeStruct((n * n,), jnp.int32, sharding=NamedSharding(mesh, P("x")))
    assert sum(step.sent for step in trace.steps) == traffic.total(traffic.of(ring, x))
    heard = pictures.play(trace).heard
    assert heard[0] == f"Each of {n} devices has cut its block into {n} pieces."
    assert heard[1].startswith(f"Turn 1 of {2 * n - 2} adds what comes; a device has sent 4 of {8 * n - 8} bytes so far")
    assert "device 0 sends piece 0 to device 1" in heard[1]
    adding = [" adds what comes" in said for said in heard[1:]]
    assert adding == [True] * (n - 1) + [False] * (n - 1)
