"""The step of training on a mesh with the axes "data" and "model"."""

import jax
from adam import adam
from jax import P, lax
from model import loss


def layout(data=None, model=None):
    """A spec for each array: `data` cuts the width, `model` heads and MLP."""
    return {
        "embed": P(None, data),
        "position": P(None, data),
        "qkv": P(None, data, None, model, None),
        "out": P(None, model, None, data),
        "up": P(None, data, model),
        "down": P(None, model, data),
        "logits": P(data, None),
    }


def parallel(specs, mesh=None):
    """The step, on this mesh or the one that is set; its state's specs."""

    def whole(name, w):
        spec = tuple(specs[name])[
            -w.ndim :
        ]  # without the layers, if w is one's
        if "data" not in spec:
            return w
        return lax.all_gather(w, "data", axis=spec.index("data"), tiled=True)

    def total(x):
        return lax.psum(x, "model")

    def step(state, tokens):
        def mean_loss(p):
            return lax.pmean(loss(p, tokens, whole, total), "data")

        value, gradient = jax.value_and_grad(mean_loss)(state["p"])
        return adam(state, gradient), value

    places = {"p": specs, "m": specs, "v": specs, "n": P()}
    ins, outs = (places, P("data")), (places, P())
    step = jax.shard_map(step, mesh=mesh, in_specs=ins, out_specs=outs)
    return step, places
