"""Profiles with figures that are known, in the format that `jax.profiler.trace` writes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jax.profiler import ProfileData

Operation = tuple[int, str, float, float]  # device, name, from, to: in milliseconds


def _plane(name: str, lines: dict[str, list[tuple[str, float, float, dict[str, Any]]]]) -> str:
    ids: dict[str, dict[str, int]] = {"event_metadata": {}, "stat_metadata": {}}

    def id_of(kind: str, each: str) -> int:
        return ids[kind].setdefault(each, len(ids[kind]) + 1)

    body = ""
    for i, (line, events) in enumerate(lines.items()):
        body += f'lines {{ id: {i} name: "{line}" '
        for event, start, end, said in events:
            body += f"events {{ metadata_id: {id_of('event_metadata', event)} offset_ps: {round(start * 1e9)} "
            body += f"duration_ps: {round((end - start) * 1e9)} "
            for key, value in said.items():
                shown = f"int64_value: {value}" if isinstance(value, int) else f'str_value: "{value}"'
                body += f"stats {{ metadata_id: {id_of('stat_metadata', key)} {shown} }} "
            body += "}\n"
        body += "}\n"
    for kind, known in ids.items():
        for each, i in known.items():
            body += f'{kind} {{ key: {i} value {{ id: {i} name: "{each}" }} }}\n'
    return f'planes {{ name: "{name}" {body} }}\n'


def of_cpu(
    operations: Iterable[Operation], notes: Iterable[tuple[str, float, float, Any]] = (), threads: int = 3
) -> bytes:
    """Simulated devices: any thread runs any device, and each event says whose it is.

    notes: (name, from, to, the number of a step, or all that is said of it, or None).
    """
    lines: dict[str, list[Any]] = {f"tf_XLAEigen/{i}": [] for i in range(threads)}
    for i, (device, name, start, end) in enumerate(operations):
        said = {"hlo_op": name, "hlo_module": "jit_step", "device_ordinal": device}
        lines[f"tf_XLAEigen/{i % threads}"] += [(name, start, end, said), (f"end: {name}", end, end, {})]
    lines["python"] = [
        (name, start, end, said if isinstance(said, dict) else {} if said is None else {"step_num": said})
        for name, start, end, said in notes
    ]
    return _ended(_plane("/host:CPU", lines))


def _ended(text: str) -> bytes:
    """Planes, and after them the one with which a recording ends."""
    text += (
        'planes { name: "Task Environment" stat_metadata { key: 1 value { id: 1 name: "profile_start_time" } } '
        "stats { metadata_id: 1 uint64_value: 0 } }"
    )
    return ProfileData.text_proto_to_serialized_xspace(text)


def of_tpu(chips: dict[int, dict[str, list[tuple[str, float, float]]]]) -> bytes:
    """TPU chips: a plane each; by line, (what stands in the program, from, to)."""
    text = "".join(
        _plane(f"/device:TPU:{i}", {line: [(*event, {}) for event in events] for line, events in lines.items()})
        for i, lines in chips.items()
    )
    return _ended(text)


def of_gpu(gpus: dict[int, dict[str, list[tuple[str, str, float, float]]]]) -> bytes:
    """GPUs: a plane each; by stream, (kernel, the operation that it is of, or "" where no program asked, from, to)."""
    text = ""
    for i, streams in gpus.items():
        lines = {
            stream: [(kernel, start, end, {"hlo_op": of} if of else {}) for kernel, of, start, end in events]
            for stream, events in streams.items()
        }
        text += _plane(f"/device:GPU:{i}", lines)
    return _ended(text)


def written(folder: Path, data: bytes, name: str = "vm") -> Path:
    """The file, where `jax.profiler.trace(folder)` would put it."""
    file = folder / "plugins" / "profile" / "2026_01_01_00_00_00" / f"{name}.xplane.pb"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file
