"""Which of several things that went wrong is told."""

import base64
import math
from itertools import permutations

import jax
import numpy as np
import pytest
from jax import P
from near_cases import judged, result, spec_of

from grader.judge.compare import copies
from grader.judge.verdict import Verdict, judge
from grader.messages import say
from grader.say.explain import explain
from grader.see.array_values import Array, Block, Placement
from grader.see.left_behind import Change
from grader.see.observation import Failure, Observation, ProcessResult, Traffic
from grader.see.packing import pack
from grader.see.values import Int

SPEC = spec_of(processes=2, devices=4)
RIGHT = Observation((), Int(1))


def seen(*cases):
    return result(cases)


def failed(words, kind="KeyError"):
    return Observation((), failure=Failure(kind, words))


def told(*answer):
    return judge(SPEC, Verdict("ch90_one.f", ""), [[RIGHT, RIGHT]] * 2, list(answer), "f", limit=20.0)


HUNG = ProcessResult("hung", text="…", seconds=9.0)
TIMED_OUT = failed("Gloo: Timed out", "JaxRuntimeError")


def test_of_two_processes_the_one_is_told_whose_fault_it_is_and_which_argument_was_changed():
    verdict = told(HUNG, seen(RIGHT, failed("own")))  # why the other hung
    assert (verdict.outcome, verdict.reason, verdict.process, verdict.case) == ("wrong", "raised", 1, 1)
    verdict = told(HUNG, seen(RIGHT, TIMED_OUT))  # it only waited in vain
    assert (verdict.outcome, verdict.reason, verdict.process) == ("hung", "hung-alone", 0)
    verdict = told(seen(RIGHT, TIMED_OUT), seen(RIGHT, failed("own")))
    assert (verdict.outcome, verdict.reason, verdict.process) == ("wrong", "raised", 1)
    # arguments are counted from 0
    changed = Observation((), Int(1), changed=Change(argument=0))
    because = told(seen(changed, changed), seen(RIGHT, RIGHT)).because
    assert "argument 0 (counted from 0) has been changed" in say(because.key, "en", **because.values)
    assert "第 0 个参数（从 0 数起）被改动了" in say(because.key, "zh-Hans", **because.values)


def alone(case, right, work=True):
    return judged([case], [right], work=work)


def computes(flops, moved=None):
    return Observation((), Int(1), traffic=Traffic((), None, flops=flops, moved=moved))


def test_half_as_much_again_is_allowed_and_no_more_and_only_where_it_is_asked_for():
    outcomes = {100: "right", 150: "right", 151: "wrong", 400: "wrong", 50: "right", None: "right"}
    assert {flops: alone(computes(flops), computes(100)).outcome for flops in outcomes} == outcomes
    because = alone(computes(400), computes(100)).because
    assert "4.0 times as much as it needs to: 400 FLOPs" in say(because.key, "en", **because.values)
    assert "4.0 倍" in say(because.key, "zh-Hans", **because.values)
    assert alone(computes(400), computes(100), work=False).outcome == "right"


def test_without_products_what_a_device_reads_and_writes_counts():
    outcomes = {100: "right", 400: "right", 401: "wrong", None: "right"}
    assert {count: alone(computes(0, count), computes(0, 100)).outcome for count in outcomes} == outcomes
    assert alone(computes(1, 401), computes(1, 100)).outcome == "right"  # its products count
    because = alone(computes(0, 800), computes(0, 100)).because
    assert "8.0 times as much as it needs to: 800 bytes" in say(because.key, "en", **because.values)
    assert "8.0 倍" in say(because.key, "zh-Hans", **because.values)


def test_who_sends_nothing_where_something_has_to_be_sent_has_divided_nothing():
    nothing, sums = (Observation((), Int(1), traffic=Traffic((), sent, flops=0)) for sent in (0, 12))
    assert alone(sums, sums).outcome == alone(nothing, nothing).outcome == "right"
    assert (alone(nothing, sums).outcome, alone(nothing, sums).reason) == ("wrong", "work-undivided")


