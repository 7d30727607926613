"""Simulate several CPU devices in one process before JAX starts, or report that it is too late.

Without this, JAX has one device on a laptop, and nothing can be sharded.

    >>> from minipod import devices
    >>> devices.simulate(8)
    >>> import jax
    >>> jax.device_count()
    8
"""

import sys
from typing import Any

from minipod.ranges import counted

__all__ = ["simulate"]


def have_started() -> bool:
    """Return whether JAX has started its devices in this process. This neither imports JAX nor starts anything."""
    if "jax" not in sys.modules:
        return False
    import jax

    config: Any = jax.config  # its type does not know its options
    before = config.jax_num_cpu_devices
    try:
        config.update("jax_num_cpu_devices", before + 1)  # refused once there are devices
    except RuntimeError:
        return True
    config.update("jax_num_cpu_devices", before)
    return False


def simulate(devices: int = 8) -> None:
    """Give this process `devices` simulated CPU devices, even on a machine with a GPU or TPU.

    Must be called before the first use of a device (`jax.devices()`, any computation). Raises RuntimeError if JAX has
    already started with different devices, ValueError if `devices` is not between 1 and 1024.
    A number set earlier in `JAX_NUM_CPU_DEVICES` or `XLA_FLAGS` is overridden, because this function sets
    `jax.config`, which takes precedence.
    """
    if not 1 <= devices <= 1024:
        raise ValueError(f"simulate(devices={devices}): choose between 1 and 1024")
    import jax

    try:
        jax.config.update("jax_num_cpu_devices", devices)  # raises once JAX has started
        jax.config.update("jax_platforms", "cpu")
    except RuntimeError:
        have, kind = jax.local_device_count(), jax.default_backend()
        if (have, kind) != (devices, "cpu"):
            raise RuntimeError(
                f"JAX has already started with {counted(have, f'{kind} device')}: "
                f"call minipod.devices.simulate({devices}) first, in a new process"
            ) from None
