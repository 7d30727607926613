"""Run a function in forked children, one process or a cluster, and end them whatever the function does."""

from minipod.forked.forking import CLOSED, Job, Result, on_turn, run, start, stop, stop_all, wait

__all__ = ["CLOSED", "Job", "Result", "on_turn", "run", "start", "stop", "stop_all", "wait"]
