from collections import defaultdict


# what: this answer believes that the events of a device are listed in the order of time, so the n-th in the list is the n-th that ran
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    meetings = defaultdict(list)
    seen = defaultdict(int)
    for device, name, start, _ in events:
        if name in ("all-reduce", "all-gather"):
            meetings[name, seen[device, name]].append((start, device))
            seen[device, name] += 1
    waited = defaultdict(float)
    for starts in meetings.values():
        last, device = max(starts)
        waited[device] += sum(last - start for start, _ in starts)
    device = max(waited, key=waited.get)
    return device, waited[device]
