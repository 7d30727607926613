"""Run the checks on this machine's own devices (`--device real`): GPUs, TPUs, or the CPU devices that are set.

Answer and solution run on the same devices, one child after the other, since one process at a time can have a TPU.
Matrix products are computed at full precision: by default a TPU multiplies bfloat16, and a GPU TensorFloat32. What is
left of their differences is within TOLERANCE of an array's largest number. What is sent and how much is computed is
counted beside, on simulated CPU devices, as the statements have it. What only simulated devices can show is skipped:
where there are too few devices, the reference solution itself says so.
"""

import os
from dataclasses import replace

from grader.exercise.spec import Machine, Spec
from grader.messages import Message
from minipod.cluster.place import place

TOLERANCE = 1e-4  # on accelerators; an exercise that allows more keeps its own
LIMIT = "120"  # seconds of one answer: a TPU's or a GPU's start takes some of them


class NoDevices(ValueError):
    """The error of missing devices; `message` says why."""

    def __init__(self, message: Message):
        super().__init__(message.key)
        self.message = message


def find() -> Machine:
    """Ask, in a separate process, what JAX finds with the settings of this environment. Raises NoDevices."""
    from minipod.doctor.report import look

    code, output, facts = look(os.environ, "no-simulation")
    if code or "devices" not in facts:
        raise NoDevices(Message("real-none", {"error": output}))
    machine = Machine(**facts["devices"])
    if machine.platform == "cpu" and machine.count == 1:
        raise NoDevices(Message("real-one-cpu"))
    return machine


def fitted(spec: Spec, machine: Machine) -> Spec:
    """Return the exercise with the tolerance that these devices need, and without what is `counted_beside`."""
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
    """Return why an exercise cannot be checked on this machine, as far as can be said before it is tried."""
    if spec.processes > 1 and not in_cluster:
        return Message("real-processes", {"processes": spec.processes})
    if spec.processes == 1 and place().processes > 1:  # the member of the cluster has the devices
        return Message("real-alone-only")
    if in_cluster and counted_beside(spec, machine):
        return Message("real-budget", {"platform": machine.platform})
    return None


def too_few(spec: Spec, machine: Machine, error: str) -> Message:
    """Return why an exercise cannot be checked here, after the reference solution has failed, too."""
    values = {"count": machine.count, "platform": machine.platform, "wanted": spec.devices, "error": error}
    return Message("real-too-few" if machine.count < spec.devices else "real-otherwise", values)
