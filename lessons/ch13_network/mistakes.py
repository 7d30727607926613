"""Known wrong answers of ch13_network, as code; words.toml explains them."""

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def ring_seconds__one_way(size, hops):
    n = len(hops)
    return (n - 1) * max(latency + size / n / rate for rate, latency in hops)


def ring_seconds__whole_array(size, hops):
    step = max(latency + size / rate for rate, latency in hops)
    return 2 * (len(hops) - 1) * step


def ring_seconds__worst_of_each(size, hops):
    n = len(hops)
    rate, latency = min(r for r, _ in hops), max(t for _, t in hops)
    return 2 * (n - 1) * (latency + size / n / rate)


def ring_seconds__n_steps(size, hops):
    n = len(hops)
    return 2 * n * max(latency + size / n / rate for rate, latency in hops)


def ring_seconds__longer_of_two(size, hops):
    n = len(hops)
    return 2 * (n - 1) * max(max(t, size / n / rate) for rate, t in hops)


def ring_seconds__latency_once(size, hops):
    n = len(hops)
    worst = max(latency for _, latency in hops)
    return worst + 2 * (n - 1) * max(size / n / rate for rate, _ in hops)


def ring_seconds__hops_in_turn(size, hops):
    n = len(hops)
    return 2 * (n - 1) / n * sum(t + size / n / rate for rate, t in hops)


def ring_seconds__sum_of_the_hops(size, hops):
    n = len(hops)
    return 2 * (n - 1) * sum(t + size / n / rate for rate, t in hops)


def ring_seconds__lowest_rate_alone(size, hops):
    rate, latency = min(hops)
    n = len(hops)
    return 2 * (n - 1) * (latency + size / n / rate)


def ring_seconds__latency_once_a_round(size, hops):
    n = len(hops)
    rate = min(rate for rate, _ in hops)
    latency = max(latency for _, latency in hops)
    return 2 * (latency + (n - 1) * size / n / rate)


def _sum(x, mesh, total):
    cut = P(("host", "device"))
    return jax.shard_map(
        total, mesh=mesh, in_specs=cut, out_specs=cut, check_vma=False
    )(x)


def two_level_psum__flat(x, mesh):
    return _sum(x, mesh, lambda row: lax.psum(row, ("host", "device")))


def two_level_psum__two_whole_sums(x, mesh):
    return _sum(x, mesh, lambda row: lax.psum(lax.psum(row, "device"), "host"))


def two_level_psum__axes_exchanged(x, mesh):
    def total(row):
        wide = -row.shape[1] % mesh.shape["host"]
        piece = jax.numpy.pad(row, ((0, 0), (0, wide)))
        piece = lax.psum_scatter(piece, "host", scatter_dimension=1, tiled=True)
        piece = lax.psum(piece, "device")
        whole = lax.all_gather(piece, "host", axis=1, tiled=True)
        return whole[:, : row.shape[1]]

    return _sum(x, mesh, total)


def two_level_psum__hosts_apart(x, mesh):
    def total(row):
        piece = lax.psum_scatter(row, "device", scatter_dimension=1, tiled=True)
        return lax.all_gather(piece, "device", axis=1, tiled=True)

    return _sum(x, mesh, total)


def two_level_psum__not_gathered(x, mesh):
    def total(row):
        piece = lax.psum_scatter(row, "device", scatter_dimension=1, tiled=True)
        return lax.psum(piece, "host")

    return _sum(x, mesh, total)


def mesh_within__as_given(devices, sizes, within):
    grid = np.array(devices).reshape(tuple(sizes.values()))
    return Mesh(grid, tuple(sizes))


def mesh_within__row_by_row(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    return Mesh(np.array(ordered).reshape(tuple(sizes.values())), tuple(sizes))


def mesh_within__axes_reordered(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    return Mesh(grid, tuple(order))


def mesh_within__axes_reordered_unsorted(devices, sizes, within):
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(devices).reshape([sizes[axis] for axis in order])
    return Mesh(grid, tuple(order))


def mesh_within__slowest(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    order = [within] + [axis for axis in sizes if axis != within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    grid = grid.transpose([order.index(axis) for axis in sizes])
    return Mesh(grid, tuple(sizes))


def mesh_within__by_id_alone(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: d.id)
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    grid = np.moveaxis(grid, -1, list(sizes).index(within))
    return Mesh(grid, tuple(sizes))


def mesh_within__axes_swapped(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    at = list(sizes).index(within)
    grid = grid.swapaxes(at, -1).reshape(tuple(sizes.values()))
    return Mesh(grid, tuple(sizes))


def mesh_within__by_process_alone(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: d.process_index)
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    grid = np.moveaxis(grid, -1, list(sizes).index(within))
    return Mesh(grid, tuple(sizes))


def _leaving(groups, process, size, carried=None, closed=True, both=False):
    found = dict.fromkeys(process, 0)
    for group in groups:
        n = len(group)
        hop = carried(n) if carried else 2 * (n - 1) * size // n
        following = group[1:] + group[:1] if closed else group[1:]
        for a, b in zip(group, following, strict=False):
            if process[a] != process[b]:
                found[process[a]] += hop
                if both:
                    found[process[b]] += hop
    return found


def bytes_leaving__ring_left_open(groups, process, size):
    return _leaving(groups, process, size, closed=False)


def bytes_leaving__array_once(groups, process, size):
    return _leaving(groups, process, size, carried=lambda n: size)


def bytes_leaving__array_twice(groups, process, size):
    return _leaving(groups, process, size, carried=lambda n: 2 * size)


def bytes_leaving__both_ways(groups, process, size):
    return _leaving(groups, process, size, both=True)


def bytes_leaving__one_pass(groups, process, size):
    return _leaving(groups, process, size, lambda n: (n - 1) * size // n)


def bytes_leaving__silent_left_out(groups, process, size):
    found = _leaving(groups, process, size)
    return {p: sent for p, sent in found.items() if sent}


def bytes_leaving__every_device(groups, process, size):
    found = dict.fromkeys(process, 0)
    for group in groups:
        n = len(group)
        if len({process[i] for i in group}) > 1:
            for i in group:
                found[process[i]] += 2 * (n - 1) * size // n
    return found


def bytes_leaving__index_for_position(groups, process, size):
    places = [list(range(len(group))) for group in groups]
    return _leaving(places, process, size)


def bytes_leaving__all_devices_in_one_ring(groups, process, size):
    n = len(process)
    return _leaving(
        groups, process, size, carried=lambda _: 2 * (n - 1) * size // n
    )


def bytes_leaving__one_piece_a_hop(groups, process, size):
    return _leaving(groups, process, size, carried=lambda n: size // n)


def bytes_leaving__whole_array_in_each_step(groups, process, size):
    return _leaving(groups, process, size, carried=lambda n: 2 * (n - 1) * size)


def bytes_leaving__a_piece_for_each_process(groups, process, size):
    found = dict.fromkeys(process, 0)
    for group in groups:
        n = len({process[i] for i in group})
        for a, b in zip(group, group[1:] + group[:1], strict=True):
            if process[a] != process[b]:
                found[process[a]] += 2 * (n - 1) * size // n
    return found
