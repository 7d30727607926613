"""The usual errors of JAX, provoked today, are recognised by their words."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from grader.judge.near_misses.raised import IMPORTED, USUAL, explained
from grader.messages import MESSAGES, Message, read_texts
from grader.see.observe import failure_of

DEVICES = jax.devices()
MESH = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,))
GRID = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
AUTO = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
X = jnp.arange(16.0)
SPLIT = P("x")


def put(x, *spec, mesh=MESH):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def mapped(f, in_specs=SPLIT, out_specs=SPLIT, x=None):
    return jax.shard_map(f, mesh=MESH, in_specs=in_specs, out_specs=out_specs)(put(X, "x") if x is None else x)


def leak():
    kept = []
    jax.jit(kept.append)(X)
    return kept[0] + 1


def leak_into_the_next():
    kept = {}
    for n in (4, 8):
        given = jnp.ones((n, n))
        jax.jit(lambda *pair: kept.setdefault("product", jnp.matmul(*pair))).lower(given, given).compile()(given, given)


def donated():
    jax.jit(lambda v: v + 1, donate_argnums=0)(x := jnp.ones(8))
    return x + 1


def set_inside(x):
    with jax.set_mesh(MESH):
        return x


def square(m, n):
    return put(jnp.ones((8, 8)), m, n, mesh=GRID)


PROVOKED = {
    "host-copy": [
        lambda: jax.jit(np.asarray)(X),
        lambda: jax.jit(lambda v: float(v.sum()))(X),
        lambda: jax.jit(lambda v: v.sum().item())(X),
        lambda: jax.jit(complex)(3.0),
    ],
    "placement-of-tracer": [
        lambda: jax.jit(lambda v: v.addressable_shards)(X),
        lambda: jax.jit(lambda v: v.devices())(X),
    ],
    "traced-if": [lambda: jax.jit(lambda v: 1 if v.sum() > 0 else 2)(X), lambda: bool(X)],
    "traced-size": [
        lambda: jax.jit(lambda v: v[v > 0])(X),
        lambda: jax.jit(lambda n: [i for i in range(n)])(3),
        lambda: jax.jit(jnp.nonzero)(X),
        lambda: jax.jit(lambda v: v.reshape(v.sum(), -1))(X),
        lambda: jax.jit(lambda n: X[:n])(3),
    ],
    "leaked": [leak, leak_into_the_next],
    "pmap-sizes": [
        lambda: jax.pmap(lambda p, v: v)(jnp.ones(3), jnp.ones((8, 2))),
        lambda: jax.pmap(lambda p, v: v)(3.0, jnp.ones((8, 2))),
        lambda: jax.pmap(lambda p, v: v, axis_name="i")(3.0, jnp.ones((8, 2))),
    ],
    "squeeze": [lambda: jax.pmap(lambda v: v)(jnp.ones((16, 2))), lambda: X.squeeze(0)],
    "map-scalar": [lambda: jax.vmap(lambda p: p)(3.0), lambda: jax.vmap(lambda p: p, in_axes=2)(jnp.ones((3, 2)))],
    "map-nothing": [
        lambda: jax.pmap(lambda v: v, in_axes=None)(jnp.ones((8, 2))),
        lambda: jax.vmap(lambda v: v, in_axes=None)(X),
    ],
    "map-tree": [
        lambda: jax.vmap(lambda p, v: v, in_axes=({"a": 0}, 0))({"b": jnp.ones(3)}, jnp.ones((3, 2))),
        lambda: jax.vmap(lambda p, v: v, in_axes=(0,))(jnp.ones(3), jnp.ones((3, 2))),
        lambda: jax.pmap(lambda v: v, in_axes=(None, 0))(jnp.ones((8, 2))),
    ],
    "specs-tree": [
        lambda: mapped(lambda v: (v, v), out_specs=(P("x"),) * 3),
        lambda: mapped(lambda v: v, in_specs=(P("x"),) * 2),
    ],
    "squeezed-out": [lambda: jax.vmap(lambda v: v, out_axes=None)(jnp.ones((8, 2)))],
    "unbound-axis": [
        lambda: jax.jit(lambda v: lax.psum(v, "x"))(X),
        lambda: jax.pmap(lambda v: lax.pmean(v, "i"))(X[:8]),
    ],
    "axis-not-in-mesh": [lambda: NamedSharding(MESH, P("y")), lambda: mapped(lambda v: v, out_specs=P("y"))],
    "axis-twice": [lambda: NamedSharding(MESH, P("x", "x"))],
    "spec-too-long": [
        lambda: mapped(lambda v: v.sum()),
        lambda: put(X, "x", "y", mesh=GRID),
        lambda: jax.jit(lambda v: lax.with_sharding_constraint(v, NamedSharding(AUTO, P("x", "y"))))(X),
    ],
    "mesh-set-inside": [lambda: jax.jit(set_inside)(X)],
    "block-of-one": [
        lambda: mapped(lambda v: lax.psum_scatter(v[None], "x", tiled=True)),
        lambda: mapped(lambda v: lax.all_to_all(v[None], "x", 0, 0, tiled=True)),
        lambda: mapped(lambda v: lax.all_to_all(v[None], "x", 0, 0)),
    ],
    "indivisible": [
        lambda: put(jnp.ones(9), "x"),
        lambda: jnp.ones(9).reshape(8, -1),
        lambda: jnp.split(jnp.ones(9), 8),
        lambda: mapped(lambda v: v, x=jnp.ones(9)),
        lambda: NamedSharding(MESH, P("x")).shard_shape((9,)),
    ],
    "array-outside": [
        lambda: (lambda kept: jax.jit(lambda x: kept)(X))(put(X, "x")),
        lambda: put(X, "x").at[3].set(1.0),
    ],
    "no-mesh": [
        lambda: jax.device_put(X, P("x")),
        lambda: jax.jit(lambda v: lax.with_sharding_constraint(v, P("x")))(X),
        lambda: jax.shard_map(lambda v: v, in_specs=P("x"), out_specs=P("x"))(X),
    ],
    "in-specs-differ": [lambda: mapped(lambda v: v, x=X), lambda: mapped(lambda v: v, P(), P())],
    "out-specs-unreduced": [lambda: mapped(lambda v: v.sum(), out_specs=P())],
    "devices-mixed": [
        lambda: jax.device_put(X, DEVICES[0]) + jax.device_put(X, DEVICES[1]),
        lambda: jnp.stack([jax.device_put(jnp.ones(2), d) for d in DEVICES]),
        lambda: put(X, "x") + put(X, "x", mesh=GRID),
    ],
    "sharding-contraction": [lambda: square(None, "x") @ square("x", None)],
    "sharding-index": [lambda: put(X, "x")[3], lambda: put(X, "x")[:9], lambda: jnp.roll(put(X, "x"), 1)],
    "sharding-reshape": [lambda: put(jnp.ones((8, 6)), "x", None, mesh=GRID).reshape(-1, 3, 16)],
    "sharding-mixed": [
        lambda: square("x", None) + square("y", None),
        lambda: lax.dynamic_update_slice(put(X, "x"), jnp.ones(3), (0,)),
    ],
    "donated": [donated],
    "place-is-no-place": [lambda: jax.device_put(X, MESH)],
    "keyword": [lambda: jax.pmap(lambda v: v, in_specs=0)],  # type: ignore[call-arg]
    "carry": [lambda: lax.fori_loop(0, 3, lambda i, c: c.astype(int), jnp.float32(0))],
    "scan-pair": [lambda: lax.scan(lambda c, v: c, 0.0, X)],
    "branches": [lambda: lax.cond(True, lambda: 1.0, lambda: jnp.ones(3))],
    "grad-scalar": [lambda: jax.grad(lambda v: v)(X)],
    "grad-integers": [lambda: jax.grad(lambda v: v.sum())(jnp.arange(3))],
    "permutation": [lambda: mapped(lambda v: lax.ppermute(v, "x", [(0, 1), (0, 2)]))],
    "collective-size": [
        lambda: mapped(lambda v: lax.all_to_all(v, "x", 0, 0)),
        lambda: mapped(lambda v: lax.psum_scatter(v, "x")),
    ],
    "reshape": [lambda: jnp.ones(9).reshape(8, 2), lambda: np.ones(9).reshape(8, -1)],
    "contraction": [lambda: jnp.ones((3, 4)) @ jnp.ones((3, 4)), lambda: np.ones((3, 4)) @ np.ones((3, 4))],
    "shapes": [lambda: jnp.ones((3, 4)) + jnp.ones((3, 5)), lambda: jnp.stack([jnp.ones(2), jnp.ones(3)])],
    "immutable": [lambda: X.__setitem__(0, 1)],
    "list-for-array": [lambda: jnp.sum([1, 2]), lambda: [1].shape],  # type: ignore[attr-defined]
    "not-an-array": [lambda: jax.jit(lambda m, v: v)(MESH, X), lambda: jax.jit(lambda m: m)("a")],
    "spec-for-sharding": [lambda: NamedSharding(MESH, "x")],  # type: ignore[arg-type]
    "mesh-too-large": [lambda: jax.make_mesh((9,), ("x",), axis_types=(AxisType.Auto,))],
    "mesh-names": [lambda: jax.sharding.Mesh(np.array(DEVICES), ("x", "y"))],
    "scalar-of-many": [lambda: float(X)],
    "removed": [
        lambda: jax.tree_map,
        lambda: jax.sharding.PositionalSharding,
        lambda: __import__("jax.experimental.maps"),
    ],
    "no-attribute": [lambda: X.shpae],  # type: ignore[attr-defined]
    "dimensions": [lambda: X[0, 0], lambda: X.sum(axis=1)],
    "index": [lambda: DEVICES[99]],
}
FROM_ELSEWHERE = {  # seen with two processes, or where there is too little memory
    "not-addressable": "RuntimeError: Fetching value for `jax.Array` that spans non-addressable devices",
    "not-the-same": "AssertionError: <class 'numpy.ndarray'> passed to device_put is not the same on each process.",
    "memory": "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 4398046511104 bytes.",
    "devices-for-mesh": "AttributeError: 'list' object has no attribute 'size'",
}


@pytest.mark.parametrize("key", PROVOKED)
@pytest.mark.filterwarnings("ignore")
def test_an_error_is_known_by_its_words(key):
    for way in PROVOKED[key]:
        with pytest.raises(Exception) as caught:
            way()
        seen = failure_of(caught.value, Path())
        assert explained(seen.type, seen.text) == Message(f"error-{key}")


def test_every_usual_error_is_tried_and_has_its_sentence():
    for key, text in FROM_ELSEWHERE.items():
        assert explained(*text.split(": ", 1)) == Message(f"error-{key}")
    assert explained("ValueError", "no PartitionSpec gives this picture") is None  # the answer's own
    assert explained("IndexError", "pop from empty list") is None
    assert explained("AttributeError", "property 'shape' of 'ArrayImpl' object has no setter") is None
    known = [key for key, _ in USUAL]
    assert sorted(known) == sorted([*PROVOKED, *FROM_ELSEWHERE])
    said = {f"error-{key}" for key in [*known, "permutation-beyond", "name-import"]}  # those two are tried below
    assert said == {key for key in read_texts(MESSAGES) if key.startswith("error-")}


@pytest.mark.parametrize(("pairs", "device"), [([(i, (i + 1) % 12) for i in range(12)], 11), ([(-1, 0), (7, 6)], -1)])
def test_pairs_of_a_permute_that_name_a_device_beyond_the_axis(pairs, device):
    """JAX 0.10.2 takes the numbers modulo the axis's size, here 8, and then finds a device twice."""
    with pytest.raises(ValueError, match="must be unique") as raised:
        mapped(lambda v: lax.ppermute(v, "x", pairs))
    seen = failure_of(raised.value, Path(__file__))
    assert explained(seen.type, seen.text) == Message("error-permutation-beyond", {"device": device})


def test_a_name_that_everybody_imports_comes_with_its_line():
    for name, line in IMPORTED.items():
        space = {}
        exec(line, space)
        assert name in space
        assert explained("NameError", f"name '{name}' is not defined") == Message("error-name-import", {"line": line})
    assert explained("NameError", "name 'rowz' is not defined") is None
