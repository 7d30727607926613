"""The player in a headless Chromium, by real keys and a real mouse: steps, slider, what is read, paper, no script."""

import pytest

PAGE, RING, PIPELINE = "ch07_collectives", "#fig-pieces", "#fig-run-the-pipeline"
LONG = pytest.mark.long


def opened(browser, html, page=PAGE, edition="en", width=1280, figure=RING):
    browser.look(width)
    browser.open(f"{html.as_uri()}/{edition}/{page}.html")
    browser.run(f"document.querySelector('{figure}').scrollIntoView({{behavior: 'instant', block: 'center'}})")


def shown(browser, figure=RING) -> list[int]:
    """The numbers of the frames that can be seen."""
    visible = "{visibilityProperty: true, opacityProperty: true}"
    frames = f"[...document.querySelectorAll('{figure} .frame')]"
    return browser.run(f"{frames}.flatMap((f, i) => f.checkVisibility({visible}) ? [i] : [])")


def of(browser, what: str, said: str, figure=RING):
    """What an element inside the figure says of itself."""
    return browser.run(f"document.querySelector('{figure} {what}'){said}")


def test_buttons_step_and_stop_at_both_ends_and_the_slider_follows_the_mouse(browser, html):
    opened(browser, html)
    assert shown(browser) == [0]
    steps = [("back", 0), ("next", 1), ("next", 2), ("back", 1), ("first", 0)]
    for name, frame in [*steps, *(("next", i) for i in range(1, 7)), ("next", 6)]:
        browser.click(f"{RING} [data-go={name}]")
        assert shown(browser) == [frame], (name, frame)
    assert of(browser, "output", ".textContent") == "6 / 6"
    assert of(browser, "[data-go=next]", ".ariaDisabled") == "true"
    for across, frame in ((0.5, 3), (0.02, 0), (0.98, 6)):
        browser.click(f"{RING} input", across)
        assert shown(browser) == [frame]
        assert of(browser, "input", ".getAttribute('aria-valuetext')") == f"step {frame} of 6"
    assert browser.errors == []


def test_keys_step_once_a_press_wherever_the_focus_is_inside(browser, html):
    opened(browser, html)
    browser.click(f"{RING} [data-go=first]")
    browser.press("ArrowRight", "ArrowRight")
    assert shown(browser) == [2]  # on a button
    browser.press("Tab", "Tab", "Tab", "Tab")
    assert browser.run("document.activeElement.type") == "range"
    browser.press("ArrowRight")
    assert shown(browser) == [3]
    browser.press("End")
    assert shown(browser) == [6]
    browser.press("ArrowLeft", "Home", "ArrowLeft")
    assert shown(browser) == [0]
    before = browser.run("scrollY")
    browser.press("End")
    assert browser.run("scrollY") == before  # the page stays where it is
    opened(browser, html)
    browser.click(f"{RING} .frames")
    browser.press("ArrowRight")
    assert shown(browser) == [1]


@pytest.mark.parametrize("edition, word", [("en", "Turn 1 of 6 adds"), ("zh-Hans", "第 1 步（共 6 步）")])
def test_each_step_is_read_out_as_one_sentence(browser, html, edition, word):
    opened(browser, html, edition=edition)
    assert of(browser, ".heard", ".textContent") == ""  # nothing is said before somebody asks
    browser.click(f"{RING} [data-go=next]")
    said = of(browser, ".heard", ".textContent")
    assert said.startswith(word) and said.count("1") > 2 and said.count(". ") + said.count("。") <= 1
    assert of(browser, ".heard", ".getAttribute('role')") == "status"


def test_it_plays_and_pauses_and_does_not_where_motion_is_reduced(browser, html):
    opened(browser, html)
    assert of(browser, "[data-go=play]", ".ariaLabel") == "Play"
    browser.click(f"{RING} [data-go=play]")
    assert of(browser, "[data-go=play]", ".ariaLabel") == "Pause"
    browser.wait_for(f"document.querySelector('{RING} .frame:nth-child(2)').classList.contains('now')")
    browser.press(" ")
    assert of(browser, "[data-go=play]", ".ariaLabel") == "Play"
    at = shown(browser)
    browser.run("new Promise(done => setTimeout(done, 1600))")  # a step would take 1.2 s
    assert shown(browser) == at
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    browser.open(f"{html.as_uri()}/en/{PAGE}.html")
    assert of(browser, "[data-go=play]", ".checkVisibility()") is False
    assert of(browser, "[data-go=next]", ".checkVisibility()") is True


