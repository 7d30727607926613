"""A recorded night in lanes: what each start did, and what it did again."""

from minipod.pictures import Timeline


def restarts(night: dict) -> Timeline:
    """A lane for each start, with the last step of each piece of work; steps
    that an earlier start had done have the colour of the start that did them.

    night: "starts", of each [second, step] for each step; "output".
    """
    starts = night["starts"]
    line = Timeline([f"start {i + 1}" for i in range(len(starts))], "seconds")
    done, said = 0, _said(night["output"])
    for i, steps in enumerate(starts):
        (begin, first), (end, last) = steps[0], steps[-1]
        again = [second for second, step in steps if step <= done]
        if again:
            line.span(i, begin, again[-1], str(done), i - 1)
        line.span(i, again[-1] if again else begin, end, str(last), i)
        number = str(i + 1)
        line.step(begin, ["goes on", f"{begin:.0f}", number, first - 1])
        words = [f"{end:.0f}", number, first, last]
        did = (
            ["has done", *words] if not again else ["again", *words, len(again)]
        )
        line.step(end, ["colon", did, ["list", *said[i]]])
        done = max(done, last)
    return line


def _said(output: list[str]) -> list[list[str]]:
    """What the job printed from each start to the next."""
    said: list[list[str]] = []
    for text in output:
        if text.startswith("begins after"):
            said.append([])
        elif said:
            said[-1].append(text)
    return said
