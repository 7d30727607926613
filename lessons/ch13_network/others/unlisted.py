"""Wrong answers of ch13_network that its mistakes.py does not know, written after the checks were finished."""

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def ring_seconds__in_milliseconds(size, hops):
    n = len(hops)
    return 2e3 * (n - 1) * max(t + size / n / r for r, t in hops)


def ring_seconds__best_hop(size, hops):
    n = len(hops)
    return 2 * (n - 1) * min(t + size / n / r for r, t in hops)


def ring_seconds__a_list_of_steps(size, hops):
    n = len(hops)
    return [t + size / n / r for r, t in hops]


def two_level_psum__mean_across(x, mesh):
    def total(row):
        piece = lax.psum_scatter(row, "device", scatter_dimension=1, tiled=True)
        piece = lax.pmean(piece, "host")
        return lax.all_gather(piece, "device", axis=1, tiled=True)

    cut = P(("host", "device"))
    return jax.shard_map(total, mesh=mesh, in_specs=cut, out_specs=cut)(x)


def two_level_psum__gathered_whole(x, mesh):
    def total(row):
        everything = lax.all_gather(row, ("host", "device"), tiled=True)
        return everything.sum(axis=0, keepdims=True)

    cut = P(("host", "device"))
    return jax.shard_map(total, mesh=mesh, in_specs=cut, out_specs=cut)(x)


def two_level_psum__one_row(x, mesh):
    cut = P(("host", "device"))
    return jax.shard_map(
        lambda row: lax.psum(row, ("host", "device")),
        mesh=mesh,
        in_specs=cut,
        out_specs=P(),
        check_vma=False,
    )(x)


def mesh_within__array_of_devices(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    return grid.transpose([order.index(axis) for axis in sizes])


def mesh_within__processes_backwards(devices, sizes, within):
    ordered = sorted(devices, key=lambda d: (-d.process_index, d.id))
    order = [axis for axis in sizes if axis != within] + [within]
    grid = np.array(ordered).reshape([sizes[axis] for axis in order])
    return Mesh(
        grid.transpose([order.index(axis) for axis in sizes]), tuple(sizes)
    )


def mesh_within__only_the_axes(devices, sizes, within):
    return tuple(sizes.items())


def bytes_leaving__only_who_sends(groups, process, size):
    leaving = {}
    for group in groups:
        n = len(group)
        for here, there in zip(group, group[1:] + group[:1], strict=True):
            if process[here] != process[there]:
                leaving[process[here]] = (
                    leaving.get(process[here], 0) + 2 * (n - 1) * size // n
                )
    return {p: n // 2 for p, n in leaving.items()}


def bytes_leaving__all_together(groups, process, size):
    total = 0
    for group in groups:
        n = len(group)
        for here, there in zip(group, group[1:] + group[:1], strict=True):
            total += (process[here] != process[there]) * 2 * (n - 1) * size // n
    return total


def bytes_leaving__no_gaps(groups, process, size):
    leaving = dict.fromkeys(range(max(process) + 1), 0)
    for group in groups:
        for here, there in zip(group, group[1:] + group[:1], strict=True):
            if process[here] != process[there]:
                hop = 2 * (len(group) - 1) * size // len(group)
                leaving[process[here]] += hop
    return leaving
