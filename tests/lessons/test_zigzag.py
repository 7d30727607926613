"""Chapter 19's zigzag order: on any number of devices, and lengths that it cannot deal out."""

import jax
import numpy as np
import pytest
from jax.sharding import AxisType


@pytest.mark.parametrize("n", [1, 2, 3])
def test_it_is_causal_attention_on_any_number_of_devices(lesson, n):
    bill, zigzag = lesson("ch19_sequences", "bill", "zigzag")
    mesh = jax.make_mesh((n,), ("s",), (AxisType.Auto,), devices=jax.devices()[:n])
    attend = jax.jit(bill.cut(zigzag.zigzag, mesh))
    arrays = bill.drawn((2, 12, 4, 8), *[(2, 12, 2, 8)] * 2)
    expected = jax.nn.dot_product_attention(*arrays, is_causal=True)
    order = zigzag.order(n, 12)
    found = attend(*(x[:, order] for x in arrays))
    np.testing.assert_allclose(found[:, np.argsort(order)], expected, atol=1e-5)
    with pytest.raises(ValueError, match=f"{n} devices need a multiple of {2 * n} positions"):
        zigzag.order(n, 5 * n)
    with pytest.raises(ValueError, match=f"multiple of {2 * n} positions"):
        attend(*bill.drawn(*[(1, 5 * n, 2, 8)] * 3))