def test_who_cannot_see_it_finds_named_controls_and_one_picture(browser, html):
    opened(browser, html)
    browser.call("Accessibility.enable")
    found = browser.call("Runtime.evaluate", expression=f"document.querySelector('{RING} .player')")
    tree = browser.call("Accessibility.queryAXTree", objectId=found["result"]["objectId"])["nodes"]
    said = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n.get("ignored")]
    buttons = ["To the start", "One step back", "Play", "One step forward"]
    assert [name for role, name in said if role == "button"] == buttons
    assert [name for role, name in said if role == "slider"] == ["Step"]
    assert ("group", "Steps") in said
    pictures = [name for role, name in said if role in ("image", "img", "SvgRoot") and name]
    assert len(pictures) == 1 and pictures[0].startswith("device 0 holds 1, 1, 1, 1")
    controls = f"[...document.querySelectorAll('{RING} :is(button, input)')]"
    assert min(browser.run(f"{controls}.map(e => e.getBoundingClientRect().height)")) >= 24


PAGES = {PAGE: (), "ch09_training": (), **dict.fromkeys(("ch12", "ch01", "ch16", "ch19"), LONG)}


@pytest.mark.parametrize("edition", ["en", "zh-Hans", pytest.param("zh-Hant", marks=LONG)])
@pytest.mark.parametrize("page", [pytest.param(page, marks=marks) for page, marks in PAGES.items()])
def test_on_a_narrow_phone_nothing_runs_out_of_the_page(browser, html, page, edition):
    (path,) = (html / edition).glob(f"{page}*.html")
    browser.look(320, 640)
    browser.open(path.as_uri())
    assert browser.run("document.querySelectorAll('.player').length") > 0
    assert browser.run("document.documentElement.scrollWidth") <= 320
    controls = "[...document.querySelectorAll('.player .controls > *')]"
    assert browser.run(f"{controls}.every(e => e.getBoundingClientRect().right <= 320)") and browser.errors == []


def test_before_and_after_stand_beside_each_other_with_nothing_to_press(browser, html):
    opened(browser, html, figure="#fig-all-gather")
    assert shown(browser, "#fig-all-gather") == [0, 1]
    assert of(browser, ".controls", "", "#fig-all-gather") is None
    frames = "[...document.querySelectorAll('#fig-all-gather .frame')]"
    assert len(set(browser.run(f"{frames}.map(f => f.getBoundingClientRect().top)"))) == 1


def test_without_script_and_on_paper_all_frames_stand_beside_each_other(browser, html):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    opened(browser, html)
    assert shown(browser) == list(range(7))
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    opened(browser, html)
    browser.click(f"{RING} [data-go=next]")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert shown(browser) == list(range(7)) and of(browser, ".controls", ".checkVisibility()") is False
    # Of frames that grow the last one is enough.
    opened(browser, html, "ch09_training", figure=PIPELINE)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert shown(browser, PIPELINE) == [8]
    browser.call("Emulation.setEmulatedMedia", media="")
    assert shown(browser, PIPELINE) == [0]


@pytest.mark.parametrize("width", [1280, pytest.param(360, marks=LONG)])
def test_nothing_moves_when_the_script_comes_and_from_step_to_step(browser, html, width):
    browser.call("Network.setBlockedURLs", urls=["*player.js"])
    opened(browser, html, width=width)
    assert of(browser, ".controls", "") is None and shown(browser) == [0]
    heights = [of(browser, "", ".getBoundingClientRect().height")]
    browser.call("Network.setBlockedURLs", urls=[])
    opened(browser, html, width=width)
    assert of(browser, ".controls", " !== null")
    for _ in range(7):
        heights.append(of(browser, "", ".getBoundingClientRect().height"))
        browser.click(f"{RING} [data-go=next]")
    assert len(set(heights[1:])) == 1 and abs(heights[0] - heights[1]) < 1


def test_script_and_style_are_small_and_only_where_there_is_a_player(html):
    pages = {p.stem: p.read_text("utf-8") for p in (html / "en").glob("*.html")}
    assert {name for name, text in pages.items() if 'class="player"' in text} >= {PAGE, "ch09_training"}
    for name in ("player.js", "player.css"):
        assert all((name in text) is ('class="player"' in text) for text in pages.values())
        assert (html / "en" / "_static" / name).stat().st_size < 5000
