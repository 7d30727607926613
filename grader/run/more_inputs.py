"""An answer that is right on some inputs: more of them, to see which those are."""

from collections.abc import Callable, Sequence

from grader.exercise.spec import Spec
from grader.judge import traits
from grader.judge.verdict import Seen, judge_case
from grader.messages import Message
from grader.see.observation import Observation, ProcessResult

SECONDS, MOST = 2.0, 12  # that the answer may take for them, and seeds at most
STEP = 7919  # from seed to seed, so that those of neighbouring runs are others


def seeds(seed: int, seconds: float) -> list[int]:
    """Those to be drawn from beside `seed`, where the answer took so many seconds on its inputs."""
    return [seed + STEP * (i + 1) for i in range(min(MOST, int(SECONDS / max(seconds, 0.05))))]


def parted(
    spec: Spec,
    names: Sequence[str],
    right: Seen,
    answer: Seen,
    more: Callable[[], tuple[ProcessResult, ProcessResult] | None],
) -> Message | None:
    """What the inputs on which a single process's answer is wrong have in common, in more inputs than it was judged on.

    names: of its arguments. more: sees solution and answer on further inputs; None where that is not to be had.
    """
    pairs = list(zip(right[0], answer[0], strict=True))
    if all(map(bool, held := [_is_wrong(spec, *pair) for pair in pairs])) or not any(held):
        return None
    if (both := more()) and all(result.status == "ok" for result in both):
        further = [result.cases(spec.name) or () for result in both]
        pairs += zip(*further, strict=False)
    wrong, fine = [], []
    for solution, case in pairs:
        if solution.value is not None:
            (wrong if _is_wrong(spec, solution, case) else fine).append(solution.args)
    return traits.common(names, wrong, fine)


def _is_wrong(spec: Spec, solution: Observation, case: Observation) -> bool:
    return judge_case(spec, case, solution) is not None
