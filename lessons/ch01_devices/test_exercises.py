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


def test_where_it_lies(check):
    def cases(rng):
        a, b, c, default = (int(n) for n in rng.permutation(8)[:4])
        return [
            ([(a, True), (b, False)], default),
            ([(a, False), (b, True), (c, False)], default),
            ([(a, False), (b, False)], default),
            ([(a, True), (b, True)], default),
            ([(a, True), (b, False), (a, True)], default),
            ([(a, False), (a, False), (a, False)], default),
            ([(a, True), (default, False), (default, False)], default),
            ([(default, True), (a, True), (a, True)], default),
            ([(5, False), (0, True)], 2),  # 0 is a device like any other
            ([(5, False), (3, False)], 0),
            ([(0, True), (3, True)], 2),
        ]

    def oracle(operands, default):
        with jax.default_device(jax.devices()[default]):
            terms = []
            for device, committed in operands:
                with jax.default_device(jax.devices()[device]):
                    term = jnp.ones(2)
                to = jax.devices()[device] if committed else None
                terms.append(jax.device_put(term, to) if committed else term)
            try:
                (where,) = jax.jit(lambda *all: sum(all))(*terms).devices()
            except ValueError:
                return None
            return where.id

    check(cases, oracle=oracle, values="id")


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
