"""MaxText: its own step and state, for the flags of a run."""

import jax
from flax.core.spmd import logical_axis_rules
from jax.sharding import Mesh
from maxtext.configs import pyconfig
from maxtext.trainers.pre_train import train, train_compile
from maxtext.utils import maxtext_utils, sharding

FLAGS = [
    *("model_name=llama2-7b", "ici_fsdp_parallelism=-1"),
    *("per_device_batch_size=1", "max_target_length=2048"),
    "skip_jax_distributed_system=True",
]


def program():
    config = pyconfig.initialize(["train", *FLAGS])
    devices = maxtext_utils.create_device_mesh(config, jax.devices())
    mesh = Mesh(devices, config.mesh_axes)
    given = train_compile.get_shaped_inputs(mesh, config)
    (state, batch), _, state_lies, _, model = given
    lies = sharding.maybe_update_params_sharding_with_opt(config, state_lies)
    batch_lies = sharding.get_input_data_sharding(config, mesh)
    step, *how = maxtext_utils.get_functional_train_with_signature(
        train.train_step, batch_lies, lies[1], model, config, lies[0]
    )
    names = "in_shardings", "out_shardings", "static_argnums", "donate_argnums"
    with jax.set_mesh(mesh), logical_axis_rules(config.logical_axis_rules):
        jitted = jax.jit(step, **dict(zip(names, how, strict=True)))
        return jitted.trace(state, batch)
