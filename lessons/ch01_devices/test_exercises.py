"""The checks of ch01_devices."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from grader import array, normal


@dataclass(frozen=True)
class Device:
    """What is asked of a device; for machines that are not there."""

    id: int
    platform: str
    process_index: int


def test_devices_by_host(check):
    def cluster(rng, hosts, each, platforms=("tpu",), gap=1):
        found = []
        for host in hosts:
            for i in range(each):
                for n, platform in enumerate(platforms):
                    number = 2048 * n + gap * (host * each + i)
                    found.append(Device(number, platform, host))
        return [found[i] for i in rng.permutation(len(found))]

    def cases(rng):
        # ids do not ascend with the hosts, nor in the list
        mixed = [Device(id, "tpu", id % 3) for id in (7, 2, 0, 6, 4, 9)]
        extra = [Device(7, "gpu", 5), Device(3, "gpu", 1), Device(2, "gpu", 5)]
        return [
            (cluster(rng, range(4), 4), "tpu"),
            (cluster(rng, [0, 2, 3], 2, ("gpu", "cpu"), gap=3), "cpu"),
            ([*extra, *cluster(rng, range(2), 3, ("cpu",))], "gpu"),
            (jax.devices(), "cpu"),
            (cluster(rng, range(2), 2), "gpu"),
            (mixed, "tpu"),
        ]

    def oracle(devices, platform):
        chosen = sorted(
            (d.process_index, d.id) for d in devices if d.platform == platform
        )
        hosts = {host for host, _ in chosen}
        return {h: [i for host, i in chosen if host == h] for h in hosts}

    check(cases, oracle=oracle, values="id")


def test_spread(check):
    def cases(rng):
        dtypes = [np.float32, np.int8, np.float16]
        drawn = []
        for count, several in ((9, 3), (12, 4), (5, 8)):
            sizes = rng.integers(1, 40, count)
            arrays = [
                jnp.asarray(rng.normal(size=int(n)).astype(dtypes[k % 3]))
                for k, n in enumerate(sizes)
            ]
            chosen = rng.permutation(np.array(jax.devices()))[:several]
            drawn.append((arrays, list(chosen)))
        return drawn

    check(
        cases,
        oracle=lambda arrays, devices: [np.asarray(a) for a in arrays],
        compare=("value", "placement"),
    )


def test_add_up(check):
    def cases(rng):
        a, b, c = rng.permutation(np.array(jax.devices()[1:]))[:3]
        if a.id < b.id:  # the first in a list is not the one with the lowest id
            a, b = b, a
        zero = jax.devices()[0]  # the default device
        n, m = [(3, 5), (4, 6), (5, 8)][rng.integers(3)]  # n < m < 2n

        def made(device, *shape):  # not committed
            with jax.default_device(device):
                return jnp.asarray(rng.normal(size=shape), dtype="float32")

        def at(device, *shape):  # committed
            return jax.device_put(normal(rng, *shape), device)

        return [
            # JAX adds these itself: none, or one device, has committed ones
            [made(zero, n, m), made(zero, m)],
            [made(a, m), made(a, n, m)],
            [made(a, n, m), made(b, m), made(b)],
            [made(a, n, m), at(b, m), made(a)],
            [at(a, m), made(zero, n, m), made(zero, m), at(a)],
            [at(a, n, m)],
            # and these not: the most bytes are neither first nor last
            [made(c, m), at(a, m), at(b, n, m), at(c, n, 1), made(c)],
            # of several together, and of fewer arrays
            [at(a, n, 1), at(b, m), at(a, n, 1), made(zero)],
            [at(a, n, 1), at(a), at(a), at(b, n, m)],
            [at(b, n, m), at(a), at(b), at(a, m), at(a)],
            # a sum has more bytes than what it was made of
            [made(zero, n, m), at(a), at(b, m)],
            # the default device is one like any other
            [at(a, m), at(zero, n, m)],
            [at(zero, n, 1), at(b, m)],
            # uncommitted ones do not count, wherever they lie
            [at(a, m), made(zero, n, m), at(zero, n, 1), made(c, n, m)],
            # as many bytes on several: the first in the list, whatever its id
            [at(c), at(a, m), at(b, m), made(zero, n, m)],
            [at(b, m), at(a, m)],
            [at(a), at(b, m), at(b), at(a, m), at(c, m)],
        ]

    def oracle(arrays):
        return sum(np.asarray(x) for x in arrays)

    check(
        lambda rng: [(arrays,) for arrays in cases(rng)],
        oracle=oracle,
        compare=("value", "placement"),
    )


def place(x):
    """The device of an array, as an array beside it: f32[]."""
    (device,) = x.devices()
    return array(np.array(device.id))


def scale(tree):
    return {"y": 2 * tree["x"], "ran on": place(tree["x"])}


def combine(tree):
    total, own = tree["a"] + tree["b"]["c"].sum(), jnp.arange(4.0) + len(tree)
    return total, own, place(total), place(own)


def test_run_there(check):
    def cases(rng):
        d = rng.permutation(np.array(jax.devices()[1:]))
        x = normal(rng, 3, 4)
        trees = [
            (scale, {"x": x}),
            (scale, {"x": jax.device_put(x, d[1])}),
            (combine, {"a": jax.device_put(x, d[2]), "b": {"c": x[0]}}),
            (
                combine,
                {
                    "a": jax.device_put(x, d[3]),
                    "b": {"c": jax.device_put(x[1], d[4])},
                },
            ),
        ]
        return [(f, tree, d[5]) for f, tree in trees]

    def oracle(function, tree, device):
        host = jax.tree.map(np.asarray, tree)
        where = np.float32(device.id)
        if function is scale:
            return {"y": 2 * host["x"], "ran on": where}
        total = host["a"] + host["b"]["c"].sum()
        return total, np.arange(4.0) + len(tree), where, where

    check(cases, oracle=oracle, compare=("value", "placement"))
