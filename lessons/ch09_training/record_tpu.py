"""What a TPU's compiler makes of FSDP by hand and by constraints: fsdp_tpu.txt.

Run it in an environment with the extra `pods`; no TPU is needed.
"""

from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import model
import numpy as np
from adam import start
from constraints import by_constraints
from jax import NamedSharding, P
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh
from parallel import layout, parallel

from minipod import traffic

CHIPS = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")


def gathered_alone(primitive, *_, **__):
    """The policy that does not know how constraints make a weight whole."""
    return not primitive.name.startswith("all_gather")


def compiled(kind, keep=model.not_whole):
    """The step and its bill: by hand on Explicit axes, or by constraints."""
    *others, _ = model.loss.__defaults__ or ()
    model.loss.__defaults__ = *others, keep
    devices = np.array(CHIPS.devices).reshape(8, 1)
    mesh = Mesh(devices, ("data", "model"), axis_types=(kind,) * 2)
    step, places = parallel(layout("data"))
    if kind == AxisType.Auto:
        step = by_constraints(layout("data"))

    def on(array, spec):
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)

    state = jax.eval_shape(lambda: start(model.init(jax.random.key(0))))
    tokens = jax.ShapeDtypeStruct((16, model.LENGTH + 1), jnp.int32)
    out = jax.tree.map(lambda spec: NamedSharding(mesh, spec), places)
    jitted = jax.jit(step, donate_argnums=0, out_shardings=(out, None))
    arguments = jax.tree.map(on, state, places), on(tokens, P("data"))
    with jax.set_mesh(mesh):
        program = jitted.lower(*arguments).compile()
    return program, traffic.read(program.as_text() or "", mesh)


FORMS = {
    "by hand": (AxisType.Explicit,),
    "by constraints": (AxisType.Auto,),
    "the same, weights kept whole": (AxisType.Auto, gathered_alone),
}
with Path(__file__).with_name("fsdp_tpu.txt").open("w") as file:
    print("TPU v5e, 8 chips, libtpu", version("libtpu"), file=file)
    for name in ("by constraints", "by hand"):
        _, bill = compiled(*FORMS[name])
        print(f"\n{name}\n{traffic.table(bill)}", file=file)
    width, hidden, layers = 1024, 4096, 16
    model.SHAPES |= {
        "embed": (256, width),
        "position": (model.LENGTH, width),
        "qkv": (layers, width, 3, model.HEADS, width // model.HEADS),
        "out": (layers, model.HEADS, width // model.HEADS, width),
        "up": (layers, width, hidden),
        "down": (layers, hidden, width),
        "logits": (width, 256),
    }
    size = sum(int(np.prod(shape)) for shape in model.SHAPES.values())
    head = f"{size:,} parameters"
    print(f"\n{head:35}{'beside the state':>17} {'sent':>14}", file=file)
    for name, form in FORMS.items():
        program, bill = compiled(*form)
        beside = program.memory_analysis().temp_size_in_bytes  # type: ignore[union-attr]
        print(f"{name:35}{beside:>17,} {traffic.total(bill):>14,}", file=file)
