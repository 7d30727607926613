"""One argument drawn anew: of its own shape, dtype, place and values; each of its numbers in one draw at least."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grader.see import redrawn
from grader.see.packing import pack

ALL = range(redrawn.DRAWS)


def drawn(x, draw, key=None, others=()):
    new = redrawn.redrawn((x,), (0, key), draw, "here", others)
    return new and new[0]


NORMAL = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)


@pytest.mark.parametrize(
    "x",
    [
        NORMAL,
        NORMAL.astype(jnp.bfloat16),
        np.array([3, 0, 5, 5, 5, 1], np.int8),
        np.array([True] * 7 + [False]),
        np.array([1.0, 1.0, 0.0, 1.0], np.float32),  # a mask
        np.float32([2.5, 2.5, 2.5]),
        np.array(0.25),
    ],
)
@pytest.mark.parametrize("put", [lambda x: x, jnp.asarray, lambda x: jax.device_put(x, jax.devices()[0])])
def test_shape_dtype_and_place_stay_and_each_number_changes_in_one_draw(x, put):
    if x.dtype == jnp.bfloat16 and put(x) is x:
        pytest.skip("NumPy has no such numbers of its own")
    x = put(x)
    every = [drawn(x, draw) for draw in ALL]
    changes = [np.asarray(new) != np.asarray(x) for new in every]
    assert all(map(np.any, changes)) and np.logical_or.reduce(changes).all()
    for new in every:
        assert type(new) is type(x) and (new.shape, new.dtype) == (x.shape, x.dtype)
        if isinstance(x, jax.Array):
            assert (new.sharding, new.committed) == (x.sharding, x.committed)
    if x.dtype.kind in "ib" or set(np.unique(x)) == {0, 1}:
        assert set(np.concatenate(every).tolist()) <= set(np.unique(np.asarray(x)).tolist())
    assert pack(drawn(x, 0)) == pack(drawn(x, 0)) and len({str(pack(new)) for new in every}) > 1


def test_where_all_is_alike_nothing_is_drawn():
    for x in (np.zeros(3, np.float32), np.full(4, 7), np.zeros((0, 3), np.float32)):
        assert drawn(x, 0) is None and drawn({"a": np.arange(3), "b": x}, 1) is None


def test_one_entry_of_a_dict_is_drawn_alone_and_the_rest_is_copied():
    params = {"w": NORMAL, "b": NORMAL[0]}
    new = drawn(params, 2, "b")
    assert (new["b"] != params["b"]).all() and (new["w"] == NORMAL).all() and new["w"] is not NORMAL
    kept = jnp.arange(4.0)
    jax.jit(lambda x: 2 * x, donate_argnums=0)(*redrawn.copied((kept,)))
    assert not kept.is_deleted()


def test_sizes_meshes_and_functions_are_left_alone_and_where_all_is_plain_an_argument_is_that_of_another_call():
    mesh = jax.make_mesh((1,), ("x",))
    cases = [(NORMAL, 3, mesh, len, {"w": NORMAL}, 0.5, {"s": mesh}, jax.random.key(0))] * 2
    names = ["x", "n", "mesh", "f", "params", "rate", "specs", "key"]
    assert list(redrawn.places(names, cases)) == ["x", "params", 'params["w"]', "rate"]
    plain = [(n, "abc"[n % 3], [n, n + 1], {"epoch": n, "next": 0}) for n in range(5)]
    assert list(redrawn.places([*"nsld"], plain)) == [*"nsld", 'd["epoch"]', 'd["next"]']
    saved = [{"epoch": n, "next": 0} for n in range(5)]
    new = [drawn(saved[0], draw, "epoch", saved) for draw in ALL]
    assert len({x["epoch"] for x in new} - {0}) == redrawn.DRAWS and {x["next"] for x in new} == {0}
    assert drawn(saved[0], 0, "next", saved) is None
    assert len({drawn(3, draw, others=range(6)) for draw in ALL} - {3}) == redrawn.DRAWS
    assert drawn("a", 0, others=["a", "b", "c", "b"]) is None  # two others are too few
    assert [0 < drawn(0.5, draw) < 0.5 for draw in ALL] == [True] * redrawn.DRAWS
