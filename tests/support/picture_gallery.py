"""One picture of every kind, and what the tests of pictures read from them."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import pictures, pods
from minipod.devices import simulate
from minipod.hlo.collectives import Collective
from minipod.pods import Plan
from minipod.profiles import Event, Lane, Note, Profile
from minipod.profiles.events import met

simulate(8)
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Device:
    """A device of a cluster that is not there: pictures read only the first two, a Mesh of JAX the others."""

    id: int
    process_index: int
    platform: str = "cpu"
    device_kind: str = "cpu"


TWO_HOSTS = [Device(2048 * p + i, p) for p in range(2) for i in range(4)]


def some_schedule() -> list[list[str]]:
    """Two stages, two microbatches, a tick of waiting between."""
    return [["F0", ""], ["F1", "F0"], ["", "F1"], ["", ""], ["B0", "B0"], ["", "B1"], ["B1", ""]]


def labels(picture: pictures.Picture) -> list[str]:
    return ["".join(t.itertext()) for t in ET.fromstring(picture.svg).iter(f"{SVG}text")]


def mesh(*shape: int) -> Mesh:
    return jax.make_mesh(shape, tuple("xyz"[: len(shape)]))


def on(mesh: Mesh, *spec: object) -> NamedSharding:
    return NamedSharding(mesh, P(*spec))


def pod(*shape: int) -> Mesh:
    """A mesh of devices that are not there, with axes x, y, z."""
    made = np.array([Device(i, i // 8) for i in range(int(np.prod(shape)))])
    return Mesh(made.reshape(shape), tuple("xyzw"[: len(shape)]))


def rows(mesh: Mesh, *axes: str) -> tuple[tuple[int, ...], ...]:
    """The positions of the devices that differ along `axes` only: the groups of a collective along them."""
    return pods.rows(dict(mesh.shape), axes)


def along(mesh: Mesh, op: str, *axes: str, bytes: int = 16, times: int | None = 1) -> Collective:
    return Collective(op, rows(mesh, *axes), bytes, times, axes)


def ring(mesh: Mesh, axis: str, times: int | None = 1) -> Collective:
    """Every device sends 16 bytes to the next one along `axis`."""
    pairs = tuple(pair for row in rows(mesh, axis) for pair in zip(row, (*row[1:], row[0]), strict=True))
    return Collective("collective-permute", pairs, 16, times, (axis,))


def all_ops(mesh: Mesh, axis: str) -> list[Collective]:
    ops = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast", "ragged-all-to-all")
    return [ring(mesh, axis, None), *(along(mesh, op, axis) for op in ops)]


def predict(params, x):
    return x @ params["w"]


PARAMS = {"w": np.ones((3, 2), np.float32)}
LOSS = np.exp(-np.linspace(0, 3, 50))
CORNERS = Collective("collective-permute", ((0, 7), (7, 0), (1, 6), (3, 4), (4, 5)), 16, 1, ("x", "y", "z"), ((0, 1),))


def some_profile(processes: int = 1, devices: int = 8) -> Profile:
    """Each device computes a millisecond longer than the one before, then all sum; 20 milliseconds in all."""
    lanes = [Lane(p, 2048 * p + d) for p in range(processes) for d in range(devices)]
    events = [Event(lane, "fusion.1", "compute", 0.001, 0.002 + i / 1000) for i, lane in enumerate(lanes)]
    events += [Event(lane, "psum.1", "all-reduce", 0.002 + i / 1000, 0.019) for i, lane in enumerate(lanes)]
    notes = tuple(Note(p, "load", 0.0, 0.001) for p in range(processes))
    return Profile(met(events), notes, 0.0, 0.020)


def some_plans() -> list[Plan]:
    """Four plans of one step: three fit, each bound by something else."""
    made = []
    for axes, peak, flops, moved, op, axis, sent in (
        ({"data": 16, "model": 1}, 5, 2e12, 10**9, "all-gather", "data", 10**6),
        ({"data": 4, "model": 4}, 15, 1e9, 10**10, "all-gather", "data", 10**6),
        ({"data": 1, "model": 16}, 9, 1e9, 10**9, "all-reduce", "model", 10**9),
        ({"data": 16}, None, 0, 0, "", "", 0),
    ):
        of = pods.mesh("v5e:4x4", **axes)
        c = (along(of, op, axis, bytes=sent),) if peak else None
        memory = {"peak": peak and peak * 2**30, "limit": int(15.75 * 2**30)}
        full = None if peak else "too large"
        work = ({"bf16": int(flops)}, int(moved)) if peak else (None, None)
        made.append(Plan("step", "v5e:4x4", of, peak is not None, memory, full, *work, c, (), None, {}))
    return made


# Each is made when it is first asked for: no JAX starts where tests are only collected.
MAKE = {
    "devices": lambda: pictures.devices(),
    "two hosts": lambda: pictures.devices(TWO_HOSTS),
    "hosts": lambda: pictures.hosts(TWO_HOSTS, "predict", "pmean"),
    "16 hosts": lambda: pictures.hosts([Device(i, i // 16) for i in range(256)]),
    "mesh 1": lambda: pictures.mesh(mesh(8)),
    "mesh 2": lambda: pictures.mesh(mesh(2, 4)),
    "mesh 3": lambda: pictures.mesh(mesh(2, 2, 2)),
    "mesh of 2 hosts": lambda: pictures.mesh(Mesh(np.array(TWO_HOSTS).reshape(2, 4), ("host", "x"))),
    "mesh of 256": lambda: pictures.mesh(pod(16, 16)),
    "1-D": lambda: pictures.sharding(on(mesh(8), "x"), (32,)),
    "2-D": lambda: pictures.sharding(jax.device_put(jnp.zeros((8, 8)), on(mesh(4, 2), "x", "y"))),
    "copies": lambda: pictures.sharding(jax.device_put(jnp.zeros((8, 8)), on(mesh(2, 4), None, "y"))),
    "not divided": lambda: pictures.sharding(jax.device_put(jnp.zeros((8, 8)), on(mesh(2, 4)))),
    "3-D": lambda: pictures.sharding(on(mesh(2, 2, 2), "x", "y", "z"), (4, 6, 8)),
    "4-D": lambda: pictures.sharding(on(mesh(2, 2, 2), "x", "y", None, "z"), (2, 4, 6, 8)),
    "0-D": lambda: pictures.sharding(jnp.float32(1)),
    "empty": lambda: pictures.sharding(on(mesh(8), None, "x"), (0, 8)),
    "mesh of 64": lambda: pictures.mesh(pod(4, 4, 4)),
    "mesh of 2048": lambda: pictures.mesh(pod(16, 16, 8)),
    "traffic 1": lambda: pictures.traffic(all_ops(mesh(8), "x")[:4], mesh(8)),
    "traffic 2": lambda: pictures.traffic(all_ops(mesh(2, 4), "y"), mesh(2, 4)),
    "traffic 2, both": lambda: pictures.traffic([along(mesh(2, 4), "all-to-all", "x", "y")], mesh(2, 4)),
    "traffic 3": lambda: pictures.traffic([*all_ops(mesh(2, 2, 2), "x")[:3], CORNERS], mesh(2, 2, 2)),
    "traffic of 16": lambda: pictures.traffic([ring(pod(16), "x", 15), along(pod(16), "all-reduce", "x")], pod(16)),
    "traffic of 4 × 4": lambda: pictures.traffic([ring(pod(4, 4), "x"), *all_ops(pod(4, 4), "y")[1:4]], pod(4, 4)),
    "traffic of 1024": lambda: pictures.traffic([ring(pod(1024), "x"), along(pod(1024), "all-reduce", "x")], pod(1024)),
    "no traffic": lambda: pictures.traffic([], mesh(2, 4)),
    "curve": lambda: pictures.curve({"one device": LOSS, "tensor parallel": LOSS, "data parallel": LOSS / 2}),
    "curve, logarithmic": lambda: pictures.curve({"one device": LOSS}, LOSS, "bytes", "seconds", logx=True, logy=True),
    "curve with dots": lambda: pictures.curve(
        {"one device": LOSS, "data parallel": LOSS / 2}, dots={"one device": LOSS * 2}
    ),
    "torus": lambda: pictures.torus(pods.mesh("v5e:4x4", data=4, model=4)),
    "torus, deep": lambda: pictures.torus(pods.mesh("v4:4x4x4", data=16, model=4), closes=4),
    "torus, two devices a chip": lambda: pictures.torus(pods.mesh("7x:2x2x1", x=2, y=4), closes=4),
    "plans": lambda: pictures.plans(some_plans()),
    "profile": lambda: pictures.profile(some_profile()),
    "profile of two processes": lambda: pictures.profile(some_profile(2, 4), ["load"]),
    "schedule": lambda: pictures.schedule(some_schedule()),
    "schedule, long": lambda: pictures.schedule([[f"F{m}b", f"B{m}"] for m in range(22)]),
    "ring": lambda: pictures.ring(TWO_HOSTS),
    "ring of 16": lambda: pictures.ring([Device(i * 5 % 16, i * 5 % 16 // 8) for i in range(16)]),
    "all-reduce": lambda: pictures.all_reduce(4),
    "flow": lambda: pictures.flow(predict, PARAMS, np.zeros((8, 4, 3)), in_axes=(None, 0)),
    "flow 16": lambda: pictures.flow(lambda a, b: a + b, np.zeros(16), np.zeros(16)),
}


class Gallery(dict[str, pictures.Picture]):
    def __missing__(self, name: str) -> pictures.Picture:
        return self.setdefault(name, MAKE[name]())


GALLERY = Gallery()


def every() -> list[tuple[str, pictures.Picture]]:
    return [(name, GALLERY[name]) for name in MAKE]


def curves(picture: pictures.Picture) -> list[list[tuple[float, float]]]:
    lines = [p.attrib["d"] for p in ET.fromstring(picture.svg).iter(f"{SVG}path") if "stroke-linejoin" in p.attrib]
    return [[(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", d)] for d in lines]
