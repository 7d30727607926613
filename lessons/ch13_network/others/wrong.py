"""Every known mistake of ch13_network once more, spelled differently: it must be given the same name."""

from operator import attrgetter

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def _step(piece, hops):
    return max(t + piece / r for r, t in hops)


def ring_seconds__one_way(size, hops):
    return sum(_step(size / len(hops), hops) for _ in hops[1:])


def ring_seconds__whole_array(size, hops):
    steps = 2 * len(hops) - 2
    return sum(_step(size, hops) for _ in range(steps))


def ring_seconds__worst_of_each(size, hops):
    rates, latencies = np.array(hops).T
    return float(
        2 * (len(hops) - 1) * (latencies.max() + size / len(hops) / rates.min())
    )


def ring_seconds__n_steps(size, hops):
    return sum(_step(size / len(hops), hops) for _ in hops + hops)


def ring_seconds__longer_of_two(size, hops):
    rates, latencies = np.array(hops).T
    step = np.maximum(latencies, size / len(hops) / rates)
    return float(2 * (len(hops) - 1) * step.max())


def ring_seconds__latency_once(size, hops):
    rates, latencies = zip(*hops, strict=True)
    n = len(hops)
    return max(latencies) + 2 * size * (n - 1) / n / min(rates)


def ring_seconds__hops_in_turn(size, hops):
    n = len(hops)
    mean = float(np.mean([t + size / n / r for r, t in hops]))
    return mean * 2 * (n - 1)


def ring_seconds__sum_of_the_hops(size, hops):
    n = len(hops)
    rates, latencies = np.array(hops).T
    return float(2 * (n - 1) * (latencies + size / n / rates).sum())


def ring_seconds__lowest_rate_alone(size, hops):
    slowest = sorted(hops, key=lambda hop: hop[0])[0]
    steps = 2 * len(hops) - 2
    return steps * (slowest[1] + size / (len(hops) * slowest[0]))


def ring_seconds__latency_once_a_round(size, hops):
    rates, latencies = zip(*hops, strict=True)
    pieces = 2 * (len(hops) - 1) * size / len(hops)
    return pieces / min(rates) + 2 * max(latencies)


def _mapped(total, x, mesh):
    spec = P(("host", "device"), None)
    return jax.jit(
        jax.shard_map(
            total, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
        )
    )(x)


def two_level_psum__flat(x, mesh):
    return _mapped(lambda row: lax.psum(row[0], mesh.axis_names)[None], x, mesh)


def two_level_psum__two_whole_sums(x, mesh):
    def total(row):
        inside = lax.psum(row[0], "device")
        return lax.psum(inside, "host")[None]

    return _mapped(total, x, mesh)


def two_level_psum__axes_exchanged(x, mesh):
    def total(row):
        h, m = mesh.shape["host"], row.shape[1]
        padded = jnp.concatenate([row[0], jnp.zeros(-m % h, row.dtype)])
        part = lax.psum(lax.psum_scatter(padded, "host", tiled=True), "device")
        return lax.all_gather(part, "host", tiled=True)[None, :m]

    return _mapped(total, x, mesh)


def two_level_psum__hosts_apart(x, mesh):
    def total(row):
        pieces = row.reshape(mesh.shape["device"], -1)
        return lax.all_gather(
            lax.psum_scatter(pieces, "device"), "device"
        ).reshape(1, -1)

    return _mapped(total, x, mesh)


def two_level_psum__not_gathered(x, mesh):
    def total(row):
        piece = lax.psum_scatter(row[0], "device", tiled=True)
        return lax.psum(piece, "host")[None]

    return _mapped(total, x, mesh)


def mesh_within__as_given(devices, sizes, within):
    grid = np.empty(len(devices), dtype=object)
    grid[:] = devices
    return Mesh(grid.reshape([sizes[axis] for axis in sizes]), list(sizes))


def mesh_within__row_by_row(devices, sizes, within):
    in_turn = np.array(sorted(devices, key=attrgetter("process_index", "id")))
    return Mesh(in_turn.reshape(list(sizes.values())), tuple(sizes.keys()))


