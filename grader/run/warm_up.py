"""Prepare a process from which checks are forked: JAX imported, no backend started, one compilation cache for all."""

import contextlib
import gc
import importlib
from collections.abc import Iterator
from pathlib import Path

# What the first compilation, or the first array that is moved, would import: 50 ms in each child.
_LATE = ("jaxlib.mlir.dialects.mhlo", "jaxlib.mlir.dialects.builtin", "jax.experimental.multihost_utils")


@contextlib.contextmanager
def for_good() -> Iterator[None]:
    """Exempt everything that the block imports from garbage collection, now (a tenth of JAX's import time) and later.

    So children do not walk, and thereby copy, what they inherit; nor does the parent when it ends.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def warm_up(cache: Path | str) -> None:
    """Import JAX once for all children, and let them share their compiled programs in the folder `cache`."""
    with for_good():
        import jax
        import jax.numpy  # noqa: F401 (children have it ready)

        for late in _LATE:
            with contextlib.suppress(ImportError):
                importlib.import_module(late)
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
