"""Other answers to the exercises of ch13_network: right ones, known mistakes, and other wrong ones."""

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def ring_seconds__right(size, hops):
    rates, latencies = np.array(hops).T
    step = np.max(latencies + size / len(hops) / rates)
    return float(2 * len(hops) * step - 2 * step)


def ring_seconds__a_list_of_steps(size, hops):
    n = len(hops)
    return [t + size / n / r for r, t in hops]


def two_level_psum__right(x, mesh):
    d = mesh.shape["device"]

    def total(row):
        mine = lax.psum_scatter(row.reshape(d, -1), "device")
        whole = lax.all_gather(lax.psum(mine, "host"), "device")
        return whole.reshape(1, -1)

    spec = P(("host", "device"), None)
    return jax.jit(jax.shard_map(total, mesh=mesh, in_specs=spec, out_specs=spec))(x)


def two_level_psum__right_otherwise(x, mesh):
    cut = P(("host", "device"))

    @jax.shard_map(
        mesh=mesh,
        in_specs=cut,
        out_specs=P("host", "device"),
        axis_names={"host", "device"},
    )
    def pieces(row):
        return lax.psum(
            lax.psum_scatter(row, "device", scatter_dimension=1, tiled=True),
            "host",
        )

    @jax.shard_map(mesh=mesh, in_specs=P("host", "device"), out_specs=cut)
    def whole(piece):
        return lax.all_gather(piece, "device", axis=1, tiled=True)

    return whole(pieces(x))


def _mapped(total, x, mesh):
    spec = P(("host", "device"), None)
    return jax.jit(jax.shard_map(total, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))(x)


def two_level_psum__two_whole_sums(x, mesh):
    def total(row):
        inside = lax.psum(row[0], "device")
        return lax.psum(inside, "host")[None]

    return _mapped(total, x, mesh)


def two_level_psum__not_gathered(x, mesh):
    def total(row):
        piece = lax.psum_scatter(row[0], "device", tiled=True)
        return lax.psum(piece, "host")[None]

    return _mapped(total, x, mesh)


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


def mesh_within__right(devices, sizes, within):
    order = sorted(sizes, key=lambda name: name == within)  # within last
    mesh = jax.make_mesh(
        tuple(sizes[name] for name in order),
        tuple(order),
        devices=sorted(devices, key=lambda d: (d.process_index, d.id)),
    )
    places = [order.index(name) for name in sizes]
    return Mesh(mesh.devices.transpose(places), tuple(sizes))


def mesh_within__only_the_axes(devices, sizes, within):
    return tuple(sizes.items())


def bytes_leaving__right(groups, process, size):
    owner = np.array(process)
    found = {p: 0 for p in sorted(set(process))}
    for group in groups:
        here, there = owner[group], owner[np.roll(group, -1)]
        for p in here[here != there]:
            found[int(p)] += size * 2 * (len(group) - 1) // len(group)
    return found


def bytes_leaving__only_who_sends(groups, process, size):
    leaving = {}
    for group in groups:
        n = len(group)
        for here, there in zip(group, group[1:] + group[:1], strict=True):
            if process[here] != process[there]:
                leaving[process[here]] = leaving.get(process[here], 0) + 2 * (n - 1) * size // n
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
