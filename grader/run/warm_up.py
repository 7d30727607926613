"""Make a process ready to fork checks from: JAX imported, no backend started, one compilation cache for all."""

import contextlib
import gc
import importlib
from pathlib import Path

# What the first compilation, or the first array that is moved, would import: 50 ms in each child.
_LATE = ("jaxlib.mlir.dialects.mhlo", "jaxlib.mlir.dialects.builtin", "jax.experimental.multihost_utils")


def warm_up(cache: Path | str) -> None:
    """Import JAX once for all children, and let them share what they compile, in the folder `cache`."""
    import jax
    import jax.numpy  # noqa: F401 (children have it ready)

    for late in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(late)
    gc.freeze()  # children do not walk, and so copy, what they inherit; nor does the parent at its end
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
