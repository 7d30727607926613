"""The pictures say what the live objects say: labels, alt text, valid SVG, readable colours, clear errors."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from picture_gallery import GALLERY, MAKE, SVG, TWO_HOSTS, every, labels, mesh

from minipod import pictures
from minipod.drawing import svg


def test_svg_is_valid_accessible_and_scales_with_the_page_and_every_label_is_code_a_number_or_in_the_vocabulary():
    for name, picture in every():
        root = ET.fromstring(picture.svg)
        assert root.tag == f"{SVG}svg" and root.attrib["class"] == "minipod" and root.attrib["role"] == "img", name
        assert not {"width", "height"} & root.attrib.keys() and "max-width:min(100%" in root.attrib["style"], name
        title = root.find(f"{SVG}title")
        assert title is not None and title.text == picture.alt, name
        assert title.attrib["id"] == root.attrib["aria-labelledby"], name
        assert not re.search(r"https?://(?!www\.w3\.org)|<script|<!--|font-family=", picture.svg), name
        # so narrow that a phone shows words at nine pixels or more
        assert 13 * 340 / float(root.attrib["viewBox"].split()[2]) >= 9, name
        for text in root.iter(f"{SVG}text"):
            label = "".join(text.itertext())
            known = any(re.fullmatch(pattern, label) for pattern in pictures.LABELS)
            assert known or "code" in text.attrib.get("class", "") or re.fullmatch(r"[\d–, …]+", label), (name, label)


def test_nothing_is_drawn_outside_the_picture():
    for _, picture in every():
        x, y, width, height = map(float, ET.fromstring(picture.svg).attrib["viewBox"].split())
        shift = re.search(r'<g transform="translate\(([-\d.]+) ([-\d.]+)\)">', picture.svg)
        dx, dy = map(float, shift.groups()) if shift else (0.0, 0.0)
        for e in ET.fromstring(picture.svg).iter():
            if "x" in e.attrib and "transform" not in e.attrib:
                left, top = float(e.attrib["x"]) + dx, float(e.attrib["y"]) + dy
                half = svg.text_width(e.text or "", 12 if "code" in e.attrib.get("class", "") else 13) * 0.9
                before = {"middle": 0.5, "end": 1.0}.get(e.attrib.get("text-anchor", ""), 0.0)
                assert left - half * before >= x and left + half * (1 - before) <= x + width, e.text
                assert y <= top and top + float(e.attrib.get("height", 0)) <= y + height, e.text


def test_ids_are_unique_across_pictures_even_of_one_object():
    again = pictures.flow(lambda a, b: a + b, np.zeros(16), np.zeros(16))
    drawn = [*(picture.svg for _, picture in every()), again.svg]
    ids = [re.findall(r' id="([^"]+)"', text) for text in drawn]
    assert len(every_id := sum(ids, [])) == len({*every_id}) > len(MAKE)
    assert all({*re.findall(r"url\(#([^)]+)\)", text)} <= {*own} for text, own in zip(drawn, ids, strict=True))


@pytest.mark.parametrize("dot", [False, True])
def test_the_host_picture_is_whole_with_either_graphviz(dot, monkeypatch):
    if not dot:
        monkeypatch.setenv("PATH", "")
    elif not shutil.which("dot"):
        pytest.skip("no `dot` on PATH: only Graphviz as WebAssembly can be tested here")
    picture = pictures.hosts(TWO_HOSTS, "predict", "pmean")
    root = ET.fromstring(picture.svg)
    said = {t.text: (float(t.attrib["x"]), float(t.attrib["y"])) for t in root.iter(f"{SVG}text") if t.text}
    assert {"host 0", "host 1", "predict", "pmean", "combined result", "process_index 1"} <= said.keys()
    down = [said[f"device {d.id}"][1] for d in TWO_HOSTS]
    assert down == sorted(down) and said["host 0"][1] < down[0] and down[3] < said["host 1"][1] < down[4]
    assert said["predict"][0] < said["device 0"][0] < said["pmean"][0]
    assert said["combined result"][1] > down[-1]
    lines = [p.attrib["class"] for p in root.iter(f"{SVG}path") if p.attrib["class"].startswith("line")]
    assert lines.count("line dash") == 2 and len(lines) == 8 + 8 + 2  # to each device, from each, and the way back
    tips = [p for p in root.iter(f"{SVG}polygon") if "tip" in p.attrib["class"]]
    (back,) = [float(p.attrib["points"].split(",")[0]) for p in tips if p.attrib["class"] == "dashtip"]
    assert len(tips) == 8 + 8 + 1 and abs(back - said["predict"][0]) < 45  # the way back points to the function
    assert "host 1 has devices 2048–2051" in picture.alt and "hands the combined result back" in picture.alt


def test_a_thousand_devices_are_summarised_and_without_graphviz_only_what_it_draws_is_missing_and_says_so():
    code = (
        "import jax, sys; sys.modules['graphviz'] = None\n"
        "from minipod import pictures; from minipod.devices import simulate; simulate(1024)\n"
        "print(pictures.sharding(jax.numpy.ones(8)))\n"
        "try: pictures.devices()\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
        "del sys.modules['graphviz']\n"
        "from jax.sharding import *; m = jax.make_mesh((32, 32), ('x', 'y'))\n"
        "cut = [NamedSharding(m, PartitionSpec(*axes)) for axes in [('x', 'y'), ('x',), (('x', 'y'),)]]\n"
        "for p in [pictures.devices(), pictures.hosts(), pictures.mesh(m),\n"
        "          *(pictures.sharding(s, (4096, 4096)) for s in cut)]:\n"
        "    print(len(p.svg), len(p.alt), '…' in p.svg or ' more<' in p.svg)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    without, told, *drawn = run.stdout.splitlines()
    assert without == "An array float32[8], not divided: device 0 holds all of it."
    assert told.startswith("Missing packages for pictures are missing: ")
    assert len(drawn) == 6, run.stderr
    for size, words, short in (line.split() for line in drawn):
        assert int(size) < 40_000 and int(words) < 1_500 and short == "True"


def test_mesh_places_each_device_and_names_the_axes():
    m = Mesh(np.array(jax.devices()).reshape(4, 2).T, ("x", "y"))
    said = labels(pictures.mesh(m))
    assert [s for s in said if s.startswith("device")] == [f"device {d.id}" for d in m.devices.flat]
    assert {"axis x", "axis y"} <= set(said)
    assert "(1, 0) device 1" in pictures.mesh(m).alt


SPECS = [P("x", "y"), P("y", "x"), P("x"), P(None, "y"), P(("x", "y")), P(("y", "x")), P(None, ("y", "x")), P()]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("sizes", [(2, 4), (8, 1)], ids=str)
def test_alt_text_and_colours_say_what_each_device_holds(spec, sizes):
    sharding, parts = NamedSharding(mesh(*sizes), spec), {}  # the oracle: JAX's own map, read as sentences
    picture = pictures.sharding(sharding, (16, 8))
    alt, drawn = picture.alt, blocks(picture)
    for device, (rows, columns) in sharding.devices_indices_map((16, 8)).items():
        parts.setdefault((rows.indices(16)[:2], columns.indices(8)[:2]), []).append(device.id)
    assert alt.count(" hold") == len(parts)
    for (rows, columns), ids in parts.items():
        who = next(c for c in re.split(r"[:;] ", alt) if re.match(rf"devices? {_listed(sorted(ids))} (each )?hold", c))
        for noun, (start, stop), whole in (("row", rows, 16), ("column", columns, 8)):
            if stop - start < whole:
                assert f"{noun} {start}" in who if stop - start == 1 else f"{noun}s {start}–{stop - 1}" in who
            else:
                assert noun not in who
    # a shard has the colour of the first device that holds it, and names its copies
    assert sorted(drawn) == sorted((min(ids), sorted(ids)) for ids in parts.values())
    assert {", ".join(map(str, ids)) for _, ids in drawn if len(ids) == 2} <= {*labels(picture)}


def _listed(ids: list[int]) -> str:
    straight = len(ids) > 2 and ids == list(range(ids[0], ids[-1] + 1))  # as a reader expects: ranges as ranges
    return f"{ids[0]}–{ids[-1]}" if straight else ", ".join(map(str, ids))


def test_devices_of_several_processes_are_coloured_in_their_order_and_many_shards_are_counted():
    far = NamedSharding(Mesh(np.array(TWO_HOSTS)[::-1], ("x",)), P("x"))
    assert blocks(pictures.sharding(far, (8,)))[:2] == [(7, [2051]), (6, [2050])]
    sixteen = Mesh(np.array([*TWO_HOSTS, *(replace(d, id=d.id + 4) for d in TWO_HOSTS)]), ("x",))
    assert [c for c, _ in blocks(pictures.sharding(NamedSharding(sixteen, P("x")), (16,)))] == [0, 1, 2, 3, 4, 5, 7]


def blocks(picture: pictures.Picture) -> list[tuple[int, list[int]]]:
    """The colour and the devices of each block, as they are drawn."""
    cells = [e.attrib for e in ET.fromstring(picture.svg).iter(f"{SVG}rect") if e.attrib.get("data-devices")]
    return [(int(c["class"].removeprefix("cell c")), [*map(int, c["data-devices"].split())]) for c in cells]


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    linear = [((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 3294.6 for c in bytes.fromhex(colour[1:])]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_on_every_colour_can_be_read_and_lines_be_seen_in_light_and_dark_and_told_apart_without_colour():
    def contrast(*colours: str) -> float:
        light, dark = sorted(map(_luminance, colours), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert all(contrast(pictures.colour(i), svg.ON_COLOUR) >= 4.5 for i in range(8))
    assert all(contrast(line, page) >= 3 for line in svg.LINES for page in ("#FFFFFF", "#15181C"))
    assert len(set(svg.DASHES)) == len(svg.DASHES) == len(svg.LINES)


def test_flow_says_what_is_split_copied_and_stacked():
    picture = GALLERY["flow"]
    assert picture.alt == (
        "predict, mapped: x (float64[8,4,3]) is split, one part for each of 8 devices; "
        "params (float32[3,2]) is copied to every device; the outputs are stacked (float32[8,4,2])."
    )
    said = labels(picture)
    assert {"split", "copied", "stacked"} <= set(said)
    assert said.count("params") == 1 + 8 and all({f"x[{i}]", f"out[{i}]"} <= set(said) for i in range(8))
    assert "(float32[4,3])" in pictures.flow(lambda x: jax.lax.pmean(x, "i"), np.zeros((4, 3)), axis_name="i").alt


def test_a_notebook_shows_the_figure_and_a_terminal_the_words(tmp_path):
    picture = GALLERY["2-D"]
    shown = {"text/plain": picture.alt, "text/html": f'<figure class="minipod">{picture.svg}</figure>'}
    assert picture._repr_mimebundle_() == shown and repr(picture) == picture.alt
    saved = ET.parse(picture.save(tmp_path / "a.svg")).getroot()
    assert pictures.load(tmp_path / "a.svg") == picture
    assert "prefers-color-scheme" in (saved.findtext(f"{SVG}style") or "")


def test_calls_show_who_meets_whom_and_where_they_part():
    apart = pictures.calls([["w1", "w2"], ["w2", "w1"]])
    assert apart.alt == "Process 0 calls w1, w2; process 1 calls w2, w1. They diverge at call 1."
    assert apart.svg.count("≠") == 2 and apart.svg.count(">w1<") == 2
    short = pictures.calls([["step", "step"], ["step"]])
    assert short.alt.endswith("They diverge at call 2.") and "no call" in short.svg and short.svg.count("≠") == 1
    alike = pictures.calls([["a", "b"], ["a", "b"]])
    assert alike.alt.endswith("All calls match.") and "≠" not in alike.svg
