"""Describe pictures as data: phrases, each a key with values, which templates turn into any language.

    ["has", 1, ["device", 4, "4–7"]]    →    host 1 has devices 4–7

A picture keeps its phrases in its SVG, so that a page in another language can describe it with its own templates.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# [key, *values], or text that is the same in every language: code, numbers, names.
Phrase = Any

# {0}, {1}: the values. {s}: "s", unless the first value is 1. The keys "list" and "clauses" join all values.
ENGLISH = {
    "stop": ". ", "list": "; ", "clauses": ", ", "colon": "{0}: {1}", "caption": "{0}. {1}",
    "count": "{0} device{s}", "hosts": "{0} host{s}", "device": "device{s} {1}",
    # devices, hosts
    "on": "{0} on {1}: {2}", "has": "host {0} has {1}",
    "mapped": "{0} is mapped to every device; {1} combines the results of all of them "
              "and hands the combined result back",
    # mesh
    "mesh": "A mesh of {0}, {1}", "in order": "{0}, in this order", "at": "at {0}", "place": "{0} {1}",
    # sharding
    "array": "An array {0}", "number": "A single number {0}", "empty": "{0} without elements on {1}",
    "undivided": "{0}, not divided", "all": "all of it", "shards": "{1} in {0} shards",
    "grid of shards": "{1} in {0} shards ({2})", "holds": "{0} holds {1}", "each hold": "{0} each hold {1}",
    "element": "element{s} {1}", "row": "row{s} {1}", "column": "column{s} {1}", "slice": "slice{s} {1}",
    # flow
    "flow": "{0}, mapped: {1}", "split": "{1} ({2}) is split, one part for each of {0} devices",
    "copied": "{0} ({1}) is copied to every device", "stacked": "the outputs are stacked ({0})",
    # traffic
    "along axes": "{0} ({1})", "nothing": "nothing is sent", "sends": "{1} of {0:,} byte{s}",
    "sends along": "{1} of {0:,} byte{s} along {2}", "times": "{0:,} times", "loop": "in a loop of unknown length",
    "branch": "only in branch {0}", "numbered": "{0}, {1}", "from": "from device {0}", "to": "{0} to {1}",
    "more": "And {0} more collective{s}",
    # calls
    "calls first": "Process {0} calls {1}", "calls": "process {0} calls {1}", "no call": "nothing",
    "part": "They diverge at call {0}", "alike": "All calls match",
    # all-reduce, ring, torus
    "halves": "An all-reduce over {0} devices in two halves",
    "after": "After a reduce-scatter each device holds the sum of one piece, after an all-gather the sums of all {0}",
    "each half": "Each half makes a device send {0} of {1} pieces, both together {2}",
    "ring": "A ring through devices {0} and back: {1} of {2} hops cross between hosts",
    "torus": "A torus of {0} chips under the mesh {1}, in its order: {2}",
    # curves, plans
    "over": "{0} over {1}: {2}", "points": "Points: {0}",
    "curve": "{0} from {1} at {2} to {3} at {4}, lowest {5} at {6}", "gap": "{0}, not finite at {1}",
    "plans": "Plans, percent of the memory and milliseconds of a step: {0}", "plan": "{0}, {1} %, {2} ms, {3}",
    "unfit": "{0}, does not fit", "unknown": "{0}, fits, but a figure is missing",
    # profiles
    "lanes": "{0} device{s} in {1} ms",
    "lane": "{0} computes for {1} ms, waits for others for {2}, exchanges data for {3}, and is idle for {4}",
    # the schedule of a pipeline
    "schedule": "{0} stage{s} in {1} ticks, idle for {2} of the time", "does": "stage {0} {1}",
    # what happens in time: traces, timelines, tables
    "trace": "What {0} device{s} hold in {1} steps", "timeline": "What is done in {0} lane{s}, in {1} steps",
    "has cells": "{0} holds {1}", "before": "Before", "after op": "After the {0}",
    "cut": "Each of {0} devices has cut its block into {0} pieces",
    "added": "Turn {0} of {1} adds what comes",
    "replaced": "Turn {0} of {1} puts what comes in the place of what was there",
    "sends piece": "{0} sends piece {1} to {2}", "sends block": "{0} sends its block to {1}",
    "has sent": "a device has sent {0:,} of {1:,} bytes so far", "sent in all": "a device has sent {0:,} bytes",
    "in lane": "{0}: {1}",
    "handed over": "After {0} ms the host has handed over step {1}; the device has finished {2} of {3}",
    "finished step": "After {0} ms the device has finished step {1}; the host has handed over {2} of {3}",
    "prints": "{0} prints {1}", "waits in line": "{0} waits in line {1}: {2}", "at its end": "{0} is at its end",
    "output": "Line {0} of the output", "then": "Then",
    "turn": "Turn {0}, counted from 0, of {1}",
    "goes on": "At {0} s start {1} begins after step {2}", "has done": "At {0} s start {1} has done steps {2} to {3}",
    "again": "At {0} s start {1} has done steps {2} to {3}, {4} of them a second time",
    "seconds in": "{0} s after the first start", "has ended": "{0} has ended {1}",
    "tick": "Tick {0} of {1}", "works on": "{0} works on {1}", "idle": "idle so far: {0} of {1} places",
}  # fmt: skip


def alt_text(kind: str, *says: Phrase, caption: Phrase = None) -> dict[str, Phrase]:
    """Make the description of a picture: its kind, its sentences, and a caption if that is shorter."""
    return {"kind": kind, "says": says} | ({"caption": caption} if caption else {})


def in_words(phrase: Phrase, words: Mapping[str, str] = ENGLISH, word: Callable[[str], str] = str) -> str:
    """Return `phrase` as text, using the templates `words`. word: translates a label, such as a curve's name."""
    if not isinstance(phrase, (list, tuple)):
        return str(phrase)
    key, *values = phrase
    if key == "word":
        return word(values[0])
    given = [in_words(v, words, word) if isinstance(v, (list, tuple)) else v for v in values]
    if key in ("list", "clauses"):
        return words[key].join(map(str, given))
    return words[key].format(*given, s="s" * (values[:1] != [1]))


