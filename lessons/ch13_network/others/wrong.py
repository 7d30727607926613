"""Mistakes of ch13_network once more, spelled differently, where that may tell: the name must be the same."""

from operator import attrgetter

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


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


def mesh_within__by_process_alone(devices, sizes, within):
    hosts = {}
    for device in devices:
        hosts.setdefault(device.process_index, []).append(device)
    line = np.array(sum((hosts[host] for host in sorted(hosts)), []))
    others = [size for axis, size in sizes.items() if axis != within]
    grid = line.reshape(*others, sizes[within])
    return Mesh(np.moveaxis(grid, -1, list(sizes).index(within)), tuple(sizes))


def mesh_within__axes_reordered_unsorted(devices, sizes, within):
    others = [axis for axis in sizes if axis != within]
    shape = *(sizes[axis] for axis in others), sizes[within]
    return Mesh(np.array(devices).reshape(shape), (*others, within))


def bytes_leaving__a_piece_for_each_process(groups, process, size):
    leaving = dict.fromkeys(process, 0)
    for group in groups:
        owners = [process[position] for position in group]
        members = len(set(owners))
        a_hop = 2 * (members - 1) * size // members
        for here, there in zip(owners, owners[1:] + owners[:1], strict=True):
            if here != there:
                leaving[here] += a_hop
    return leaving
