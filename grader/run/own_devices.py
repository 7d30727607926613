"""Run the checks on this machine's own devices (`--device real`): GPUs, TPUs, or as many CPU devices as are set.

The answer and the solution run on the same devices, one child after the other, since only one process at a time can
use a TPU. Matrix products are computed at full precision: by default a TPU multiplies bfloat16, and a GPU
TensorFloat32. The remaining differences are within TOLERANCE of an array's largest number. Traffic and work are
counted separately, on simulated CPU devices, to which the statements refer. Exercises that only simulated devices can
show are skipped; if there are too few devices, the reference solution itself shows that.
"""

import os
from dataclasses import replace

from grader.exercise.spec import Machine, Spec
from grader.messages import Message
from minipod.cluster.place import place

TOLERANCE = 1e-4  # on accelerators; an exercise that allows more keeps its own
LIMIT = "120"  # seconds of one answer: a TPU's or a GPU's start takes some of them


class NoDevices(ValueError):
    """Raised if there are no devices; `message` says why."""

    def __init__(self, message: Message):
        super().__init__(message.key)
        self.message = message


def find() -> Machine:
    """Return the devices that JAX finds in this environment, in a separate process. Raises NoDevices."""
    from minipod.doctor.report import look

    code, output, facts = look(os.environ, "no-simulation")
    if code or "devices" not in facts:
        raise NoDevices(Message("real-none", {"error": output}))
    machine = Machine(**facts["devices"])
    if machine.platform == "cpu" and machine.count == 1:
        raise NoDevices(Message("real-one-cpu"))
    return machine


def fitted(spec: Spec, machine: Machine) -> Spec:
    """Return the exercise with the tolerance that these devices need, without the parts that are `counted_beside`."""
    if machine.platform == "cpu":
        return spec
    again = spec.again and (lambda drawn=spec.again: fitted(drawn(), machine))
    return replace(spec, tolerance=max(spec.tolerance, TOLERANCE), budget=None, work=False, again=again)


def counted_beside(spec: Spec, machine: Machine) -> bool:
    """Return whether an exercise counts what the CPU compiler sends or computes, or needs more devices than exist.

    This machine's compiler may give different figures, and few devices show little of a layout.
    """
    fewer = spec.processes == 1 and machine.count < spec.devices
    return machine.platform != "cpu" and (spec.budget is not None or spec.work or fewer)


def not_here(spec: Spec, machine: Machine, in_cluster: bool) -> Message | None:
    """Return why an exercise cannot be checked on this machine, as far as that is known before it is tried."""
    if spec.processes > 1 and not in_cluster:
        return Message("real-processes", {"processes": spec.processes})
    if spec.processes == 1 and place().processes > 1:  # the member of the cluster has the devices
        return Message("real-alone-only")
    if in_cluster and counted_beside(spec, machine):
        return Message("real-budget", {"platform": machine.platform})
    return None


def too_few(spec: Spec, machine: Machine, error: str) -> Message:
    """Return why an exercise cannot be checked here if the reference solution has failed, too."""
    values = {"count": machine.count, "platform": machine.platform, "wanted": spec.devices, "error": error}
    return Message("real-too-few" if machine.count < spec.devices else "real-otherwise", values)
