"""What a TPU computes while blocks are on their way, by the order of two lines
in a turn: sent on first, or received first. Then the norms' halves."""

import jax
import jax.numpy as jnp
import norms
from bill import cut
from jax import NamedSharding, P, lax
from parts import divided, merge, nothing, part
from ring import on, ring

from minipod import pods, traffic
from minipod.hlo import overlap, text


def waiting(q, k, v):
    """The ring whose turns begin with what only then is sent."""
    n, i, t = lax.axis_size("s"), lax.axis_index("s"), q.shape[1]

    def attend(state, k, v, r):
        places = (j * t + jnp.arange(t) for j in (i, (i - r) % n))
        return merge(state, part(q, k, v, *places))

    def turn(carry, r):
        state, k, v = carry
        k, v = on(k, v)
        return (attend(state, k, v, r), k, v), None

    state = attend(nothing(q), k, v, 0)
    (state, _, _), _ = lax.scan(turn, (state, k, v), jnp.arange(1, n))
    return divided(state, q)


def report(ask, version):
    lines = [f"TPU v5p, 8 chips, libtpu {version}, 64 × 1024 positions, bf16"]
    mesh = pods.mesh("v5p:2x2x2", s=8)
    place = NamedSharding(mesh, P(None, "s"))
    blocks = [
        jax.ShapeDtypeStruct((1, 2**16, h, 128), jnp.bfloat16, sharding=place)
        for h in (32, 8, 8)
    ]
    both = ("received, then used", waiting), ("sent on, then used", ring)
    for name, way in both:
        answer = ask(jax.jit(cut(way, mesh)), *blocks)
        lines.append(name)
        for o in overlap.overlaps(text.parse(answer["text"])):
            lines.append(
                f"    {o.op}: {o.products} products, {o.flops / 1e9:.0f} GFLOP"
                " between start and done"
            )
    shapes = (2, 8192, 4096), (4, 4096, 16384), (4, 16384, 4096)
    arrays = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes]
    lines.append("layers with norms and their gradients, 2 × 8192 positions")
    for on_slice in ("v5e:2x4", "v5p:2x2x2"):
        mesh = pods.mesh(on_slice, m=8)
        for name in norms.WAYS:
            f, given = norms.placed(name, mesh, arrays)
            answer = ask(jax.jit(norms.gradients(f)), *given)
            bill = traffic.read(answer["text"], mesh)
            ops = sorted({c.op for c in bill if c.bytes > 2**20})
            beside = answer["memory"]["temp"] / 2**30
            lines.append(
                f"    {on_slice:9} {name:10} {traffic.total(bill) / 1e9:.2f} GB"
                f" sent, {beside:.2f} GiB beside: {', '.join(ops)}"
            )
    return "\n".join(lines)
