"""Exchange short texts through the coordinator's store, which works even if the processes are out of step.

Without a coordinator, or if minipod cannot find its store in this JAX, `put`, `get` and `drop` raise RuntimeError.
"""

from typing import Any

from minipod import jax_private

_CALLS = ("key_value_set", "blocking_key_value_get", "key_value_delete")


def is_known() -> bool:
    """Return whether minipod can use this JAX's store, True without a coordinator; if not, say so on stderr."""
    import jax

    if not jax.distributed.is_initialized():
        return True
    client = jax_private.coordinator_client()
    if client is None:
        return False
    lacking = [call for call in _CALLS if not hasattr(client, call)]
    for call in lacking:
        jax_private.coordinator_lacks(call)
    return not lacking


def _client() -> Any:
    import jax

    if not jax.distributed.is_initialized():
        raise RuntimeError("there is no coordinator: call jax.distributed.initialize first")
    if not is_known():
        raise RuntimeError(f"minipod cannot use the coordinator's store of JAX {jax.__version__}")
    return jax_private.coordinator_client()


def put(key: str, text: str) -> None:
    """Store `text` under `key` for all processes, replacing any older text."""
    _client().key_value_set(key, text, allow_overwrite=True)


def get(key: str, seconds: float) -> str:
    """Wait for the text under `key` and return it. Raises TimeoutError after `seconds`."""
    try:
        return _client().blocking_key_value_get(key, max(int(seconds * 1000), 1))
    except Exception as error:
        if "DEADLINE_EXCEEDED" not in str(error):
            raise
        raise TimeoutError(f"nothing was stored under {key!r} within {seconds:g} s") from None


def drop(key: str) -> None:
    """Delete the text under `key`."""
    _client().key_value_delete(key)
