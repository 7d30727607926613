"""The exercises of ch18_profile.

Work on your copy, answers/ch18_profile.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch18_profile.py 里作答，本文件保持原样。
"""


def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    """Find what bounds a step, and which change makes it shortest.

    times: a dict with the seconds of "compute", "memory" and "network", as in a
    plan. The step takes the longest of these times.
    changes: a dict from the name of each possible change to the factors by
    which it multiplies some of the times, such as `{"network": 0.5}`. The other
    times stay as they are.
    No two of the times are equal, and no two changes that shorten the step give
    the same step time.
    Returns (bound, change): which of the three times bounds the step now, and
    the name of the change that makes the step shortest, or None if no change
    makes it shorter.

    找出一步受限于什么，以及哪个改动能使它最短。

    times："compute"、"memory" 和 "network" 各自的秒数，与规划中的含义相同。一步的时间取其
    中最长的一个。
    changes：可以做的改动，以名字为键；每个改动说明三个时间中的哪几个要乘以多大的系数，没有
    提到的保持不变。
    三个时间互不相等；任何两个能使一步变短的改动，改动之后一步的时间也不相等。
    返回 (bound, change)，即现在一步受限于三者中的哪一个，以及使一步最短的改动的名字；没有
    改动能使它变短时，后者为 None。
    """
    # TODO: what would the three times be after each change?
    # TODO：每个改动之后，三个时间各是多少？
    raise NotImplementedError


def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    """Find the device for which the others wait longest.

    events: the events of a profile of several devices, in no particular order,
    each (device, name, start, end), with times in milliseconds. An event called
    "all-reduce" or "all-gather" is a collective of all devices. All devices run
    the same collectives in the same order, each several times: the n-th of one
    device meets the n-th of the others. All other events are computation.

    In a collective a device waits from its own start to the start of the last
    device. Devices wait only for the last one.
    Returns (device, milliseconds): the device that the others wait for longest,
    and how long they wait for it. Add up the waits of all other devices in all
    collectives. In every collective exactly one device starts last, and only
    one device has the longest total.

    找出其他设备在等哪个设备。

    events：几个设备的 profile，不按任何顺序排列，每一项是 (device, name, start, end)，时间
    以毫秒为单位。名为 "all-reduce" 或 "all-gather" 的是所有设备都参加的集合通信。所有设备
    按相同的顺序执行相同的集合通信，各执行多次：一个设备的第 n 次，与其他设备的第 n 次是同一
    次。其余的事件都是计算。

    在一次集合通信里，每个设备从自己开始的时刻，等到最后一个设备开始的时刻。其他设备等的都
    只是最后到的那个设备。
    返回 (device, milliseconds)，即在所有集合通信中合计被等得最久的设备，以及其他设备为它等
    待的总毫秒数。每次集合通信只有一个设备最后开始，合计被等得最久的设备也只有一个。
    """
    # TODO: which start of each device belongs to which collective?
    # TODO：每个设备的哪个开始时刻属于哪一次集合通信？
    raise NotImplementedError


def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    """Compute how long communication is exposed.

    products: (start, end) of the computations of a device, in milliseconds, in
    no particular order.
    collectives: (start, end) from each collective's `start` to its `done`, in
    no particular order. Several may be in flight at once, and so may several
    products.
    Returns the milliseconds during which at least one collective is in flight
    and no product runs.

    算出暴露在外的通信时间。

    products：一个设备上各个计算的 (start, end)，单位毫秒，不按任何顺序排列。
    collectives：每次集合通信从 start 到 done 的 (start, end)，不按任何顺序排列。可能同时有
    几个集合通信在进行，计算也是一样。
    返回至少有一个集合通信在进行，却没有任何计算在运行的毫秒数。
    """
    # TODO: between two neighbouring moments nothing changes.
    # TODO：在相邻的两个时刻之间，什么都不会改变。
    raise NotImplementedError
