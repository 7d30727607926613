"""Expect errors: print JAX's message, shortened, and fail if JAX no longer raises the error.

This is for documentation and tests that show an error, whose message may change from one version of JAX to the next.

    >>> import jax.numpy as jnp
    >>> from minipod.expect import expect_error
    >>> with expect_error(TypeError, "contracting dimensions"):
    ...     jnp.ones(3) @ jnp.ones(4)
    TypeError: dot_general requires contracting dimensions to have the same shape,
    got (3,) and (4,).
"""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["expect_error", "quote"]

WIDTH, LINES = 78, 3  # a quotation is at most three lines of 78 columns


@contextmanager
def expect_error(kind: type[BaseException] | tuple[type[BaseException], ...], text: str = "") -> Iterator[None]:
    """Run a block that must raise `kind` with `text` in its message, and print that error, shortened.

        with expect_error(ValueError, "in_specs"):
            old_call()

    Raises AssertionError if the block raises nothing, a different error, or the same error with a different message.
    """
    wanted = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
    if text:
        wanted += f" with {text!r} in its message"
    try:
        yield
    except BaseException as error:
        if isinstance(error, kind) and text in str(error):
            print(quote(error, text))
            return
        if not isinstance(error, Exception):  # such as Ctrl-C
            raise
        raise AssertionError(f"expected {wanted}, but this was raised: {quote(error)}") from error
    raise AssertionError(f"expected {wanted}, but nothing was raised")


def quote(error: BaseException, text: str = "") -> str:
    """Return `Type: message` in at most three lines of 78 columns: the first sentences of the message, up to `text`.

    If `text` would be cut off, the quotation begins with a later sentence, so that it shows `text`.
    """
    message = " ".join(str(error).split())
    name = type(error).__name__
    if not message:
        return f"{name} (without a message)"
    room = WIDTH * LINES - len(name) - 20  # wrapping wastes some columns of each line
    begin = _begin(message, text, room)
    sentence = ("… " if begin else "") + message[begin:]
    sentence = _cut(sentence, room, keep=sentence.find(text) + len(text))
    lines = textwrap.wrap(f"{name}: {sentence}", WIDTH, break_on_hyphens=False)
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], lines[LINES - 1][: WIDTH - 2] + " …"]
    return "\n".join(lines)


def _begin(message: str, text: str, room: int) -> int:
    """Return where to begin: at 0 or, if that would cut off `text`, at the start of its sentence, or near `text`."""
    at = message.find(" ".join(text.split()))
    if at + len(text) <= room:
        return 0
    starts = [m.end() for m in re.finditer(r"[.!?:;] (?=\S)", message[:at])]
    if starts and at - starts[-1] + len(text) <= room:
        return starts[-1]
    near = at - room // 3
    return message.find(" ", near, at) + 1 or near


def _cut(sentence: str, room: int, keep: int) -> str:
    """Return the fewest whole sentences with the first `keep` characters, if they fit in `room`; else whole words."""
    ends = [m.end() for m in re.finditer(r"(?<!i\.e)(?<!e\.g)[.!?](?= |$)", sentence[:room])]
    if enough := [end for end in ends if end >= max(keep, WIDTH // 2)]:
        return sentence[: enough[0]]
    return sentence if len(sentence) <= room else sentence[: max(sentence.rfind(" ", 0, room), keep)] + " …"
