"""Keep gloo, which carries the collectives of CPU devices, on one address.

JAX lets gloo listen, without any authentication, on whatever this machine's name resolves to: often the network card,
sometimes nothing or an address that is gone. JAX has no setting for that, but the function it calls takes a `hostname`.
"""

import importlib.util
import sys
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_CALLER = "jax._src.xla_bridge"  # makes the CPU backend of a process in a cluster


def listen_on(address: str) -> None:
    """From now on gloo listens on `address` only, in this process, whether JAX has been imported or will be."""
    if loaded := sys.modules.get(_CALLER):
        _bind(loaded, address)
    else:
        sys.meta_path.insert(0, _Later(address))


def _bind(caller: ModuleType, address: str) -> None:
    library = caller._jax
    library.make_gloo_tcp_collectives = partial(library.make_gloo_tcp_collectives, hostname=address)


class _Later(MetaPathFinder):
    """Binds as soon as JAX has been imported; a program that does not use JAX does not pay for it."""

    def __init__(self, address: str):
        self.address = address

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != _CALLER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_bind(module: ModuleType) -> None:
                execute(module)
                _bind(module, self.address)

            spec.loader.exec_module = execute_and_bind
        return spec
