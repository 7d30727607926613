"""The pages to look things up in: every link resolves, every name exists, every line runs, nothing is said twice."""

import ast
import base64
import contextlib
import functools
import importlib
import inspect
import json
import re
import tomllib
from pathlib import Path

import jax
import pytest
from small_book import each_edition

import minipod
from minipod import cluster
from publish import sync
from publish.outputs.execute import Executed
from publish.page import EDITIONS, ROOT, read_page, written
from publish.pages import notebooks, terms
from publish.reference import cheat_sheet, fill, glossary, known_mistakes, places, then_and_now, toolkit, usage
from publish.reference import error_table as errors

PAGES = ("errors", "glossary", "mistakes", "names", "sheet", "then_and_now", "toolkit")


def unfilled(edition: str) -> list[notebooks.Source]:
    """The pages of an edition with the outputs that are recorded."""
    found = []
    for name in sync.chapters():
        page, recording = read_page(written(name, EDITIONS[edition])), ROOT / "book" / "outputs" / f"{name}.json"
        cells = json.loads(recording.read_text("utf-8"))["cells"] if recording.exists() else []
        outputs = [cell["outputs"] for cell in cells] or [[] for _ in page.cells]
        found.append(notebooks.source(page, edition, Executed(outputs, 0, 0.0, [])))
    return found


@functools.cache
def book(edition: str = "en") -> places.Edition:
    sources = unfilled(edition)
    fill.fill(sources)
    return places.Edition(sources, notebooks.titles(sources)[0])


def section(label: str, edition: str) -> str:
    """What a page says from a label of a heading to the next heading of its kind, with the boxes and code in it."""
    for source in book(edition).sources:
        if f"({label})=" in source.text:
            rest = source.text.partition(f"({label})=")[2].lstrip()
            level = len(rest) - len(rest.lstrip("#")) or 5
            return re.split(rf"(?m)^#{{1,{level}}} ", rest.lstrip("# "), maxsplit=1)[0]
    raise AssertionError(f"no page has the label {label}")


