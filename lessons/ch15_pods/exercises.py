"""The exercises of ch15_pods.

Work on your copy, answers/ch15_pods.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch15_pods.py 里作答，本文件保持原样。
"""

from collections.abc import Callable


def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    """Find the largest batch that fits, with few compilations.

    plan: plan(n) compiles the step for a batch of n rows, where n is in `rows`,
    and returns a dict. "fits" is True or False; "memory" has "arguments",
    "peak" and "limit", in bytes. If the step does not fit, "arguments" and
    "peak" are None. If n rows do not fit, no larger number of rows fits.
    rows: a list of batch sizes, increasing.
    Returns the largest number in `rows` that fits, or None if none fits.
    Budget: at most `len(rows).bit_length()` compilations; one more raises
    RuntimeError.

    用尽量少的编译次数，找出放得下的最大批次。

    plan：plan(n) 用 n 行的批次编译这一步，n 是 rows 中的一个；它返回一个字典："fits" 表示
    是否放得下；"memory" 里有 "arguments"、"peak" 和 "limit"，单位是字节，放不下时前两项为
    None。如果 n 行放不下，更多的行也放不下。
    rows：从小到大排列的批次大小。
    返回 rows 里放得下的最大批次；一个都放不下时返回 None。
    预算：最多编译 `len(rows).bit_length()` 次，再多一次就会抛出 RuntimeError。
    """
    # TODO: each compilation should rule out half of the remaining sizes.
    # TODO：每次编译都应该排除剩下的一半。
    raise NotImplementedError


def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    """Choose the machine and mesh on which a step is cheapest in chip-seconds.

    plans: a list of plans of the same step for several machines, each a dict.
    "on" is the name of the slice; "mesh" has the axes, one or several, with
    their sizes; "fits" is True or False; "memory" has "peak" and "limit", in
    bytes; and "seconds" has "compute", "memory" and "network". If a plan does
    not fit, its peak and all its seconds are None.
    deadline: the largest number of seconds that the step may take.

    A step takes the longest of its three times. It costs the number of devices
    of the mesh times the time that it takes. Choose among the plans that fit,
    whose peak is at most 90% of the limit, and whose step takes at most
    `deadline` seconds. No two of these plans cost the same.
    Returns (on, mesh) of the cheapest of these plans, or None if there is none.

    为一步训练选择机器和网格，使芯片数乘以秒数最小。

    plans：同一步训练在几种机器上的规划，每一项是一个字典，其中 "on" 是机器的名字，"mesh"
    是各轴的大小（可以只有一个轴），"fits" 表示是否放得下；"memory" 里有 "peak" 和
    "limit"，单位是字节；"seconds" 里有 "compute"、"memory" 和 "network" 三个时间，单位是
    秒。放不下时，peak 和三个时间都是 None。
    deadline：这一步最多可以用多少秒。

    一步的时间取 3 个时间中最长的一个，代价等于网格的设备数乘以这个时间。只在满
    足下列条件的规划里选：放得下，peak 不超过 limit 的 90 %，并且一步的时间不超
    过 `deadline` 秒。这些规划的代价互不相同。
    返回其中代价最小的规划的 (on, mesh)；没有符合条件的规划时返回 None。
    """
    # TODO: leave out the plans that are not allowed, then take the cheapest.
    # TODO：先去掉不能用的，再取代价最小的。
    raise NotImplementedError


def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    """Find the mesh axis on which a step spends the most network time.

    collectives: a list of entries
    `{"op": …, "bytes": b, "times": t, "axis": a}`. Each of them runs t times
    along the mesh axis a, on an array of b bytes, as in a traffic table. "op"
    is "all-gather", "reduce-scatter" or "all-reduce".
    lines: a dict from a mesh axis to the lines of the torus that it takes, each
    (chips, ring), where `ring` says whether the line is closed. The number of
    chips on the axis is the product of the chips of its lines. A closed line
    counts as 2 links, any other line as 1; the links of an axis are the links
    of all its lines together.
    speed: the bytes per second of a link, in one direction.

    With n chips on the axis, an all-gather or a reduce-scatter sends b (n-1)/n
    bytes at `speed` times the number of links of the axis. An all-reduce takes
    twice as long. Ignore latencies.
    Returns (axis, seconds): the axis whose collectives take the longest in
    total, and that time.

    找出一步训练在哪个网格轴上花的网络时间最多。

    collectives：每一项为 `{"op": …, "bytes": b, "times": t, "axis": a}`，表示
    这个操作沿网格轴 a 执行 t 次，每次的数组为 b 字节，各项的含义与通信量表相同。
    op 是 "all-gather"、"reduce-scatter" 或
    "all-reduce"。
    lines：每个网格轴占用了环面的哪些线，每条线用一个元组表示，由芯片数和 ring
    组成，ring 表示这条线是否闭合。各条线的芯片数之积，就是轴上的芯片数。闭合的
    线按 2 条链路计，不闭合的按 1 条计；轴的链路数是各条线的链路数之和。
    speed：一条链路单方向每秒的字节数。

    设轴上共有 n 个芯片，那么 all-gather 或 reduce-scatter 的时间是 b (n-1)/n 字节除以
    （speed 乘以这个轴的链路数），all-reduce 的时间是它的两倍。延迟不计。
    返回 (axis, seconds)，即集合通信的时间加起来最长的那个轴，以及加起来的时间。
    """
    # TODO: for each axis, add up the seconds of everything that runs along it.
    # TODO：对每个轴，把沿它进行的所有通信的秒数加起来。
    raise NotImplementedError


def rows_to_hide(
    rows: int, compute: float, network: dict[str, float], step: int
) -> int | None:
    """Find the smallest batch whose arithmetic takes as long as the network.

    rows: the batch size to which the times below belong.
    compute: the seconds that the arithmetic takes.
    network: a dict of seconds. network["data"], above 0, is the time along
    "data", where weights and their gradients travel; network["model"] is the
    time along "model", where activations travel. The transfers along the two
    axes run one after the other.
    step: the batch size must be a multiple of this number. The mesh does not
    change.
    Returns the smallest multiple of `step` for which the arithmetic takes at
    least as long as the network, or None if there is none, however large the
    batch.

    求最小的批次，使计算的时间不少于网络的时间。

    rows：下面这些时间所对应的批次的行数。
    compute：计算需要的秒数。
    network：network["data"] 是沿 "data" 轴传权重和权重的梯度所用的秒数，大于 0；
    network["model"] 是沿 "model" 轴传激活值所用的秒数；这两种传输先后进行。
    step：批次的行数必须是 step 的倍数。网格不变。
    返回使计算时间不少于网络时间的最小行数，必须是 step 的倍数；批次再大也做不
    到时返回 None。
    """
    # TODO: which of the three times grow with the batch size?
    # TODO：三个时间里，哪些随批次变大而变长？
    raise NotImplementedError
