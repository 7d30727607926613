"""Assert what a compiled program sends, holds and multiplies; a failure reports the actual figures.

All but `assert_replicas_equal` compile `function` for `args` (arrays, NumPy arrays or ShapeDtypeStructs with shardings)
on the devices of this machine, without running it, and raise ValueError if no budget is given. A program that
`.lower(…).compile()` returned is taken as it is, without `args`. A TPU's compiler may give different figures
(`minipod.pods`).
"""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from minipod.hlo.compiled import compiled
from minipod.ranges import counted

__all__ = ["assert_memory", "assert_replicas_equal", "assert_traffic", "assert_work"]


def assert_traffic(
    function: Callable[..., Any],
    *args: Any,
    sent: float | None = None,
    most: float | None = None,
    only: Collection[str] | None = None,
    along: str | None = None,
    mesh: Any = None,
) -> None:
    """Fail unless each device sends `sent` bytes, or at most `most`, and uses only the collectives in `only`.

    sent, most  bytes that leave one device (ring model; a collective in a loop counts once per iteration)
    only        a set such as {"all-reduce"}; if it is empty, nothing at all may be sent
    along       count only collectives along this mesh axis, and those whose axes are unknown
    mesh        needed if the arguments have none

    Raises ValueError if no budget could fail, for an axis that the mesh does not have and for a program on one device
    (unless it has a mesh, and JAX has more devices or sent is 0); also for a custom call that may send.
    """
    __tracebackhide__ = True
    from minipod import traffic

    _some(sent=sent, most=most, only=only)
    only = {only} if isinstance(only, str) else only
    bill = traffic.of(function, *args, mesh=mesh)
    _can_send(bill, along, sent)
    counted_here = [c for c in bill if along is None or c.axes is None or along in c.axes]
    wrong: list[str] = []
    if sent is not None or most is not None:
        total = traffic.total(counted_here)
        unknown = " or unknown axes" if any(c.axes is None for c in counted_here) else ""
        across = f" along {along}{unknown}" if along else ""
        sends = f"each device sends {counted(total, 'byte')}{across}"
        if sent is not None and total != sent:
            wrong.append(f"{sends}, not {sent:,}")
        if most is not None and total > most:
            wrong.append(f"{sends}, more than {most:,}")
    if only is not None and (others := {c.op for c in counted_here} - set(only)):
        wrong.append(f"found {', '.join(sorted(others))}, but {_allowed(only)}")
    if wrong:
        pytest.fail("; ".join(wrong) + "\n" + str(traffic.table(bill)))


def assert_memory(
    function: Callable[..., Any],
    *args: Any,
    temporary: int | None = None,
    peak: int | None = None,
    arguments: int | None = None,
) -> None:
    """Fail if a device needs more bytes than given: for temporaries, at the peak, or for the arguments.

    arguments: bytes of a device's share of the arguments. Source: `compiled.memory_analysis()`. Raises ValueError if
    this backend reports no peak, or no memory at all.
    """
    __tracebackhide__ = True
    _some(temporary=temporary, peak=peak, arguments=arguments)
    analysis: Any = compiled(function, args).memory_analysis()
    if analysis is None:
        raise ValueError("this backend's compiler does not report how much memory a program needs")
    names = {
        "temporaries": ("temp_size_in_bytes", temporary),
        "peak": ("peak_memory_in_bytes", peak),
        "arguments": ("argument_size_in_bytes", arguments),
    }
    wrong: list[str] = []
    for name, (of_xla, most) in names.items():
        size = int(getattr(analysis, of_xla, 0))
        if most is not None and name == "peak" and not size:
            raise ValueError("this backend's compiler reports no peak: give temporary instead")
        if most is not None and size > most:
            wrong.append(f"{name} {counted(size, 'byte')} > {most:,}")
    if wrong:
        pytest.fail("on each device: " + "; ".join(wrong))


def assert_work(function: Callable[..., Any], *args: Any, flops: int | None = None, most: int | None = None) -> None:
    """Fail unless a device does `flops` FLOPs, or at most `most`, in matrix products and convolutions.

    Work in a loop counts once per iteration. Raises ValueError for a loop of unknown length.
    """
    __tracebackhide__ = True
    from minipod.hlo import text
    from minipod.hlo.work import work

    _some(flops=flops, most=most)
    found = work(text.parse(compiled(function, args).as_text() or ""))
    if found.unseen:
        raise ValueError(f"the FLOPs of {', '.join(found.unseen)} are unknown: the program states no cost for it")
    count = sum(found.flops.values())
    if flops is not None and count != flops:
        pytest.fail(f"each device does {count:,} FLOPs, not {flops:,}{_times(count, flops)}")
    if most is not None and count > most:
        pytest.fail(f"each device does {count:,} FLOPs, more than {most:,}{_times(count, most)}")


def assert_replicas_equal(tree: Any, name: str = "the arrays") -> None:
    """Fail unless the copies of arrays in `tree` that should be equal are equal, bit for bit.

    Every process of the cluster must call this. JAX itself does not check the copies; see `minipod.replicas`. An array
    on one device, such as one made without a sharding, has no copies. Raises ValueError if no array has any.
    """
    __tracebackhide__ = True
    from minipod.replicas import ReplicasDiffer, has_copies, same_replicas

    if not has_copies(tree):
        raise ValueError(f"nothing to compare in {name}: no array has copies on several devices")
    try:
        same_replicas(tree, name)
        return
    except ReplicasDiffer as error:
        message = str(error)
    pytest.fail(message)


def _some(**budgets: Any) -> None:
    __tracebackhide__ = True
    *first, last = budgets
    if all(value is None for value in budgets.values()):
        raise ValueError(f"nothing to compare with: give {', '.join(first)} or {last}")
    if nan := [name for name, value in budgets.items() if value != value]:  # noqa: PLR0124
        raise ValueError(f"{nan[0]} is not a number")


def _can_send(bill: Any, along: str | None, sent: float | None) -> None:
    """Raise ValueError if what a program sends cannot be known, or is nothing whatever the program does."""
    __tracebackhide__ = True
    import jax

    if bill.calls:
        raise ValueError(f"the bytes that the custom call {bill.calls[0]} sends cannot be counted")
    if bill.devices == 1 and (bill.axes is None or (jax.device_count() == 1 and sent != 0)):
        raise ValueError(
            "this program runs on one device, so it sends nothing: give its arguments a sharding over several devices, "
            "or mark the test with devices(n)"
        )
    if along is not None and along not in (bill.axes or ()):
        has = f"the mesh has the axes {', '.join(bill.axes)}" if bill.axes else "no mesh is known: give mesh"
        raise ValueError(f"along={along!r}: {has}")


def _allowed(only: Collection[str]) -> str:
    if not only:
        return "nothing may be sent"
    return f"only {' and '.join(sorted(only))} {'is' if len(only) == 1 else 'are'} allowed"


def _times(count: int, stated: int) -> str:
    share = f"{count / stated:.3g}" if stated else "1"
    return "" if share == "1" else f" ({share} times as many)"