def test_the_limit_on_memory_is_named_only_where_there_is_one():
    verdict = alone(failed("RESOURCE_EXHAUSTED: Out of memory", "JaxRuntimeError"), RIGHT)
    assert "more than 2 GiB of memory" in explain(spec_of(), verdict, 20.0, 2.0, "en")
    assert "ran out of memory" in explain(spec_of(), verdict, 20.0, math.inf, "en")


def test_what_was_to_be_donated_is_gone():
    gone, still_there = Observation((), Int(1), given_up=(1,)), Observation((), Int(1))
    assert alone(gone, gone).outcome == alone(gone, still_there).outcome == "right"
    because = alone(still_there, gone).because
    assert because.key == "not-donated"
    assert "argument 1 (counted from 0), or part of it, still exists" in say(because.key, "en", **because.values)


def shard(device, bounds, *numbers):
    return device, Block(bounds, base64.b64encode(np.array(numbers, np.float32).tobytes()).decode())


def test_copies_that_differ_by_more_than_rounding_are_wrong_before_anything_else():
    whole = ((0, 2),)
    where = Placement(2, True, ((0, whole), (1, whole)))
    about = {"jax": True, "blocks": (shard(0, whole, 1.0, 2.0)[1],), "placement": where}
    right = Observation((), Array("float32", (2,), **about))
    for second, outcome in ((2.000001, "right"), (2.5, "wrong")):
        held = shard(0, whole, 1.0, 2.0), shard(1, whole, 1.0, second)
        verdict = alone(Observation((), Array("float32", (2,), copies=held, **about)), right)
        assert verdict.outcome == outcome
    text = explain(spec_of(), verdict, 20.0, 2.0, "en")
    assert "at [1], device 0 holds 2 and device 1 holds 2.5" in text
    assert "got       f32[2]" in text
    assert "在 [1] 处，设备 0 上是 2，设备 1 上是 2.5" in explain(spec_of(), verdict, 20.0, 2.0, "zh-Hans")


@pytest.mark.parametrize("spec", [P(), P("a")])
@pytest.mark.parametrize("others", [1.0, 0.0])  # one device alone is wrong, or one alone has the result
def test_copies_that_differ_are_found_in_whatever_order_the_devices_of_a_mesh_stand(spec, others):
    devices = jax.devices()[:4]
    held = {number: [jax.device_put(np.full(2, number, np.float32), d) for d in devices] for number in (0.0, 1.0)}
    for order in permutations(range(4)):
        mesh = jax.sharding.Mesh(np.array([devices[i] for i in order]).reshape(2, 2), ("a", "b"))
        at = jax.NamedSharding(mesh, spec)
        for odd in range(4):
            parts = [held[1.0 - others if i == odd else others][i] for i in order]
            x = jax.make_array_from_single_device_arrays((4,) if spec else (2,), at, parts)
            found = copies(pack(x), 1e-5)
            assert found is not None and found.kind == "copies", (order, odd)
            assert odd in (found.device, found.first)
            said = {found.device: found.numbers[0], found.first: found.numbers[1]}
            assert said == {d: f"{float(parts[order.index(d)][0]):.6g}" for d in said}, (order, odd)


def test_of_an_array_over_several_processes_exactly_the_blocks_of_the_solution_are_right():
    one, two, all_of_it = ((0, 1),), ((1, 2),), ((0, 2),)
    about = {"jax": True, "partial": True, "placement": Placement(4, False, ((0, one), (1, two)))}
    held = [shard(0, one, 1.0)[1], shard(1, two, 2.0)[1]]
    whole = shard(0, all_of_it, 1.0, 2.0)[1]

    def outcome(blocks):
        right, other = (Observation((), Array("float32", (4,), blocks=tuple(x), **about)) for x in (held, blocks))
        return alone(other, right).outcome

    assert outcome(held) == outcome(held[::-1]) == "right"
    for blocks in (held[:1], [], [*held, whole], [whole]):
        assert outcome(blocks) == "wrong", blocks
