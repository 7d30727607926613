"""Find arrays that JAX considers replicated although their devices hold different values.

    same_replicas({"weights": weights, "momentum": momentum})  # in every process, now and then

JAX does not check how an array was put together. If each process brings its own values and says `P()`, JAX considers
the array fully replicated, and each process computes with different values. Here, each process hashes what its devices
hold, piece by piece, and compares the hashes through the coordinator, as `minipod.guard` does. A collective would not
help, because it assumes that replicas are equal.

A comparison copies all replicated pieces to the host. Compare after the start, after a restore, and every few hundred
steps.

    >>> import jax, numpy as np
    >>> from minipod import replicas
    >>> parts = [jax.device_put(np.float32([d.id // 4]), d) for d in jax.devices()]
    >>> at = jax.NamedSharding(jax.make_mesh((8,), ("data",)), jax.P())
    >>> w = jax.make_array_from_single_device_arrays((1,), at, parts)
    >>> try:
    ...     replicas.same_replicas({"w": w})
    ... except replicas.ReplicasDiffer as error:
    ...     print(str(error).replace(": ", ":\\n"))
    the arrays['w'][:] should be the same everywhere, but is not:
    process 0 (device 0) holds different values from process 0 (device 4)
"""

import hashlib
import json
from typing import Any

import jax
import numpy as np

from minipod.guard import meet

__all__ = ["ReplicasDiffer", "same_replicas"]


class ReplicasDiffer(RuntimeError):
    """Raised if copies differ although JAX considers the array replicated; the message names two that differ."""


def same_replicas(tree: Any, name: str = "the arrays", seconds: float = 10.0) -> None:
    """Compare, bit for bit, all copies of the parts of arrays in `tree` that several devices should hold.

    All processes must call this. Data that only one device holds is not read, nor are leaves other than a `jax.Array`.

    name     what is compared, for the message
    seconds  how long to wait for the other processes

    Raises ReplicasDiffer, in every process, if copies differ; OutOfStep if another process makes a different call or
    none.
    """
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    arrays = [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves if isinstance(leaf, jax.Array)]
    mine = [[where, part, device.id, digest] for where, leaf in arrays for part, device, digest in _pieces(leaf)]
    if jax.process_count() == 1:
        parts = [mine]
    else:
        layout = ", ".join(f"{where or 'x'} {leaf.shape} {leaf.dtype}" for where, leaf in arrays)
        parts = [json.loads(text) for text in meet(f"same_replicas of {name} ({layout})", json.dumps(mine), seconds)]
    first: dict[tuple[str, str], tuple[int, int, str]] = {}
    for process, held in enumerate(parts):
        for where, part, device, digest in held:
            # pyrefly: ignore[no-matching-overload]
            before = first.setdefault((where, part), (process, device, digest))
            if before[2] != digest:
                # pyrefly: ignore[bad-argument-type]
                here, other = _holder(before[0], before[1]), _holder(process, device)
                what = f"{name}{where}{part and f'[{part}]'} should be the same everywhere, but is not"
                raise ReplicasDiffer(f"{what}: {here} holds different values from {other}")


def has_copies(tree: Any) -> bool:
    """Return whether several devices should hold the same part of an array in `tree`."""
    arrays = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    parts = [[_text(i, x.shape) for i in x.sharding.devices_indices_map(x.shape).values()] for x in arrays]
    return any(len(set(of)) < len(of) for of in parts)


def _holder(process: int, device: int) -> str:
    return f"process {process} (device {device})"


def _pieces(x: jax.Array) -> list[tuple[str, Any, str]]:
    """Return (part, device, hash) of each piece on this process's devices that another device should hold, too."""
    where = {d: _text(index, x.shape) for d, index in x.sharding.devices_indices_map(x.shape).items()}
    often = list(where.values())
    shared = [s for s in x.addressable_shards if often.count(where[s.device]) > 1]
    return [(where[s.device], s.device, _hash(s.data)) for s in shared]


def _text(index: tuple[slice, ...], shape: tuple[int, ...]) -> str:
    """Return `0:8, :` for the part of an array that a device holds."""
    ends = [s.indices(n)[:2] for s, n in zip(index, shape, strict=True)]
    return ", ".join(":" if end == (0, n) else f"{end[0]}:{end[1]}" for end, n in zip(ends, shape, strict=True))


def _hash(x: jax.Array) -> str:
    if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    return hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=8).hexdigest()
