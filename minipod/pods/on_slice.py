"""Make `jax.devices()`, `jax.default_backend()` and the like answer as on the slice for which a program is compiled.

So a program that calls them makes the slice's mesh and chooses kernels for TPUs, as it would on the slice. Anything
that it computes before it is compiled is computed on this machine's CPU.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import jax
from jax.experimental import mesh_utils
from jax.sharding import AxisType


@contextlib.contextmanager
def on_slice(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """Make JAX answer for these devices of a topology; yield a list of the meshes that `jax.set_mesh` is called with.

    For Auto axes, `jax.set_mesh` sets the mesh without its devices, so that values can still be computed here.
    """
    meshes: list[Any] = []
    mine = [device for device in devices if device.process_index == 0]
    real = {name: getattr(jax, name) for name in ("devices", "local_devices", "set_mesh")}
    platform = devices[0].platform

    def all_devices(backend: Any = None) -> list[Any]:
        return real["devices"](backend) if backend not in (None, platform) else list(devices)

    def local_devices(process_index: int | None = None, backend: Any = None, host_id: int | None = None) -> list[Any]:
        if backend not in (None, platform):
            return real["local_devices"](process_index, backend, host_id)
        return [d for d in devices if d.process_index == process_index] if process_index else mine

    def of_all(function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes all devices by default, rather than those of JAX's internals."""

        @functools.wraps(function)
        def asked(*arguments: Any, **more: Any) -> Any:
            given = inspect.signature(function).bind(*arguments, **more)
            if given.arguments.get("devices") is None:
                given.arguments["devices"] = all_devices()
            return function(*given.args, **given.kwargs)

        return asked

    def set_mesh(mesh: Any) -> Any:
        meshes.append(mesh)
        if any(kind != AxisType.Auto for kind in mesh.axis_types):
            return real["set_mesh"](mesh)
        return _Set(mesh)

    answers = {
        "devices": all_devices,
        "local_devices": local_devices,
        "make_mesh": of_all(jax.make_mesh),
        "set_mesh": set_mesh,
        "device_count": lambda backend=None: len(all_devices(backend)),
        "local_device_count": lambda backend=None: len(local_devices(backend=backend)),
        "process_count": lambda backend=None: 1 + max(d.process_index for d in devices),
        "default_backend": lambda: platform,
    }
    makers: dict[str, Any] = {
        name: of_all(getattr(mesh_utils, name)) for name in ("create_device_mesh", "create_hybrid_device_mesh")
    }
    with mock.patch.multiple(jax, **answers), mock.patch.multiple(mesh_utils, **makers):
        yield meshes


class _Set(AbstractContextManager[Any]):
    """The result of `jax.set_mesh`: the mesh is set already, and unset at the end of a `with` block."""

    def __init__(self, mesh: Any):
        self.mesh, self.inside = mesh, jax.sharding.use_abstract_mesh(mesh.abstract_mesh)
        self.inside.__enter__()

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(self, *_: object) -> None:
        self.inside.__exit__(None, None, None)
