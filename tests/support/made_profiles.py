"""Profiles with figures that are known, in the format that `jax.profiler.trace` writes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jax.profiler import ProfileData

Operation = tuple[int, str, float, float]  # device, name, from, to: in milliseconds


def _events(events: Iterable[tuple[str, float, float, dict[str, Any]]], names: list[str], stats: list[str]) -> str:
    text = ""
    for name, start, end, said in events:
        names += [name] if name not in names else []
        stats += [key for key in said if key not in stats]
        values = " ".join(
            f"stats {{ metadata_id: {stats.index(key) + 1} "
            + (f"int64_value: {value}" if isinstance(value, int) else f'str_value: "{value}"')
            + " }"
            for key, value in said.items()
        )
        text += (
            f"events {{ metadata_id: {names.index(name) + 1} offset_ps: {round(start * 1e9)} "
            f"duration_ps: {round((end - start) * 1e9)} {values} }}\n"
        )
    return text


def _plane(name: str, lines: dict[str, list[tuple[str, float, float, dict[str, Any]]]]) -> str:
    names, stats = list[str](), list[str]()
    body = "".join(
        f'lines {{ id: {i} name: "{line}" {_events(events, names, stats)} }}\n'
        for i, (line, events) in enumerate(lines.items())
    )
    for kind, known in ("event_metadata", names), ("stat_metadata", stats):
        for i, each in enumerate(known, 1):
            body += f'{kind} {{ key: {i} value {{ id: {i} name: "{each}" }} }}\n'
    return f'planes {{ name: "{name}" {body} }}\n'


def of_cpu(
    operations: Iterable[Operation],
    notes: Iterable[tuple[str, float, float, Any]] = (),
    threads: int = 3,
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
    text = "".join(
        _plane(
            f"/device:GPU:{i}",
            {
                line: [(kernel, start, end, {"hlo_op": of} if of else {}) for kernel, of, start, end in events]
                for line, events in lines.items()
            },
        )
        for i, lines in gpus.items()
    )
    return _ended(text)


def written(folder: Path, data: bytes, name: str = "vm") -> Path:
    """The file, where `jax.profiler.trace(folder)` would put it."""
    file = folder / "plugins" / "profile" / "2026_01_01_00_00_00" / f"{name}.xplane.pb"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file
