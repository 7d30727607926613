"""One step of training: microbatches, Optax, and the stages of ZeRO."""

import jax
import jax.numpy as jnp
import optax
from explicit import layout, loss
from jax import P, lax

WHOLE, CUT = layout(), layout("data")
STAGES = {  # where parameters, gradients and optimizer state lie
    "DP": (WHOLE, WHOLE, WHOLE),
    "ZeRO-1": (WHOLE, WHOLE, CUT),
    "ZeRO-2": (WHOLE, CUT, CUT),
    "ZeRO-3": (CUT, CUT, CUT),
}
opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.003, b2=0.99))


def at(tree, specs):
    return {n: jax.reshard(a, specs[n]) for n, a in tree.items()}


def state_specs(params, specs, opt=opt):
    """A spec for each array of the optimizer's state, from the parameters'."""

    def left_out(x):
        return isinstance(x, optax.MaskedNode)

    def its(x, w, spec):
        if not left_out(x) and x.shape != w.shape:
            raise ValueError(
                f"the state has {x.shape} for a parameter of {w.shape}: "
                "such an optimizer needs a rule of its own"
            )
        return x if left_out(x) else spec

    state = jax.eval_shape(opt.init, params)
    how = {"transform_non_params": lambda _: P(), "is_leaf": left_out}
    return optax.tree_map_params(opt, its, state, params, specs, **how)


def gradients(p, parts, specs, g_specs, **how):
    """Mean loss and gradients over parts: int32[parts, rows, length + 1]."""
    if specs == WHOLE:  # whole copies, whose gradients are parts of a sum
        p = {
            n: jax.reshard(w, P(*specs[n], reduced={"data"}))
            for n, w in p.items()
        }
    late = g_specs == WHOLE

    def where(n):
        return P(*WHOLE[n], unreduced={"data"}) if late else g_specs[n]

    def add(total, part):
        value, g = jax.value_and_grad(loss)(p, part, specs, **how)
        g = {n: jax.reshard(a, where(n)) for n, a in g.items()}
        return jax.tree.map(jnp.add, total, (value, g)), None

    zeros = {
        n: jax.reshard(jnp.zeros(w.shape, w.dtype), where(n))
        for n, w in p.items()
    }
    total = jnp.float32(0), zeros
    if len(parts) == 1:  # no loop of one turn: libtpu runs its forward twice
        (value, g), _ = add(total, parts[0])
    else:
        (value, g), _ = lax.scan(add, total, parts)
    return jax.tree.map(lambda x: x / len(parts), (value, at(g, g_specs)))


def step(p, state, parts, stage, **how):
    """The next parameters and state, and the loss before."""
    specs, g_specs, o_specs = STAGES[stage]
    value, g = gradients(p, parts, specs, g_specs, **how)
    p = at(p, o_specs)
    change, state = opt.update(at(g, o_specs), state, p)
    return at(optax.apply_updates(p, change), specs), state, value
