"""The coordinator's store: a few words from process to process beside JAX's collectives, which may be out of step."""

from typing import Any

from minipod.processes.private import private

_STORE = "jax._src.distributed:global_state.client"  # JAX has no public way to it
_CALLS = ("key_value_set", "blocking_key_value_get", "key_value_delete")


def is_known() -> bool:
    """Whether minipod knows the way to this JAX's store; if not, one sentence says so."""
    import jax

    otherwise = "minipod cannot compare what the processes do"
    return not jax.distributed.is_initialized() or all(private(f"{_STORE}.{call}", otherwise) for call in _CALLS)


def _client() -> Any:
    import jax

    if not jax.distributed.is_initialized():
        raise RuntimeError("there is no coordinator: call jax.distributed.initialize first")
    if not is_known():
        raise RuntimeError(f"minipod does not know the way to the coordinator's store in JAX {jax.__version__}")
    return private(_STORE, "")


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