def mesh_within__axes_reordered(devices, sizes, within):
    in_turn = np.array(sorted(devices, key=attrgetter("process_index", "id")))
    others = {axis: size for axis, size in sizes.items() if axis != within}
    turned = {**others, within: sizes[within]}
    return Mesh(in_turn.reshape(list(turned.values())), tuple(turned))


def mesh_within__slowest(devices, sizes, within):
    in_turn = np.array(sorted(devices, key=attrgetter("process_index", "id")))
    others = [size for axis, size in sizes.items() if axis != within]
    grid = in_turn.reshape([sizes[within], *others])
    return Mesh(np.moveaxis(grid, 0, list(sizes).index(within)), tuple(sizes))


def mesh_within__by_id_alone(devices, sizes, within):
    by_id = {device.id: device for device in devices}
    line = np.array([by_id[i] for i in sorted(by_id)])
    others = [size for axis, size in sizes.items() if axis != within]
    grid = line.reshape(*others, sizes[within])
    return Mesh(np.moveaxis(grid, -1, [*sizes].index(within)), tuple(sizes))


def mesh_within__axes_swapped(devices, sizes, within):
    line = sorted(devices, key=lambda d: (d.process_index, d.id))
    others = [size for axis, size in sizes.items() if axis != within]
    grid = np.array(line).reshape(*others, sizes[within])
    axes = [*range(grid.ndim)]
    at = [*sizes].index(within)
    axes[at], axes[-1] = axes[-1], axes[at]
    return Mesh(grid.transpose(axes).reshape(*sizes.values()), tuple(sizes))


def _counted(
    groups,
    process,
    hop,
    hops=lambda group: list(zip(group, group[1:] + group[:1], strict=True)),
):
    sent = {p: 0 for p in process}
    for group in groups:
        for a, b in hops(group):
            sent[process[a]] += hop(len(group)) * (process[a] != process[b])
    return sent


def bytes_leaving__ring_left_open(groups, process, size):
    return _counted(
        groups,
        process,
        lambda n: 2 * size // n * (n - 1),
        lambda g: list(zip(g[:-1], g[1:], strict=True)),
    )


def bytes_leaving__array_once(groups, process, size):
    return _counted(groups, process, lambda n: n * (size // n))


def bytes_leaving__both_ways(groups, process, size):
    there = _counted(groups, process, lambda n: 2 * size // n * (n - 1))
    back = _counted(
        [g[::-1] for g in groups], process, lambda n: 2 * size // n * (n - 1)
    )
    return {p: there[p] + back[p] for p in there}


def bytes_leaving__one_pass(groups, process, size):
    return _counted(groups, process, lambda n: size - size // n)


def bytes_leaving__silent_left_out(groups, process, size):
    every = _counted(groups, process, lambda n: 2 * size // n * (n - 1))
    return {p: sent for p, sent in every.items() if sent > 0}


def bytes_leaving__every_device(groups, process, size):
    sent = {p: 0 for p in process}
    for group in groups:
        owners = [process[i] for i in group]
        for p in owners * (len(set(owners)) > 1):
            sent[p] += 2 * size - 2 * size // len(group)
    return sent


def bytes_leaving__index_for_position(groups, process, size):
    return _counted(
        groups,
        process,
        lambda n: 2 * (n - 1) * size // n,
        lambda group: [(i, (i + 1) % len(group)) for i in range(len(group))],
    )


def bytes_leaving__all_devices_in_one_ring(groups, process, size):
    total = sum(len(group) for group in groups)
    sent = {p: 0 for p in process}
    for group in groups:
        for k, here in enumerate(group):
            there = process[group[(k + 1) % len(group)]]
            if there != process[here]:
                sent[process[here]] += 2 * size * (total - 1) // total
    return sent


def bytes_leaving__one_piece_a_hop(groups, process, size):
    sent = {p: 0 for p in process}
    for group in groups:
        for k, here in enumerate(group):
            there = process[group[(k + 1) % len(group)]]
            if there != process[here]:
                sent[process[here]] += size // len(group)
    return sent


def bytes_leaving__whole_array_in_each_step(groups, process, size):
    sent = {p: 0 for p in process}
    for group in groups:
        for k, here in enumerate(group):
            there = process[group[(k + 1) % len(group)]]
            if there != process[here]:
                sent[process[here]] += (2 * len(group) - 2) * size
    return sent
