"""The step on 16 chips that are not here."""

from functools import partial

import jax
from jax import NamedSharding, P
from train import start, step

from minipod import pods


def on_slice(mesh):
    """The step and its arguments, as `minipod plan` wants them."""

    def placed(x, spec):
        at = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=at)

    state = jax.tree.map(lambda x: placed(x, P()), jax.eval_shape(start))
    x = placed(jax.ShapeDtypeStruct((64, 16), "float32"), P("data"))
    return jax.jit(partial(step, mesh=mesh)), (state, x)


def test_the_step_on_sixteen_chips(plans):
    f, arguments = on_slice(pods.mesh("v5e:4x4", data=16))
    plans.check("step, v5e:4x4", pods.compile(f, *arguments))
