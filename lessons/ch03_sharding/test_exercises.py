"""The checks of ch03_sharding.

Layouts are compared by what every device holds, not by how a spec is spelled.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import fitting, normal


def mesh(*sizes, rng=None):
    """A mesh with axes "x", "y", …; with rng, of devices in a drawn order."""
    sizes = fitting(*sizes)
    devices = np.array(jax.devices()[: math.prod(sizes)])
    if rng is not None:
        devices = rng.permutation(devices)
    names = ("x", "y", "z")[: len(sizes)]
    return Mesh(
        devices.reshape(sizes),
        names,
        axis_types=(jax.sharding.AxisType.Explicit,) * len(sizes),
    )


def spelled_out(block, x):
    pairs = zip(block, x.shape, strict=True)
    return tuple(slice(*s.indices(n)[:2]) for s, n in pairs)


def test_spec_for_picture(check):
    def cases(rng):
        drawn = []
        specs = [
            ("x", "y"),
            ("y", "x"),
            (None, "y"),
            ("y",),
            (("y", "x"), None),
            (None, ("x", "y")),
            (),  # a whole copy everywhere
        ]
        shapes = [(2, 4), (2, 2), (2, 4), (2, 2), (2, 4), (4, 2), (2, 4)]
        for spec, sizes in zip(specs, shapes, strict=True):
            m = mesh(*sizes)
            rows, columns = (
                8 * int(k) for k in rng.choice([1, 2, 3], 2, replace=False)
            )
            if spec and isinstance(spec[0], tuple):
                rows = 8  # a block is a single row
            if len(spec) == 2 and isinstance(spec[1], tuple):
                rows = 4  # not for all devices together
            x = normal(rng, rows, columns)
            picture = NamedSharding(m, P(*spec)).devices_indices_map(x.shape)
            if len(drawn) % 2:  # a whole dimension may be written slice(0, n)
                picture = {d: spelled_out(s, x) for d, s in picture.items()}
            drawn.append((x, m, {d: tuple(s) for d, s in picture.items()}))
        return drawn

    check(
        cases,
        oracle=lambda x, mesh, picture: np.asarray(x),
        compare=("value", "placement"),
    )


def test_bytes_per_device(check):
    def cases(rng):
        k = [int(n) for n in rng.integers(2, 9, 4)]
        named = Mesh(mesh(3, 2).devices, ("data", "model"))
        return [
            ((8 * k[0], 8 * k[1]), "float32", mesh(2, 4), P("x", "y")),
            ((8 * k[1], 8 * k[2]), "bfloat16", mesh(2, 4), P(None, "x")),
            ((8 * k[2], 8 * k[3], 3), "int8", mesh(2, 4), P(("y", "x"))),
            ((8 * k[3], 8 * k[0]), "float32", mesh(4, 2), P("y")),
            (
                (65536 * k[0], 65536 * k[1]),
                "bfloat16",
                mesh(2, 2, 2),
                P(("x", "z"), "y"),
            ),
            ((4 * k[2], 5), "float16", mesh(4), P()),
            ((2 * k[3], 3), "float8_e4m3fn", mesh(2), P("x")),
            ((2, 4 * k[0]), "bool", mesh(4), P(None, "x")),
            ((6 * k[0], 4), "float32", named, P(("data", "model"))),
            ((4, 6 * k[1]), "int8", named, P("model", "data")),
        ]

    def oracle(shape, dtype, mesh, spec):
        parts = 1
        for entry in spec:
            for name in (
                entry if isinstance(entry, tuple) else [entry] if entry else []
            ):
                parts *= mesh.shape[name]
        return math.prod(shape) // parts * jnp.dtype(dtype).itemsize

    check(cases, oracle=oracle, values="bytes")


def test_pad_and_slice(check):
    def cases(rng):
        drawn = []
        for size, n in ((8, 17), (4, 8), (6, 3), (3, 10)):
            x = normal(rng, n, int(rng.choice([3, 5])))
            drawn.append((x, mesh(size)))
        return drawn

    def oracle(x, mesh):
        x = np.asarray(x)
        padded = np.zeros(
            (math.ceil(len(x) / mesh.size) * mesh.size, x.shape[1]), np.float32
        )
        padded[: len(x)] = x
        return padded, x

    check(cases, oracle=oracle, compare=("value", "placement"))


def test_read_layout(check):
    def cases(rng):
        drawn = []
        for spec, sizes, shape in (
            (("x", "y"), (2, 4), (4, 8)),
            (("x",), (2, 4), (6, 5)),
            ((None, None, ("y", "x")), (2, 2), (3, 2, 8)),
            ((None, "y"), (4, 2), (3, 4)),
            ((), (2, 4), (3,)),
        ):
            m = mesh(*sizes, rng=rng)
            x = jax.device_put(np.zeros(shape), NamedSharding(m, P(*spec)))
            drawn.append((x, tuple(int(rng.integers(n)) for n in shape)))
        split = NamedSharding(mesh(8, rng=rng), P("x"))
        first = 2 * int(rng.integers(1, 8))  # the first element of a shard
        drawn.append((jax.device_put(np.arange(16.0), split), (first,)))
        alone = jax.device_put(np.zeros((2, 3)), rng.choice(jax.devices()))
        return [*drawn, (alone, (1, 2))]

    def oracle(x, index):
        held = x.sharding.devices_indices_map(x.shape)
        mask = {d: np.zeros(x.shape, bool) for d in held}
        for d, block in held.items():
            mask[d][block] = True
        return sorted(d.id for d in held if mask[d][index])

    check(cases, oracle=oracle, values="id")
