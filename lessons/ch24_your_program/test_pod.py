"""The step on 16 chips that are not here."""

from functools import partial

import jax
from jax import NamedSharding, P
from train import start, step

from minipod import pods


def test_the_step_on_sixteen_chips(plans):
    mesh = pods.mesh("v5e:4x4", data=16)

    def on_pod(x, spec):
        at = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=at)

    state = jax.tree.map(lambda x: on_pod(x, P()), jax.eval_shape(start))
    x = on_pod(jax.ShapeDtypeStruct((64, 16), "float32"), P("data"))
    plan = pods.compile(jax.jit(partial(step, mesh=mesh)), state, x)
    plans.check("step, v5e:4x4", plan)
