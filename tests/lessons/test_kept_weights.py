"""What a layer of chapter 9's model keeps for the backward pass on Explicit axes: no whole weight."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import P
from jax.ad_checkpoint import print_saved_residuals

MODEL = Path(__file__).resolve().parents[2] / "lessons/ch09_training/model.py"
PRIMITIVES_OF_OLD = ("all_gather", "sharding_constraint")  # those that the policy knew before


def model():
    spec = importlib.util.spec_from_file_location("model_of_ch09", MODEL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept(policy, capsys):
    """What JAX says is kept of a layer whose weight, cut along "data", is made whole by `reshard`."""
    mesh = jax.make_mesh((8,), ("data",))  # Explicit axes

    def layer(x, w):
        return jnp.tanh(x @ jax.sharding.reshard(w, P()))

    with jax.set_mesh(mesh):
        x, w = (jax.device_put(jnp.ones(shape), P("data")) for shape in ((16, 64), (64, 24)))
        capsys.readouterr()
        print_saved_residuals(jax.checkpoint(layer, policy=policy), x, w)
    return capsys.readouterr().out


def test_a_weight_made_whole_by_reshard_is_not_kept(capsys):
    found = kept(model().not_whole, capsys)
    assert "f32[64@data,24] from the argument" in found  # the piece is
    assert "f32[64,24]" not in found and "f32[16@data,24]" in found


def test_a_policy_that_does_not_name_reshard_keeps_it_whole(capsys):
    def of_old(primitive, *_, **__):
        return not primitive.name.startswith(PRIMITIVES_OF_OLD)

    assert "f32[64,24]" in kept(of_old, capsys)
