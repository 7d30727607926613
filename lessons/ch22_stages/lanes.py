"""What the processes of a pipeline noted of one step, as lanes of a player."""

from schedule import one_f_one_b

from minipod.drawing.phrases import several
from minipod.pictures import Timeline

BACK = 8  # a backward has the colour of its microbatch, and a pattern over it
APART = 0.1  # seconds: what ends closer together ends in the same frame


def lanes(reports, orders=one_f_one_b):
    """A lane for each stage, in seconds after the first start; a frame for
    each moment at which operations ended.

    reports: as `stage.run` gives it. orders: the schedule that ran.
    """
    stages, microbatches = len(reports), len(reports[0]["log"]) // 2
    begin = min(start for one in reports for start, _ in one["log"])
    line = Timeline([f"stage {s}" for s in range(stages)], "seconds")
    done = []
    for s, mine in enumerate(orders(stages, microbatches)):
        for op, (start, end) in zip(mine, reports[s]["log"], strict=True):
            colour = op.microbatch + BACK * (op.kind == "B")
            label = f"{op.kind}{op.microbatch}"
            line.span(s, start - begin, end - begin, label, colour)
            done.append((end - begin, s, label))
    frames = []
    for moment in sorted(done):
        if not frames or moment[0] - frames[-1][0][0] > APART:
            frames.append([])
        frames[-1].append(moment)
    for frame in frames:
        now = frame[-1][0]
        ended = [
            ["has ended", ["word", f"stage {s}"], what] for _, s, what in frame
        ]
        line.step(now, ["colon", ["seconds in", f"{now:.2f}"], several(ended)])
    return line
