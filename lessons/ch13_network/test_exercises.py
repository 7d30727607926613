"""The checks of ch13_network; one of them runs in two processes."""

from dataclasses import dataclass

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, normal, sent


def test_ring_seconds(check):
    def cases(rng):
        drawn = []
        # of so many hops the slowest stands there: first, last, in between
        for n, at in ((2, 0), (5, 4), (8, 3)):
            rates = rng.uniform(1e7, 1e9, n).round(-3)
            latencies = rng.uniform(1e-4, 6e-3, n).round(6)
            # the slowest hop has neither the largest latency nor the least rate
            rates[0], latencies[0] = 2e6, 5e-3
            latencies[1] = 6e-3
            rates[-1], latencies[-1] = 1e6, 1e-6
            hops = list(zip(rates.tolist(), latencies.tolist(), strict=True))
            order = [*rng.permutation(np.arange(1, n))]
            order.insert(at, 0)
            size = n * int(rng.integers(4000, 8000))
            drawn.append((size, [hops[i] for i in order]))
        return drawn

    def oracle(size, hops):
        n, seconds = len(hops), 0.0
        for _ in range(2 * (n - 1)):
            ends = [latency + (size // n) / rate for rate, latency in hops]
            seconds += float(np.max(ends))
        return seconds

    check(cases, oracle=oracle, values="seconds")


def test_two_level_psum(check):
    cut = P(("host", "device"))

    def cases(rng):
        drawn = []
        for hosts, devices in ((2, 4), (4, 2)):
            chosen = rng.permutation(np.array(jax.devices()))
            mesh = Mesh(
                chosen.reshape(hosts, devices),
                ("host", "device"),
                axis_types=(AxisType.Explicit,) * 2,
            )
            x = normal(rng, 8, devices * int(rng.integers(3, 7)))
            drawn.append((jax.device_put(x, NamedSharding(mesh, cut)), mesh))
        return drawn

    def oracle(x, mesh):
        return np.broadcast_to(np.asarray(x).sum(axis=0), x.shape)

    def budget(x, mesh):
        hosts, devices = mesh.shape["host"], mesh.shape["device"]
        row = 4 * x.shape[1]
        inside = sent("all-reduce", row, devices)  # as its two halves
        across = sent("all-reduce", row // devices, hosts)
        return Budget(
            {"all-reduce", "reduce-scatter", "all-gather"},
            inside + across,
            along={"host": across},
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


@dataclass(frozen=True)
class Device:
    """What is asked of a device; for machines that are not there."""

    id: int
    process_index: int
    platform: str = "cpu"
    device_kind: str = "cpu"


@pytest.mark.processes(2, devices=4)
def test_mesh_within(check):
    def cases(rng):
        drawn = []
        for shape, within in (
            ({"data": 2, "model": 4}, "model"),
            ({"model": 4, "data": 2}, "model"),
            ({"data": 4, "model": 2}, "data"),
            ({"seq": 2, "data": 2, "model": 2}, "data"),
            ({"model": 2, "seq": 2, "data": 2}, "model"),
        ):
            devices = [jax.devices()[i] for i in rng.permutation(8)]
            drawn.append((devices, shape, within))
        # ids that do not ascend with the processes, of which there are three
        apart = [Device(k, k % 3) for k in rng.permutation(12).tolist()]
        drawn.append((apart, {"data": 3, "model": 2, "seq": 2}, "model"))
        return drawn

    def oracle(devices, sizes, within):
        grid = np.empty(tuple(sizes.values()), dtype=object)
        names = list(sizes)
        waiting = sorted(devices, key=lambda d: (d.process_index, d.id))
        slow = [n for n in names if n != within]

        def turn(index):
            at = dict(zip(names, index, strict=True))
            return [at[n] for n in slow] + [at[within]]

        places = sorted(np.ndindex(grid.shape), key=turn)
        for place, device in zip(places, waiting, strict=True):
            grid[place] = device
        return Mesh(grid, tuple(names))

    check(cases, oracle=oracle, values="id")


def test_bytes_leaving(check):
    def cases(rng):
        drawn = []
        for groups, processes in (
            ([[0, 1, 2, 3, 4, 5, 6, 7]], 2),
            ([[0, 2, 4, 6], [1, 3, 5, 7]], 2),
            ([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], 3),
            ([[0, 4], [1, 5], [2, 6], [3, 7]], 2),
            ([[0, 1, 2, 3], [4, 5, 6, 7]], 2),  # nothing crosses
            ([[0, 1, 2, 3, 4, 5]], 3),  # a group over three processes
        ):
            count = sum(map(len, groups))
            order = rng.permutation(count).tolist()
            owner = np.repeat(np.arange(processes), count // processes)
            process = rng.permutation(owner).tolist()
            if len(drawn) % 2 == 0:
                order, process = list(range(count)), owner.tolist()
            shuffled = [[order[i] for i in group] for group in groups]
            size = 24 * int(rng.integers(10, 90))
            drawn.append((shuffled, process, size))
        gaps = [7, 4, 4, 0, 7, 0]  # not all processes are here
        drawn.append(([[0, 1, 2], [3, 4, 5]], gaps, 42))
        drawn.append(([[0, 2, 1, 3]], [0, 0, 1, 1], 96))  # every hop crosses
        return drawn

    def oracle(groups, process, size):
        sent = {p: 0 for p in process}
        for group in groups:
            n = len(group)
            for i in range(n):
                a, b = process[group[i]], process[group[(i + 1) % n]]
                sent[a] += (a != b) * 2 * (n - 1) * (size // n)
        return sent

    check(cases, oracle=oracle, values="bytes")
