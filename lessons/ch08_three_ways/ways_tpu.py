"""What the TPU's compiler makes of the layer, written in four ways."""

import re

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax
from jax.sharding import AxisType

from minipod import pods, traffic


def layer(x, weights, bias):
    return jax.nn.sigmoid(x @ weights + bias)


def layer_explicit(x, weights, bias):
    return jax.nn.sigmoid(jnp.dot(x, weights, out_sharding=P(None)) + bias)


def report(ask, version):
    """For each way the collectives, and what a device sends for them; then the
    same for those that take copies."""
    auto = pods.mesh("v5e:2x4", x=8)
    mesh = pods.mesh("v5e:2x4", (AxisType.Explicit,), x=8)

    def layer_auto(x, weights, bias):
        cut_by_x = NamedSharding(auto, P("x"))
        x = lax.with_sharding_constraint(x, cut_by_x)
        weights = lax.with_sharding_constraint(weights, cut_by_x)
        return layer(x, weights, bias)

    @jax.shard_map(
        mesh=mesh,
        in_specs=(P("x"), P("x", None), P(None)),
        out_specs=P(None),
    )
    def layer_sharded(x, weights, bias):
        return jax.nn.sigmoid(lax.psum(x @ weights, "x") + bias)

    def text(f, on, spec):
        shapes = ((32,), spec), ((32, 4), spec), ((4,), P())
        arguments = [
            jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(on, p))
            for s, p in shapes
        ]
        with jax.set_mesh(on):
            return ask(jax.jit(f), *arguments)["text"]

    ways = {
        "jit": (layer, auto),
        "constraint": (layer_auto, auto),
        "shard_map": (layer_sharded, mesh),
        "explicit": (layer_explicit, mesh),
    }
    lines, programs = [f"8 chips of TPU v5e, libtpu {version}"], set()
    for spec, handed in (P("x"), "cut"), (P(), "copies"):
        for name, (f, on) in ways.items():
            if handed == "copies" and name == "shard_map":
                continue
            program = text(f, on, spec)
            bill = traffic.read(program, on)
            parts = [f"{c.op} of {c.bytes} bytes" for c in bill] or ["nothing"]
            lines.append(f"{name}, {handed}: {', '.join(parts)}")
            lines.append(f"    each device sends {traffic.total(bill)}")
            if handed == "cut":
                programs.add(tuple(re.findall(r" = \S+ ([a-z-]+)\(", program)))
    lines.append(f"different lists of instructions, cut: {len(programs)}")
    return "\n".join(lines)
