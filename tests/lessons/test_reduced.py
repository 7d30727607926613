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


# `reduced` names axes along which the indices are cut, and none of these axes cuts the table.
@pytest.mark.parametrize(
    ("table", "read"),
    [
        (P(None, None, reduced={"a"}), ("a", None)),
        (P(None, None, reduced={"a"}), ("a", "b")),
        (P(None, None, reduced={"a", "b"}), (("a", "b"), None)),
        (P("b", None, reduced={"a"}), ("a", None)),
        (P(None, "b", reduced={"a"}), ("a", None)),
    ],
)
def test_where_the_gradient_is_right(table, read):
    np.testing.assert_array_equal(gradient(table, read), RIGHT)


# An axis that cuts the table, its rows or its width, cuts the indices as well.
MIXED = [
    (P("a", None, reduced={"b"}), ("a", None)),
    (P("a", None, reduced={"b"}), ("a", "b")),
    (P(None, "a", reduced={"b"}), ("a", "b")),
]


@pytest.mark.parametrize(("table", "read"), MIXED)
def test_where_an_axis_cuts_table_and_indices_the_gradient_is_mixed(table, read):
    found = gradient(table, read)
    assert not np.array_equal(found, RIGHT), MENDED
    if table.partitions[0]:
        assert found[ROWS // 2 :].any(), "rows that nobody has read"


@pytest.mark.parametrize(("table", "read"), MIXED)
def test_without_the_mark_it_is_right(table, read):
    np.testing.assert_array_equal(gradient(P(*table.partitions), read), RIGHT)


# `reduced` names an axis along which the indices are not cut.
@pytest.mark.parametrize(
    ("table", "read", "times"),
    [
        (P(None, None, reduced={"a"}), (None, None), 2),
        (P(None, None, reduced={"a"}), ("b", None), 2),
        (P(None, None, reduced={"a", "b"}), (None, None), 4),
        (P("a", None, reduced={"b"}), (None, None), 2),
    ],
)
def test_where_the_indices_are_not_cut_the_gradient_is_multiplied(table, read, times):
    found = gradient(table, read)
    assert not np.array_equal(found, RIGHT), MENDED
    np.testing.assert_array_equal(found, times * RIGHT)


def test_a_product_is_refused_where_an_index_is_multiplied():
    rows = jax.device_put(np.ones((8, ROWS), np.float32), P())
    with pytest.raises(Exception, match="unreduced axes should be equal to the contracting specs"):
        jax.grad(lambda t: (rows @ t).sum())(jax.device_put(TABLE, P(reduced={"a"})))
