"""What chapter 17 says of rows that are read from a `reduced` table: on which layouts their gradient is wrong."""

import jax
import numpy as np
import pytest
from jax import P

ROWS, WIDTH = 16, 8
MENDED = "JAX has mended this: say so in the box of chapter 17, in chapter 23 and in book/then_and_now.toml"
random = np.random.default_rng(0)
TABLE = random.integers(-4, 5, (ROWS, WIDTH)).astype(np.float32)
READ = random.integers(0, 5, (8, 8))  # rows 0 to 4 are read
RIGHT = np.zeros_like(TABLE)
np.add.at(RIGHT, READ, 2 * TABLE[READ])  # integers, exact in f32


@pytest.fixture(autouse=True)
def mesh():
    with jax.set_mesh(jax.make_mesh((2, 2), ("a", "b"), devices=jax.devices()[:4])):
        yield


def gradient(table: P, read: tuple, jit=jax.jit) -> np.ndarray:
    """Of the squares of all rows that are read, by indices with the layout `read` from a table with another."""

    def loss(t, indices):
        rows = jax.reshard(t, table).at[indices].get(out_sharding=P(*read, None))
        return (rows * rows).sum()

    value, found = jit(jax.value_and_grad(loss))(jax.device_put(TABLE, P()), jax.device_put(READ, P(*read)))
    assert value == (TABLE[READ] ** 2).sum(), "the loss is right"
    return np.asarray(found)


# What comes of the gradient: so many times the right one, or 0 where it is mixed.
@pytest.mark.parametrize(
    ("table", "read", "times"),
    [
        # `reduced` names axes along which the indices are cut, and none of these axes cuts the table.
        (P(None, None, reduced={"a"}), ("a", None), 1),
        (P(None, None, reduced={"a"}), ("a", "b"), 1),
        (P(None, None, reduced={"a", "b"}), (("a", "b"), None), 1),
        (P("b", None, reduced={"a"}), ("a", None), 1),
        (P(None, "b", reduced={"a"}), ("a", None), 1),
        # An axis that cuts the table, its rows or its width, cuts the indices as well.
        (P("a", None, reduced={"b"}), ("a", None), 0),
        (P("a", None, reduced={"b"}), ("a", "b"), 0),
        (P(None, "a", reduced={"b"}), ("a", "b"), 0),
        (P("a", None), ("a", None), 1),  # without the mark
        # `reduced` names an axis along which the indices are not cut.
        (P(None, None, reduced={"a"}), (None, None), 2),
        (P(None, None, reduced={"a"}), ("b", None), 2),
        (P(None, None, reduced={"a", "b"}), (None, None), 4),
        (P("a", None, reduced={"b"}), (None, None), 2),
    ],
)
def test_where_the_gradient_is_right(table, read, times):
    found = gradient(table, read)
    if times != 1:
        assert not np.array_equal(found, RIGHT), MENDED
    if times:
        np.testing.assert_array_equal(found, times * RIGHT)
    elif table.partitions[0]:
        assert found[ROWS // 2 :].any(), "rows that nobody has read"


def test_a_product_is_refused_where_an_index_is_multiplied():
    rows = jax.device_put(np.ones((8, ROWS), np.float32), P())
    with pytest.raises(Exception, match="unreduced axes should be equal to the contracting specs"):
        jax.grad(lambda t: (rows @ t).sum())(jax.device_put(TABLE, P(reduced={"a"})))
