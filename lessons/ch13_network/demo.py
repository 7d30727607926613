# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% imports
from dataclasses import replace

import jax
from jax import NamedSharding, P

from lessons.ch13_network import wire
from minipod import devices, pictures, traffic
from minipod.traffic import LINKS

devices.simulate(8)
print("The figures on this page are", wire.source())

# %% two-hosts
found = wire.run("where.py")
found

# %% ring
everyone = wire.devices(found)
pictures.ring(everyone)

# %% measure
runs = {cable: wire.times(cable) for cable in wire.CABLES}
quick = runs["one process"]
print(" " * 16, "   1 KiB    4 MiB")
for cable, times in runs.items():
    small, large = (
        times[f"flat:{size}"][0] / quick[f"flat:{size}"][0]
        for size in (2**10, 2**22)
    )
    print(f"{cable:16} {small:8.1f} {large:8.1f}")


# %% curves
def flat_times(cable):
    return [runs[cable][f"flat:{size}"][0] for size in wire.SIZES]


curves = {cable: flat_times(cable) for cable in runs}
pictures.curve(curves, wire.SIZES, "bytes", "seconds", logx=True, logy=True)

# %% the-bill
import sums


def bill_of(function, mesh, size):
    """The collectives of one sum of so many bytes on each device."""
    cut = NamedSharding(mesh, P(sums.BOTH))
    x = jax.ShapeDtypeStruct((8, size // 4), "float32", sharding=cut)
    return traffic.of(sums.program(function, mesh), x)


(bill,) = bill_of(sums.flat, sums.mesh(), 2**20)
print(f"{bill.op} of {bill.bytes:,} bytes among {bill.groups}")
print(
    f"{bill.sent:,} bytes leave each device: {bill.sent / bill.bytes:.2f} of it"
)

# %% one-hop
hop = {cable: times["hops:128"][0] / 14 for cable, times in runs.items()}
for cable in list(runs)[1:]:
    ratio = runs[cable]["flat:1024"][0] / (14 * hop[cable])
    print(f"{cable:16} sum of 1 KiB ÷ 14 hops: {ratio:.2f}")
print(f"one hop ÷ the cable's delay: {hop[wire.FAR] / 0.005:.2f}")


# %% predict
def predict(cable, size):
    """Seconds by the ring model, from the cable's rate and one hop's time."""
    on = traffic.Link(cable, wire.RATES[cable], "ring", "ours", hop[cable])
    return traffic.seconds([replace(bill, bytes=size)], on)


predicted = {
    cable: [predict(cable, size) for size in wire.SIZES] for cable in wire.RATES
}
measured = {cable: flat_times(cable) for cable in wire.RATES}
pictures.curve(
    predicted, wire.SIZES, "bytes", "seconds", True, True, dots=measured
)

# %% ratios
print("measured ÷ predicted")
print(" " * 10, *(f"{cable:>18}" for cable in wire.RATES))
for i, size in enumerate(wire.SIZES):
    ratios = (measured[c][i] / predicted[c][i] for c in wire.RATES)
    print(f"{size:10,}", *(f"{ratio:18.2f}" for ratio in ratios))


# %% crossing
def leaving(ring, host):
    """How many hops of a ring lead from this host to another."""
    hops = zip(ring, [*ring[1:], ring[0]], strict=True)
    return sum(a.process_index == host != b.process_index for a, b in hops)


for size in 2**10, 2**20, 2**22:
    counted = leaving(everyone, 0) * replace(bill, bytes=size).sent
    seen = runs["1 Gbit/s"][f"flat:{size}"][1]
    print(
        f"{size:9,}: {counted:9,} counted, {seen / counted:.2f} times that seen"
    )

# %% zigzag-ring
zigzag = [everyone[i] for i in (0, 4, 1, 5, 2, 6, 3, 7)]
pictures.ring(zigzag)

# %% zigzag-cost
cable = runs["100 Mbit/s"]
for name, ring in ("in order", everyone), ("zigzag", zigzag):
    suffix = "" if ring is everyone else ":zigzag"
    took, seen = cable[f"flat:1048576{suffix}"]
    counted = leaving(ring, 0) * bill.sent
    times = took / cable["flat:1048576"][0]
    print(f"{name:9}{counted:11,} counted{seen:11,} seen  time × {times:.1f}")

# %% which-axis
for name, suffix in ("one row a host", ""), ("zigzag rows", ":zigzag"):
    mesh = sums.mesh(zigzag=bool(suffix))
    (row,) = bill_of(sums.inside, mesh, 2**20)
    took, seen = cable[f"inside:1048576{suffix}"]
    times = took / cable["inside:1048576"][0]
    print(f"{name}: {row.op} along {row.axes}, {row.sent:,} bytes sent")
    print(f"{seen:15,} bytes leave the host, {times:.1f} × the time")

# %% two-level-bill
traffic.table(bill_of(sums.two_level, sums.mesh(), 2**20))

# %% two-level
print("flat ÷ two levels", "    1 KiB    1 MiB    bytes")
for cable, times in runs.items():
    flat, two = (
        [times[f"{name}:{size}"] for size in (2**10, 2**20)]
        for name in ("flat", "two_level")
    )
    ratios = [a[0] / b[0] for a, b in zip(flat, two, strict=True)]
    less = (
        f"{flat[1][1] / two[1][1]:8.2f}"
        if wire.CABLES[cable] is not None
        else ""
    )
    print(f"{cable:17} {ratios[0]:8.2f} {ratios[1]:8.2f} {less}")

# %% mesh-orders
print(wire.run("mesh_orders.py").outputs[0], end="")

# %% many-small
print(wire.run("many_small.py", cable=wire.FAR).outputs[0], end="")

# %% wrong-address
wire.run("wrong_address.py")

# %% orders
from math import log10

for cable in list(runs)[2:]:
    small, large = (
        runs[cable][what][0] / quick[what][0]
        for what in ("hops:128", "flat:4194304")
    )
    print(
        f"{cable:24} latency {log10(small):4.1f}  bandwidth {log10(large):4.1f}"
    )
inside = LINKS["NVLink 4 (H100)"]
for name in "InfiniBand NDR, 8 a node", "200 Gbit Ethernet", "1 Gbit Ethernet":
    later = LINKS[name].latency / inside.latency
    slower = inside.bytes_per_second / LINKS[name].bytes_per_second
    print(
        f"{name:24} latency {log10(later):4.1f}  bandwidth {log10(slower):4.1f}"
    )
