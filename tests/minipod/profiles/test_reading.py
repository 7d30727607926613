"""What a profile says of each device, against figures that it was made with; and what is no profile."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from made_profiles import of_cpu, of_gpu, of_tpu, written

from minipod import profiles
from minipod.profiles import Lane, spans

STEP = ("train", 0.0, 20.0, 0)


def read(folder, *recorded, texts=()):
    """The profile of these operations, and notes, of simulated devices."""
    return profiles.read(written(folder, of_cpu(*recorded)), *texts)


def spent(profile, device, process=0):
    """Milliseconds of one device, rounded to what a profile has."""
    found = profile.spent(Lane(process, device))
    names = "compute", "waiting", "exchange", "idle", "hidden"
    times = {n: round(1e3 * sum(b - a for a, b in getattr(found, n)), 3) for n in names}
    return {n: t for n, t in times.items() if t}


def test_a_device_waits_in_a_collective_until_the_last_has_come(tmp_path):
    operations = [
        (0, "fusion.1", 2, 5), (0, "psum.3", 5, 14), (0, "fusion.2", 14, 15),
        (1, "fusion.1", 3, 12), (1, "psum.3", 12, 14),
    ]  # fmt: skip
    found = read(tmp_path, operations, [STEP]).step(0)
    assert spent(found, 0) == {"compute": 4, "waiting": 7, "exchange": 2, "idle": 7}
    assert spent(found, 1) == {"compute": 9, "exchange": 2, "idle": 9}
    lane, seconds = found.straggler()
    assert (lane, round(1e3 * seconds, 3)) == (Lane(0, 1), 7)


def test_a_lane_is_a_device_whichever_thread_ran_it_and_loops_and_calls_enclose_others(tmp_path):
    operations = [(d, "fusion.1", d, d + 2) for d in range(8)] + [(3, "while.2", 3, 5), (3, "call.1", 3, 4.5)]
    for threads in 1, 3, 8:
        found = profiles.read(written(tmp_path / str(threads), of_cpu(operations, threads=threads)))
        assert [lane.device for lane in found.lanes] == list(range(8))
        assert spent(found, 3) == {"compute": 2, "idle": 7}


def test_what_is_under_way_while_the_device_computes_is_hidden(tmp_path):
    operations = [(d, "all-gather.1", 2, 8) for d in (0, 1)] + [(0, "dot.1", 3, 6), (1, "dot.1", 7, 9)]
    found = read(tmp_path, operations)
    assert spent(found, 0) == {"compute": 3, "exchange": 3, "idle": 1, "hidden": 3}
    assert spent(found, 1) == {"compute": 2, "exchange": 5, "hidden": 1}
    times, exposed, hidden = found.kinds()["all-gather"]
    assert (times, round(1e3 * exposed, 3), round(1e3 * hidden, 3)) == (1, 8, 4)


def test_the_programs_text_says_what_an_operation_is_and_who_takes_part(tmp_path):
    text = """HloModule jit_step, is_scheduled=true, num_partitions=4
ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8] parameter(0)
  ROOT %sum_of_all = f32[8] all-reduce(%x), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true
}
"""
    operations = [(d, "sum_of_all", start, 10) for d, start in enumerate((1, 2, 3, 8))]
    positions = (2, 3, 0, 1)  # of devices 0 to 3 in the mesh
    launches = [
        (f"[{p}] X::Execute (jit_step)", 0, 0.5, {"name": "jit_step", "partition": p, "global_device_id": d})
        for d, p in enumerate(positions)
    ]
    assert "waiting" not in spent(read(tmp_path / "name", operations, launches), 0)
    known = read(tmp_path / "text", operations, launches, texts=[text])
    assert not known.assumed
    assert [spent(known, d).get("waiting", 0) for d in range(4)] == [1, 0, 5, 0]
    unknown = read(tmp_path / "places", operations, texts=[text])
    assert unknown.assumed  # nobody says which position is which device: all take part, so far as is known
    assert [spent(unknown, d).get("waiting", 0) for d in range(4)] == [7, 6, 5, 0]


def test_a_tpus_planes_are_lanes_with_what_is_under_way_beside_the_core(tmp_path):
    chip = {
        "XLA Modules": [("jit_step", 0, 10)],
        "XLA Ops": [
            ("%while.1 = (f32[8]{0:T(8)}) while(%t), body=%b", 0, 10),
            ("%fusion.3 = f32[8]{0:T(8)} fusion(f32[8]{0} %p), kind=kLoop", 1, 6),
            ("%all-gather-done.2 = f32[8]{0} all-gather-done((f32[1], f32[8]) %all-gather-start.2)", 6, 8),
            ("%copy-done.1 = f32[8]{0} copy-done(f32[8] %copy-start.1)", 8, 9),
        ],
        "Async XLA Ops": [
            ("%all-gather-start.2 = (f32[1], f32[8]) all-gather-start(f32[1] %p)", 2, 8),
            ("%copy-start.1 = (f32[8], f32[8]) copy-start(f32[8] %p)", 0, 9),
        ],
    }
    found = profiles.read(written(tmp_path, of_tpu({0: chip, 3: chip})))
    assert found.lanes == [Lane(0, 0), Lane(0, 3)]
    assert spent(found, 3) == {"compute": 5, "exchange": 2, "hidden": 4}
    ops = [  # fusions that start and end a collective compute nothing
        ("%async-collective-start.1 = (f32[8], u32[]) fusion(f32[1] %p), kind=kCustom", 0, 1),
        ("%fusion.13 = (f32[8], u32[]) fusion(f32[8] %q), kind=kOutput", 1, 6),
        ("%async-collective-done.1 = f32[8] fusion(f32[8] %r), kind=kCustom", 6, 9),
    ]
    found = profiles.read(written(tmp_path / "fusions", of_tpu({0: {"XLA Ops": ops}})))
    assert spent(found, 0) == {"compute": 5, "exchange": 4} and [*found.kinds()] == ["async-collective"]


def test_partners_are_unknown_where_the_profile_begins_in_the_middle(tmp_path):
    operations = [(0, "psum.1", 0, 1), (0, "psum.1", 4, 9), (1, "psum.1", 7, 9)]
    found = read(tmp_path, operations)
    assert spent(found, 0) == {"exchange": 6, "idle": 3} and found.straggler() is None


def test_two_processes_are_aligned_by_the_collectives_they_share(tmp_path):
    late = 5.0  # milliseconds by which the second clock is ahead
    runs = [(0, 10), (20, 34), (40, 51)]
    first = [(0, "psum.3", a, b) for a, b in runs]
    second = [(2048, "psum.3", b - 2 + late, b + late) for _, b in runs]
    one = read(tmp_path / "0", first)
    two = read(tmp_path / "1", second, [("load", 1 + late, 8 + late, None)])
    both = profiles.together(one, two)
    assert both.lanes == [Lane(0, 0), Lane(1, 2048)]
    (load,) = both.noted("load")
    assert (load.process, round(1e3 * load.start, 3), round(1e3 * load.end, 3)) == (1, 1, 8)
    assert spent(both.during(0.0, 0.010), 0) == {"waiting": 8, "exchange": 2}
    assert both.straggler()[0] == Lane(1, 2048)
    # one that is far off in a single collective does not move the rest
    first = [(0, "psum.3", 10 * i, 10 * i + 5) for i in range(5)]
    second = [(2048, "psum.3", 10 * i, 10 * i + (5 if i != 2 else 9)) for i in range(5)]
    shifted = profiles.together(read(tmp_path / "2", first), read(tmp_path / "3", second))
    starts = sorted(round(1e3 * e.start, 3) for e in shifted.events if e.lane.process == 1)
    assert starts == [0, 10, 20, 30, 40]


def test_processes_that_share_nothing_cannot_be_put_in_one_timeline(tmp_path):
    one = read(tmp_path / "0", [(0, "psum.1", 0, 1)])
    two = read(tmp_path / "1", [(1, "fusion.1", 0, 1)])
    with pytest.raises(ValueError, match="^the clocks of processes 0 and 1 cannot be aligned: no all-reduce, all-g"):
        profiles.together(one, two)
    assert len(profiles.together(two).events) == 1


OTHER = of_cpu([(0, "fusion.1", 0, 1)]).replace(b"device_ordinal", b"ordinal_device")


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("vm.xplane.pb", b"", "vm.xplane.pb is empty: a profile is written when the trace ends"),
        ("vm.xplane.pb", None, "vm.xplane.pb has no plane 'Task Environment', which is written last: record it again"),
        ("vm.xplane.pb", OTHER, "has operations that do not say on which device they ran: record it with"),
        ("vm.trace.json.gz", b"\x1f\x8b", "vm.trace.json.gz: the name of a profile ends in .xplane.pb"),
        ("vm.xplane.pb", of_cpu([], [STEP]), "has no operation of a device: run a compiled program"),
    ],
    ids=["empty", "cut off after a plane", "another version", "another ending", "none"],
)
def test_what_is_no_profile_is_told_in_a_sentence(tmp_path, name, data, error):
    file = tmp_path / name
    recorded = Path(__file__).parents[2] / "data/eight_devices.xplane.pb"
    file.write_bytes(recorded.read_bytes()[:101389] if data is None else data)  # a plane ends there
    with pytest.raises(ValueError) as told:
        profiles.read(file)
    assert error in str(told.value) and "\n" not in str(told.value)


def test_what_is_not_there_or_not_understood_is_told(tmp_path):
    streams = written(tmp_path / "streams", of_tpu({0: {"Stream #13(Compute)": [("gemm", 0, 4)]}}))
    with pytest.raises(ValueError, match="has events of /device:TPU:0, but in lines that minipod cannot read"):
        profiles.read(streams)
    with pytest.raises(FileNotFoundError, match="nothing.xplane.pb: there is no such file or folder$"):
        profiles.read(tmp_path / "nothing.xplane.pb")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="there is no .xplane.pb file in this folder"):
        profiles.read(tmp_path / "empty")
    found = read(tmp_path / "profile", [(0, "fusion.1", 0, 1)], [STEP])
    with pytest.raises(ValueError, match="^step 4 was not recorded; recorded steps: 0$"):
        found.step(4)
    with pytest.raises(ValueError, match="is empty$"):
        found.during(2.0, 2.0)
    newer = tmp_path / "profile/plugins/profile/2026_02_01_00_00_00/vm.xplane.pb"
    newer.parent.mkdir()
    newer.write_bytes(of_cpu([(5, "fusion.1", 0, 1)]))
    assert profiles.read(tmp_path / "profile").lanes == [Lane(0, 5)]  # of several recordings


def test_the_streams_of_a_gpu_are_one_lane_and_a_kernel_of_a_graph_goes_by_its_own_name(tmp_path):
    nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    streams = {
        "Stream #14(Compute)": [
            ("gemm_fusion_dot_3", "command_buffer_1", 0, 4), ("memcpy128", "command_buffer_1", 4, 6),
            ("gemm_fusion_dot_7", "command_buffer_2", 6, 9), ("sm90_xmma_gemm", "custom-call.4", 10, 12),
        ],
        "Stream #22(Compute)": [(nccl, "all-reduce-start.1", 8, 13), (nccl, "command_buffer_2", 13, 14)],
        "Stream #15(MemcpyH2D)": [("MemcpyH2D", "", 14, 20)],
        "XLA Modules": [("jit_step", "jit_step", 0, 14)],
    }  # fmt: skip
    found = profiles.read(written(tmp_path, of_gpu({0: streams, 1: {"Stream #14(Compute)": []}})))
    assert [lane.device for lane in found.lanes] == [0]
    assert spent(found, 0) == {"compute": 11, "exchange": 3, "hidden": 3}
    assert found.kinds().keys() == {"all-reduce"}
    longest = {name: (times, round(1e3 * t, 3)) for name, (times, t) in found.operations().items()}
    assert list(longest)[0] == "gemm_fusion_dot" and longest["gemm_fusion_dot"] == (2, 7)
    assert longest["memcpy128"] == (1, 2) and longest["custom-call"] == (1, 2) and "MemcpyH2D" not in longest
    # of a kernel that sends and receives it is not said which collective it is
    sends = [("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "command_buffer_1", 0, 3)]
    found = profiles.read(written(tmp_path / "sends", of_gpu({0: {"Stream #14(Compute)": sends}})))
    assert found.kinds().keys() == {"async-collective"}


def drawn(random: Random, count: int) -> list[tuple[float, float]]:
    starts = [random.randrange(40) for _ in range(count)]
    return [(float(a), float(a + random.randrange(9))) for a in starts]


def moments(given: list[tuple[float, float]]) -> set[float]:
    return {t + 0.5 for a, b in given for t in range(int(a), int(b))}


def test_union_difference_and_part_hold_the_same_moments_and_do_not_overlap():
    for seed in range(40):
        random = Random(seed)
        one, two = drawn(random, seed % 8), drawn(random, seed % 5)
        for name, found, expected in (
            ("union", spans.union(one), moments(one)),
            ("without", spans.without(one, two), moments(one) - moments(two)),
            ("within", spans.within(one, (7.0, 23.0)), {t for t in moments(one) if 7 < t < 23}),
        ):
            assert moments(found) == expected and spans.seconds(found) == len(expected), (name, seed)
            assert all(a[1] < b[0] or name == "without" and a[1] == b[0] for a, b in pairwise(found)), (name, seed)
