"""A function run in forked children, one process or a pair that forms a cluster; whatever it does, it ends."""

from minipod.forked.forking import CLOSED, Job, Result, on_turn, run, start, stop, stop_all, wait

__all__ = ["CLOSED", "Job", "Result", "on_turn", "run", "start", "stop", "stop_all", "wait"]
