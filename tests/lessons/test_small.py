"""Small programs of chapters, each with what its page says of it: pictures of chapter 1, chapter 9's policy for what is
kept, chapter 20's server."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P
from jax.ad_checkpoint import print_saved_residuals

from lessons.ch01_devices.in_time import in_time, spans


@pytest.mark.parametrize(
    ("host", "device", "steps", "one_by_one", "queued"), [(1, 2, 4, 12, 9), (3, 1, 4, 16, 13), (2, 2, 5, 20, 12)]
)
def test_only_the_longer_half_of_a_step_counts_when_steps_are_queued(host, device, steps, one_by_one, queued):
    for wait, whole in ((True, one_by_one), (False, queued)):
        found = spans(host, device, steps, wait)
        assert max(span["end"] for span in found) == whole
        for lane in ("host", "device"):
            own = [span for span in found if span["lane"] == lane]
            assert [span["step"] for span in own] == list(range(1, steps + 1))
            assert all(a["end"] <= b["start"] for a, b in zip(own, own[1:], strict=False))
        for given, worked in zip(found[::2], found[1::2], strict=True):
            assert given["end"] <= worked["start"]
    assert f"= {one_by_one}<" in (svg := in_time(host, device, steps).svg) and f"= {queued}<" in svg
    with pytest.raises(ValueError, match="9 steps of 1 and 2 units cannot be drawn: 2 to 8 steps"):
        in_time(1, 2, 9)


def of_old(primitive, *_, **__):
    """A policy that names what it knew before, and not `reshard`."""
    return not primitive.name.startswith(("all_gather", "sharding_constraint"))


@pytest.mark.parametrize("kept_whole", [False, True])
def test_a_weight_made_whole_by_reshard_is_kept_only_by_a_policy_that_does_not_name_it(lesson, capsys, kept_whole):
    policy = of_old if kept_whole else lesson("ch09_training", "model").not_whole

    def layer(x, w):
        return jnp.tanh(x @ jax.sharding.reshard(w, P()))

    with jax.set_mesh(jax.make_mesh((8,), ("data",))):  # Explicit axes
        x, w = (jax.device_put(jnp.ones(shape), P("data")) for shape in ((16, 64), (64, 24)))
        capsys.readouterr()
        print_saved_residuals(jax.checkpoint(layer, policy=policy), x, w)
    found = capsys.readouterr().out
    assert ("f32[64,24]" in found) == kept_whole
    assert kept_whole or ("f32[64@data,24] from the argument" in found and "f32[16@data,24]" in found)  # the pieces are


def test_more_tokens_than_the_cache_has_room_for_are_refused(lesson):
    """Before anything is placed or compiled; in the cache itself such a token would be lost in silence."""
    with pytest.raises(ValueError, match="the cache would be full: 9 tokens and room for 8"):
        lesson("ch20_serving", "run").serve(None, None, "sequence", None, np.zeros((1, 9), int), 5, 8)
