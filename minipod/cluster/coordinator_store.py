"""The coordinator's store: a few words from process to process beside JAX's collectives, which may be out of step."""

from typing import Any


def _client() -> Any:
    from jax._src.distributed import global_state  # JAX has no public way to the coordinator's store

    if global_state.client is None:
        raise RuntimeError("there is no coordinator: call jax.distributed.initialize first")
    return global_state.client


def put(key: str, text: str) -> None:
    """Leave `text` under `key` for all processes; what was there is replaced."""
    _client().key_value_set(key, text, allow_overwrite=True)


def get(key: str, seconds: float) -> str:
    """What some process left under `key`, as soon as it is there. Raises TimeoutError after `seconds`."""
    try:
        return _client().blocking_key_value_get(key, max(int(seconds * 1000), 1))
    except Exception as error:
        if "DEADLINE_EXCEEDED" not in str(error):
            raise
        raise TimeoutError(f"nothing under {key!r} within {seconds:g} s") from None


def drop(key: str) -> None:
    """Take away what is under `key`."""
    _client().key_value_delete(key)
