"""Serialize arguments: they are drawn in one process, and restored in another that lacks the tests.

Objects that a test or its lesson defines (a function to apply, a small class) are serialized by value, with
cloudpickle, arrays as their shards, and devices as their numbers. Restoring such bytes may run code, so it is done
only in a sandbox, and only with bytes that the grader wrote.
"""

import io
import pickle
import sys
from typing import Any

import cloudpickle
import numpy as np

from grader.exercise.asked import Asked
from grader.see.asking import Asker


def dumps(cases: list[tuple[Any, ...]], kept: list[Asked]) -> bytes:
    """Return the cases as bytes. Raises TypeError or PicklingError for objects that cannot leave, such as a lock.

    kept  is filled with the arguments that stay here; the bytes have an `Asker` with their number instead
    """
    if lessons := sys.modules.get("lessons"):  # a room has no lessons to import it from
        cloudpickle.register_pickle_by_value(lessons)
    out = io.BytesIO()
    _Pickler(out, kept).dump(cases)
    return out.getvalue()


def loads(data: bytes) -> list[tuple[Any, ...]]:
    """Restore the arguments of `dumps` in a process with the same number of devices."""
    return pickle.loads(data)


def blanked(args: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    """Replace the numbers in the arguments at `places` by zeros; shapes, dtypes and layouts are kept."""
    import jax

    return tuple(jax.tree.map(_zeros, arg) if i in places else arg for i, arg in enumerate(args))


class _Pickler(cloudpickle.Pickler):
    """A pickler that extends cloudpickle's to arrays, devices, and arguments that stay behind."""

    def __init__(self, out: io.BytesIO, kept: list[Asked]) -> None:
        super().__init__(out)
        self._kept = kept

    def reducer_override(self, obj: Any) -> Any:
        import jax

        if isinstance(obj, jax.Array):
            return _reduced(obj)
        if isinstance(obj, jax.Device):
            return _device, (int(obj.id),)
        if isinstance(obj, Asked):
            self._kept.append(obj)
            return Asker, (len(self._kept) - 1, obj.name, obj.unknown)
        return super().reducer_override(obj)


def _reduced(x: Any) -> tuple[Any, ...]:
    """Return how to restore this array from one process's shards, each with the number of its device."""
    import jax
    import jax.numpy as jnp

    if jnp.issubdtype(x.dtype, jax.dtypes.extended):  # a key made by jax.random.key
        return _key, (jax.random.key_data(x), str(jax.random.key_impl(x)))
    if not x.committed:
        (where,) = x.devices()
        return _uncommitted, (np.asarray(x), bool(x.weak_type), int(where.id))
    shards = [(int(shard.device.id), np.asarray(shard.data)) for shard in x.addressable_shards]
    return _array, (tuple(x.shape), x.sharding, shards)


def _key(data: Any, impl: str) -> Any:
    import jax

    return jax.random.wrap_key_data(data, impl=impl)


def _uncommitted(x: np.ndarray, weak: bool, number: int) -> Any:
    import jax
    import jax.numpy as jnp

    with jax.default_device(_device(number)):
        return jnp.asarray(x.item()).astype(x.dtype) if weak and x.shape == () else jnp.asarray(x)


def _array(shape: tuple[int, ...], sharding: Any, shards: list[tuple[int, np.ndarray]]) -> Any:
    import jax

    parts = [jax.device_put(part, _device(number)) for number, part in shards]
    return jax.make_array_from_single_device_arrays(shape, sharding, parts)


def _device(number: int) -> Any:
    import jax

    return next(device for device in jax.devices() if device.id == number)


def _zeros(x: Any) -> Any:
    import jax

    if isinstance(x, np.ndarray):
        return np.zeros_like(x)
    if not isinstance(x, jax.Array):
        return x
    if not x.committed:
        return _uncommitted(np.zeros(x.shape, x.dtype), False, next(iter(x.devices())).id)
    shards = [(shard.device.id, np.zeros(shard.data.shape, x.dtype)) for shard in x.addressable_shards]
    return _array(x.shape, x.sharding, shards)
