"""What a function changes besides what it returns: its arguments, JAX's settings."""

import jax
import jax.numpy as jnp
import numpy as np

from grader.see.left_behind import Before, Change


def given():
    return [3, 1, 2], {"w": np.arange(3.0), "b": [4]}, (5, [6]), jnp.ones(2)


def test_the_argument_that_was_changed_in_place_is_told():
    for place, harm in [
        (0, lambda a: a[0].sort()),
        (0, lambda a: a[0].clear()),
        (1, lambda a: a[1].pop("b")),
        (1, lambda a: a[1].update(b=a[1].pop("b"), w=a[1].pop("w"))),  # in another order
        (1, lambda a: a[1]["b"].append(5)),
        (1, lambda a: np.negative(a[1]["w"], out=a[1]["w"])),
        (2, lambda a: a[2][1].pop()),
    ]:
        args = given()
        before = Before(args)
        harm(args)
        assert before.change() == Change(argument=place)


def test_who_reads_copies_and_donates_changes_nothing():
    args = given()
    before = Before(args)
    assert sorted(args[0]) == [1, 2, 3]
    args[1]["w"].copy().fill(0)
    jax.jit(lambda x: x + 1, donate_argnums=0)(args[3])
    with jax.default_device(jax.devices()[1]):
        jnp.ones(2)
    assert before.change() is None


def test_a_setting_that_is_left_changed_is_told_by_its_name():
    before = Before(given())
    jax.config.update("jax_default_device", jax.devices()[1])
    try:
        assert before.change() == Change(setting="jax_default_device")
    finally:
        jax.config.update("jax_default_device", None)
    assert before.change() is None
