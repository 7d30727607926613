"""What a TPU's compiler makes of FSDP by hand and by constraints."""

import jax
import jax.numpy as jnp
import model
import numpy as np
from adam import start
from constraints import by_constraints
from jax import NamedSharding, P
from jax.sharding import AxisType
from parallel import layout, parallel

from minipod import pods, traffic


def gathered_alone(primitive, *_, **__):
    """The policy that does not know how constraints make a weight whole."""
    return not primitive.name.startswith("all_gather")


def compiled(ask, kind, keep=model.not_whole):
    """The bytes beside the step's state, and its bill: by hand on Explicit
    axes, or by constraints."""
    *others, _ = model.loss.__defaults__ or ()
    model.loss.__defaults__ = *others, keep
    mesh = pods.mesh("v5e:2x4", (kind,) * 2, data=8, model=1)
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
        answer = ask(jitted, *arguments)
    return answer["memory"]["temp"], traffic.read(answer["text"], mesh)


FORMS = {
    "by hand": (AxisType.Explicit,),
    "by constraints": (AxisType.Auto,),
    "the same, weights kept whole": (AxisType.Auto, gathered_alone),
}


def report(ask, version):
    """The bills of the chapter's model, then the memory of a large one."""
    lines = [f"TPU v5e, 8 chips, libtpu {version}"]
    for name in ("by constraints", "by hand"):
        _, bill = compiled(ask, *FORMS[name])
        lines.append(f"\n{name}\n{traffic.table(bill)}")
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
    lines.append(f"\n{head:35}{'beside the state':>17} {'sent':>14}")
    for name, form in FORMS.items():
        beside, bill = compiled(ask, *form)
        lines.append(f"{name:35}{beside:>17,} {traffic.total(bill):>14,}")
    return "\n".join(lines)
