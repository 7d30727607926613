"""The designer in a headless Chromium: a guess first, real mouse and keys, the address, a phone, without script."""

import pytest
from chromium import Browser

from minipod.pods import absent
from minipod.pods.program_file import imported
from publish.page import ROOT

VERDICT = "document.querySelector('.designer .verdict')?.textContent ?? ''"
SAID = "document.querySelector('.designer .said').textContent"
CODE = "document.querySelector('.designer pre').textContent"


def opened(browser: Browser, html, query: str, edition: str = "en", width: int = 1280, shown: bool = True) -> None:
    browser.look(width, 2400)
    browser.open(f"{html.as_uri()}/{edition}/designer.html?{query}")
    browser.errors.clear()
    if shown:
        browser.click(".designer .guess button[value=show]")


def test_nothing_is_shown_before_the_guess_and_the_guess_is_told_beside_the_answer(browser, html):
    opened(browser, html, "model=llama_8b&rows=128&length=2048&on=v5p:4x4x4&tensor=4", shown=False)
    folded = "document.querySelector('.designer details').checkVisibility()"
    assert browser.run(VERDICT) == "" and not browser.run(folded)
    browser.click(".designer .guess button[value=network]")
    guess = browser.run("document.querySelector('.guess').textContent")
    assert "Your guess was “network”; it is “arithmetic”." in guess
    said = "Fits, without embedding and head: about 8.63 GB of a device's 103 GB. On paper a step takes 503 ms"
    assert browser.run(VERDICT).startswith(said) and browser.run("document.activeElement.name") == "first"
    browser.press(" ")  # no longer first: another choice is shown at once
    browser.run("document.querySelector('.designer [name=on]').focus()")
    browser.press("v", "6")
    assert "of a device's 33.5 GB" in browser.run(VERDICT) and "on=v6e:8x8" in browser.run("location.search")
    assert browser.errors == []


def test_the_address_holds_the_design_and_fsdp_takes_what_is_left(browser, html):
    opened(browser, html, "model=own&rows=64&length=4096&on=v5e:16x16&params=13&layers=40&width=5120&tensor=16")
    assert browser.run("document.querySelector('.designer output').textContent") == "16"
    code = browser.run(CODE)
    assert "mesh_utils.create_device_mesh((16, 16), allow_split_physical_axes=True)" in code
    assert 'mesh = Mesh(devices, ("fsdp", "tensor"))' in code
    assert "minipod choose --params 13e9 --batch 64 --seq 4096 --layers 40 --width 5120 --on v5e:16x16" in code
    browser.click(".designer [name=rows]", times=3)
    browser.press("1", "2", "8", "Tab")
    assert "rows=128" in browser.run("location.search") and browser.run("document.activeElement.name") == "length"


def test_the_mesh_the_specs_and_several_slices_are_those_of_the_choice(browser, html):
    opened(browser, html, "model=mixtral&rows=64&length=2048&on=v5p:4x4x4&expert=4&stage=4")
    code = browser.run(CODE)
    assert 'mesh = Mesh(devices, ("stage", "fsdp", "expert"))' in code
    assert 'up = gate = P("stage", "expert", "fsdp")' in code and 'down = P("stage", "expert", None, "fsdp")' in code
    assert 'batch = P(("fsdp", "expert"))' in code
    line = "# minipod plan lessons/designer/models.py:mixtral_64x2048 --on v5p:4x4x4 --mesh stage=4,fsdp=4,expert=4"
    assert line in code.splitlines()
    made = imported(ROOT / "lessons/designer/models.py", "mixtral_64x2048")
    _, (_, batch) = made(absent.mesh("v5p:4x4x4", stage=4, fsdp=4, expert=4))
    assert batch.shape == (64, 2048, 4096) and (*batch.sharding.spec,) == (("fsdp", "expert"),)
    opened(browser, html, "model=llama_8b&rows=512&length=2048&on=2xv5e:16x16&data=2")
    assert "create_hybrid_device_mesh((1, 256), (2, 1), allow_split_physical_axes=True)" in browser.run(CODE)
    assert "also over the network between slices" in browser.run("document.querySelector('.torus').textContent")


def test_what_cannot_be_is_one_sentence_and_nothing_is_lost(browser, html):
    opened(browser, html, "model=llama_8b&rows=64&length=2048&on=v5e:4x4&tensor=16", shown=False)
    assert browser.run(SAID) == "tensor=16 does not divide 8 heads of keys and values."
    opened(browser, html, "model=llama_8b&rows=6&length=2048&on=v5p:4x4x4", shown=False)
    assert browser.run(SAID).startswith("6 sequences cannot be cut into 64 equal parts") and browser.run(VERDICT) == ""
    browser.click(".designer [name=rows]", times=3)
    browser.press("x", "Tab")
    assert browser.run(SAID).startswith("That cannot be computed")
    assert browser.run("document.querySelector('.designer [name=rows]').value") == "6"
    # nonsense in the address is told, and the page begins as ever
    for query in ("model=%3Cimg%20src=x%3E&rows=1", "model=llama_8b&rows=0&length=1&on=h100:8"):
        opened(browser, html, query, "zh-Hans", shown=False)
        assert browser.run(SAID).startswith("这样算不了")
        assert browser.run("document.querySelector('.designer [name=model]').value") == "llama_8b"
        assert browser.run("document.querySelector('.designer img')") is None and browser.errors == []


@pytest.mark.parametrize("edition", ["en", pytest.param("zh-Hant", marks=pytest.mark.long)])
def test_on_a_phone_nothing_runs_out_of_the_page(browser, html, edition):
    opened(browser, html, "model=mixtral&rows=512&length=2048&on=2xv5e:16x16&data=2&expert=4", edition, 390)
    assert browser.run(VERDICT) and browser.run("document.documentElement.scrollWidth") <= 390
    fields = "[...document.querySelectorAll('.designer form :is(input, select)')]"
    assert browser.run(f"{fields}.every(e => e.closest('label').textContent.trim())")


def test_what_a_compiler_made_of_it_stands_beside_it_and_paper_is_not_asked(browser, html):
    opened(browser, html, "model=llama_8b&rows=128&length=2048&on=v5p:4x4x4", shown=False)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    planned = browser.run("document.querySelector('.designer .planned').textContent")
    assert "(libtpu 0.0.52): 5.48 GB held; 82.4 GB sent, whereas the formulas say 82.4 GB" in planned
    assert browser.run("document.querySelectorAll('.designer .torus rect.in').length") == 64


def test_a_page_without_script_has_the_first_design_as_a_table(html):
    text = (html / "zh-Hans" / "designer.html").read_text("utf-8").partition('<div class="designer"')[2]
    inside = text.partition("</table>")[0]
    assert inside.count("<tr>") == 11 and "<form" not in inside and "优化器" in inside
