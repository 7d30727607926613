"""The gradient of one loss, asked for in eleven ways. Who sums it?"""

import warnings

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import AxisType

warnings.filterwarnings("ignore", "jax.pmap is deprecated")


def loss(w, x):  # the mean over the rows of x
    return jnp.mean(jnp.tanh(x @ w) ** 2)


def own(w, x):
    return jax.grad(loss)(w, x)


def then_mean(w, x):
    return lax.pmean(jax.grad(loss)(w, x), "data")


def of_mean(w, x):
    return jax.grad(lambda w: lax.pmean(loss(w, x), "data"))(w)


def of_own_copy(w, x):
    return then_mean(lax.pcast(w, "data", to="varying"), x)


def ways():
    """(name, function of w and x, mesh); the mesh is None for pmap."""
    auto, explicit = (
        jax.make_mesh((8,), ("data",), axis_types=(kind,))
        for kind in (AxisType.Auto, AxisType.Explicit)
    )
    locally = {
        "grad": own,
        "grad, pmean": then_mean,
        "grad of pmean(loss)": of_mean,
        "grad of pcast w, pmean": of_own_copy,
    }
    for name in ("grad", "grad, pmean"):
        f = jax.pmap(locally[name], "data", in_axes=(None, 0))
        yield f"pmap, {name}", f, None
    for check in (True, False):
        for name, f in locally.items():
            if not check and f is of_own_copy:
                continue  # without the types there is nothing to cast
            f = jax.shard_map(
                f,
                mesh=explicit,
                in_specs=(P(), P("data")),
                out_specs=P(),
                check_vma=check,
            )
            where = "shard_map" if check else "check_vma=False"
            yield f"{where}, {name}", jax.jit(f), explicit
    yield "jit, Auto, grad", jax.jit(own), auto
    yield "jit, Explicit, grad", jax.jit(own), explicit