def description(alt: Mapping[str, Phrase], words: Mapping[str, str] = ENGLISH, word: Callable[[str], str] = str) -> str:
    """Return all sentences of a description, or its text if it is one."""
    if isinstance(alt["says"], str):
        return word(alt["says"])
    return words["stop"].join(in_words(s, words, word) for s in alt["says"]) + words["stop"].rstrip()


def caption(alt: Mapping[str, Phrase], words: Mapping[str, str] = ENGLISH, word: Callable[[str], str] = str) -> str:
    """Return the caption of a picture, or its description if it has none."""
    if "caption" in alt:
        return in_words(alt["caption"], words, word)
    return description(alt, words, word).removesuffix(words["stop"].rstrip())


def devices(ids: Sequence[int], most: int = 6) -> Phrase:
    """Return the phrase for `device 3`, `devices 0, 1` or `devices 0–3`; beyond `most` parts, `…` for the middle."""
    return ["device", len(ids), ", ".join(_short(runs(ids), most))]


def several(phrases: Sequence[Phrase], most: int = 8) -> Phrase:
    """Join phrases into a list; beyond `most` of them, `…` replaces the middle."""
    return ["list", *_short(phrases, most)]


def _short(parts: Sequence[Phrase], most: int) -> list[Phrase]:
    return list(parts) if len(parts) <= most else [*parts[: most - 2], "…", parts[-1]]


def runs(ids: Sequence[int]) -> list[str]:
    """Return `["0–3", "8"]` for `[0, 1, 2, 3, 8]`: three or more consecutive numbers become a range."""
    result: list[list[int]] = []
    for i in ids:
        if result and i == result[-1][-1] + 1:
            result[-1].append(i)
        else:
            result.append([i])
    return [p for run in result for p in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(i) for i in run])]


def few(count: int, most: int) -> list[int | None]:
    """Return `range(count)` as a list of at most `most`: the first numbers, None for those left out, the last."""
    return list(range(count)) if count <= most else [*range(most - 2), None, count - 1]