@each_edition
def test_every_page_is_filled_and_every_link_leads_somewhere_and_no_label_stands_twice(edition):
    found = book(edition)
    prose = {source.name: re.sub(r"(?ms)^(`{3,}).*?^\1$", "", source.text) for source in found.sources}
    labels = [m.lower() for text in prose.values() for m in re.findall(r"(?m)^\(([^()\s]+)\)=", text)]
    assert sorted(labels) == sorted(set(labels))
    for name, text in prose.items():
        asked = re.findall(r"\{ref\}`(?:[^`<]*<)?([^`<>]+)>?`", text)
        assert [label for label in asked if label.lower() not in labels] == [], name
        assert set(re.findall(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`", text)) <= set(sync.chapters()), name
    titles, pages = notebooks.titles(found.sources)
    for source in (source for source in found.sources if source.name in PAGES):
        assert "% reference" not in source.text and len(source.text) > 1500, source.name
        links = notebooks.Links(titles, pages, source.name)
        notebooks.to_take_away(notebooks.with_outputs(source), source, links)


def test_what_nobody_can_fill_or_find_is_told_with_its_page(tmp_path, monkeypatch):
    sources = unfilled("en")
    sources[0].text += "\n% reference: glosary\n"
    with pytest.raises(ValueError, match="`% reference: glosary` is unknown: choose from errors, glossary"):
        fill.fill(sources)
    wrong = glossary.FILE.read_text("utf-8").replace('label = "sec-mesh"', 'label = "sec-mash"')
    (tmp_path / "glossary.toml").write_text(wrong, "utf-8")
    monkeypatch.setattr(glossary, "FILE", tmp_path / "glossary.toml")
    with pytest.raises(ValueError, match="glossary: no page has the label `sec-mash`"):
        fill.fill(unfilled("en"))
    (tmp_path / "glossary.toml").write_text("[axis\n", "utf-8")
    with pytest.raises(ValueError, match=r"glossary: \S+glossary.toml: cannot be read: .+line 1"):
        fill.fill(unfilled("en"))


def there(name: str):
    """What a dotted name stands for, whatever of it are modules."""
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for at, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            importlib.import_module(".".join(parts[:at]))
        found = getattr(found, part)
    return found


@pytest.mark.filterwarnings("ignore:jax.experimental.shard_map:DeprecationWarning")
def test_every_name_exists_and_leads_to_the_sections_that_use_it():
    found = usage.used(book())
    for name in found:
        there(name)
    assert found["jax.lax.psum_scatter"][0] == ("ch07_collectives", "sec-half")
    assert ("ch03_sharding", "sec-copies") not in found["jax.make_mesh"]
    assert ("ch10_processes", "sec-psum-by-pmap") in found["jax.lax.psum"]  # in a program of its own
    assert ("ch03_sharding", "ex-read-layout") in found["jax.Array"]


def test_names_are_found_however_they_were_imported():
    code = """
import jax, jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P
def f(x):
    devices = jax.devices()
    return lax.psum(jnp.sin(x), "x"), P("x").index, devices, lax
"""
    named = ["jax.devices", "jax.lax", "jax.lax.psum", "jax.numpy.sin", "jax.sharding.PartitionSpec"]
    assert {*usage.in_code(code, {})} == {*named}
    assert usage.in_code("%%time\ndevices.simulate(8)", {"devices": "minipod.devices"}) == ["minipod.devices.simulate"]
    assert usage.in_code("np.ones(3)", {"np": "numpy"}) == []


def test_every_error_that_a_cell_expects_is_on_the_page_of_errors():
    shown, expected = errors.shown(book()), 0
    for source in book().sources:
        for call in (n for c in source.page.cells if c.kind == "cell" for n in ast.walk(ast.parse(c.body))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "expect_error" and len(call.args) > 1:
                words, expected = " ".join(ast.literal_eval(call.args[1]).split()), expected + 1
                assert any(words in e.text and source.name in dict(e.places) for e in shown), (source.name, words)
    assert expected >= 30
    # it is read whole, and nothing after it
    printed = (
        "[0] step 2 Traceback (most recent call last):\n"
        "[0] RuntimeError: jax.distributed.initialize() must be called before any JAX calls\n"
        "[0] that might initialise the XLA backend.\n[0] 4 devices\n"
        "DeprecationWarning\nf is deprecated\nsrun: error: host1: task 1: Killed\nloss (ValueError): 3\n"
    )
    assert [" ".join(lines) for _, lines in errors.in_text(printed)] == [
        "RuntimeError: jax.distributed.initialize() must be called before any JAX calls that might initialise the XLA "
        "backend.",
        "DeprecationWarning: f is deprecated",
        "srun: error: host1: task 1: Killed",
    ]


def test_what_has_changed_is_shown_where_the_row_leads_in_the_same_code_in_both_languages():
    for row in then_and_now.rows():
        where = section(row.label, "en") + next(s.text for s in book().sources if f"({row.label})=" in s.text)
        for code in re.findall(r"`([^`]+)`", row.then["en"] + row.now["en"]):
            for word in re.findall(r"[A-Za-z_]\w{3,}", code):
                assert word in where, (row.label, word)
        both = [[re.findall(r"`[^`]+`", said[e]) for said in (row.then, row.now)] for e in ("en", "zh-Hans")]
        assert both[0] == both[1] or sorted(both[0][1]) == sorted(both[1][1]), row.label


@pytest.mark.filterwarnings("ignore:jax.experimental:DeprecationWarning")
def test_an_old_name_is_gone_from_the_jax_that_the_row_says_and_the_new_one_is_there():
    for name in then_and_now.names():
        older = bool(name.gone) and jax.__version_info__ >= tuple(map(int, name.gone.split(".")))
        with pytest.raises((ImportError, AttributeError)) if older else contextlib.nullcontext():
            there(name.old)
        for new in (new for said in name.now.values() for new in re.findall(r"`(jax\.[\w.]+)", said)):
            assert there(new) is not None
        codes = [re.findall(r"`([^`]+)`", said) for said in name.now.values()]
        assert sorted(codes[0]) == sorted(codes[1]), name.old
        where = section(name.label, "en")
        assert [code for code in codes[0] if re.findall(r"\w+", code.split("(")[0])[-1] not in where] == [], name.label


def test_every_line_of_the_cheat_sheet_runs():
    space: dict = {}
    for group in cheat_sheet.groups():
        for call in group.calls:
            if group.where == "top":
                exec(call.code, space)
            elif group.where == "inside":
                body = eval(f"lambda s: (({call.code}), s)[1]", space)
                jax.shard_map(body, **space["one"])(space["b"])
            page = next(s.text for s in book().sources if f"({call.label})=" in s.text)  # where it leads is used
            names = [node.attr for node in ast.walk(ast.parse(call.code)) if isinstance(node, ast.Attribute)]
            assert [n for n in names if n not in page] == [], call.code


def test_every_line_for_several_processes_runs(tmp_path):
    top, several = ([g for g in cheat_sheet.groups() if g.where == where] for where in ("top", "processes"))
    imports = [c.code for g in top for c in g.calls if re.match("import|from", c.code)]
    lines = [c.code for g in several for c in g.calls]
    after = 1 + next(i for i, line in enumerate(lines) if line.startswith("jax.distributed"))
    lines[after:after] = ["import numpy as np", "mine = np.ones((4, 2)) * jax.process_index()"]
    (tmp_path / "sheet.py").write_text("\n".join([*imports, *lines, "print(d.shape)"]), "utf-8")
    run = cluster.run(tmp_path / "sheet.py", processes=2, devices=4, limit=300)
    assert [out.split() for out in run.outputs] == [["(8,", "2)"]] * 2


def test_a_term_stands_in_the_section_that_teaches_it_and_none_is_translated_twice():
    for term in glossary.entries():
        english, chinese = section(term.label, "en").lower(), section(term.label, "zh-Hans")
        stem = re.sub(r"(ation|ing|ed|e|y|s)$", "", term.words["en"].lower().split(" (")[0])
        assert stem in english.replace("\n", " ") or stem.replace("-", " ") in english, term
        assert term.words["zh-Hans"] in chinese or term.words["en"] in chinese, term
    known = {row["en"] for row in terms.terms()["glossary"]}
    rows = tomllib.loads(glossary.FILE.read_text("utf-8"))
    assert [name for name, row in rows.items() if "zh-Hans" in row and (name in known or "term" in row)] == []


def test_the_api_shows_what_minipod_calls_public_and_nothing_else():
    shown = {m.name: {e.name.removeprefix(f"{m.name}.") for e in m.entries} for m in toolkit.modules()}
    public = {f"minipod.{name}": {*importlib.import_module(f"minipod.{name}").__all__} for name in minipod.PUBLIC}
    assert shown == public
    folder = Path(minipod.__file__).parent
    there = {p.stem for p in (*folder.glob("*.py"), *(p.parent for p in folder.glob("*/__init__.py")))}
    there -= {"__init__", "__main__"}
    assert there - {*minipod.PUBLIC} <= {"distribution", "drawing", "forked", "hlo", "jax_private", "ranges"}


def test_the_api_is_as_python_sees_it():
    for module in toolkit.modules():
        for entry in module.entries:
            found = there(entry.name)
            if not (inspect.isfunction(found) or inspect.isclass(found)):
                assert entry.signature.startswith(entry.name.rpartition(".")[2]) and ast.parse(entry.signature)
                continue
            assert (inspect.cleandoc(found.__doc__ or "")) == entry.doc or inspect.isclass(found)
            if inspect.isfunction(found):
                assert all(name in entry.signature for name in inspect.signature(found).parameters)


@pytest.mark.parametrize("edition", ["zh-Hans", *(pytest.param(e, marks=pytest.mark.long) for e in ("en", "zh-Hant"))])
def test_the_cheat_sheet_is_one_page_of_paper_and_no_page_scrolls_sideways(html, browser, edition):
    browser.look(390)
    for page in PAGES:
        browser.open((html / edition / f"{page}.html").as_uri())
        assert browser.run("document.documentElement.scrollWidth") == 390, page
    browser.open((html / edition / "sheet.html").as_uri())
    paper = browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)  # inches: A4
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(paper["data"]))) == 1


def test_the_page_of_mistakes_has_how_each_message_begins():
    for begins, rest in (
        ("You took the mean of the shards.", " It is the sum."),
        ("Too short. So the next one stands, too.", " This not."),
        ("`x.sum()` runs on each device, e.g. here.", " No."),
        ("你数的是元素个数，没有乘以每个元素的字节数，所以小了。", "内存按字节算。"),
        ("one sentence without an end", ""),
    ):
        assert known_mistakes.first(begins + rest) == begins
