"""What a device sends for a collective whose algorithm is a ring: the currency of every bill."""

from fractions import Fraction

_WHOLE_ARRAY = ("collective-permute", "collective-broadcast")


def exactly(op: str, size: int, devices: int, times: int = 1) -> Fraction:
    """Bytes that leave each device for `op` over an array of `size` bytes in a group of so many devices.

    2(g-1)/g of the array for an all-reduce of g devices, (g-1)/g for an all-gather, a reduce-scatter and an all-to-all
    (a ragged one as if it were even), all of it for a permute and a broadcast.
    """
    share = Fraction(1) if op in _WHOLE_ARRAY else Fraction(devices - 1, devices) * (2 if op == "all-reduce" else 1)
    return share * size * times


def plain(size: Fraction) -> int | float:
    """An int where it is whole: 16 bytes all-reduced by 8 devices send 28, by 3 send 21.33…"""
    return int(size) if size.denominator == 1 else float(size)
