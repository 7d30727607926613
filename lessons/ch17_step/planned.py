"""The steps of this chapter for `minipod plan`, small and large.

    minipod plan lessons/ch17_step/planned.py:one_names --on v5e:4x4 \
        --mesh data=16,model=1

Each function takes a mesh and returns (step, arguments).
"""

from functools import partial

import jax
import jax.numpy as jnp
from explicit import not_whole
from jax import NamedSharding, P
from jax.ad_checkpoint import checkpoint_policies as policies
from jax.sharding import AxisType, Mesh
from zero import STAGES, opt, state_specs, step

from lessons.ch09_training.model import SHAPES

BF16 = jnp.bfloat16


def shapes(width, layers, heads, hidden, length=1024):
    return {
        "embed": (256, width),
        "position": (length, width),
        "qkv": (layers, width, 3, heads, width // heads),
        "out": (layers, heads, width // heads, width),
        "up": (layers, width, hidden),
        "down": (layers, hidden, width),
        "logits": (width, 256),
    }


ONE = shapes(2048, 20, 16, 8192)  # 1.0e9 parameters
EIGHT = shapes(4096, 40, 32, 16384)  # 8.1e9


def program(mesh, sizes, stage, rows, parts=1, **how):
    """rows: those of each device in the whole step."""
    specs, _, o_specs = STAGES[stage]
    explicit = (AxisType.Explicit,) * 2
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=explicit)

    def on(array, spec):
        place = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=place)

    p = {n: jax.ShapeDtypeStruct(s, jnp.float32) for n, s in sizes.items()}
    state = jax.eval_shape(opt.init, p)
    state = jax.tree.map(on, state, state_specs(p, o_specs))
    length = sizes["position"][0]
    tokens = (parts, rows * mesh.shape["data"] // parts, length + 1)
    tokens = jax.ShapeDtypeStruct(tokens, jnp.int32)
    p = jax.tree.map(on, p, specs)

    def on_mesh(p, state, tokens):  # whose specs need not name it
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            return step(p, state, tokens, stage, **how)

    jitted = jax.jit(on_mesh, donate_argnums=(0, 1))
    return jitted, (p, state, on(tokens, P(None, "data")))


def nothing(*_, **__):
    return False


to_the_host = policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[],
    names_which_can_be_offloaded=["heads", "hidden"],
    offload_src="device",
    offload_dst="pinned_host",
)
KEPT = {
    "all": not_whole,
    "nothing": nothing,
    "names": policies.save_only_these_names("heads", "hidden"),
    "host": to_the_host,
}

small = partial(program, sizes=SHAPES, rows=8)
dp = partial(small, stage="DP")
dp_parts = partial(small, stage="DP", parts=4)
zero_1 = partial(small, stage="ZeRO-1", parts=4)
zero_2 = partial(small, stage="ZeRO-2", parts=4)
zero_3 = partial(small, stage="ZeRO-3")
zero_3_bf16 = partial(small, stage="ZeRO-3", dtype=BF16)

one = partial(program, sizes=ONE, rows=2, dtype=BF16)
one_dp = partial(one, stage="DP", keep=nothing)
eight = partial(program, sizes=EIGHT, rows=4, dtype=BF16)
for name, keep in KEPT.items():
    globals()[f"one_{name}"] = partial(one, stage="ZeRO-3", keep=keep)
    globals()[f"eight_{name}"] = partial(eight, stage="ZeRO-3", keep=keep)
