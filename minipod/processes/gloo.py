"""Keep gloo, which carries the collectives of CPU devices, on one address.

JAX lets gloo listen, without any authentication, on whatever this machine's name resolves to: often the network card,
sometimes nothing or an address that is gone. JAX has no setting for the address, but the function that it calls takes a
`hostname`.
"""

from functools import partial
from typing import Any

from minipod import jax_private
from minipod.processes.imports import once_imported


def listen_on(address: str) -> None:
    """Make gloo listen only on `address` in this process, whether JAX has already been imported or not."""
    once_imported("jax", partial(_bind, address))


def _bind(address: str) -> None:
    library = jax_private.gloo_library()
    if library is None:
        return
    make = library.make_gloo_tcp_collectives

    def make_on_address(*arguments: Any, **keywords: Any) -> Any:
        try:
            return make(*arguments, **{"hostname": address} | keywords)
        except TypeError:
            jax_private.gloo_lacks_hostname()
            return make(*arguments, **keywords)

    library.make_gloo_tcp_collectives = make_on_address
