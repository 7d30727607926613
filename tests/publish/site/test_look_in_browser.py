"""How the pages look, measured in a headless Chromium: lines, focus, edges, themes, paper, the front page."""

import re

import pytest
from small_book import each_edition

LONG = pytest.mark.long


def seen(browser, html, page, width=1440, height=900, dark=False):
    browser.look(width, height, dark)
    browser.open(f"{html.as_uri()}/{page}.html")
    return browser


@pytest.mark.parametrize("width", [1000, pytest.param(1440, marks=LONG)])
def test_code_of_80_columns_is_read_without_scrolling(browser, html, width):
    # Columns of each block of code that has to be scrolled to be read.
    scrolled = """[...document.querySelectorAll('div.highlight pre')].filter(block => {
        for (const box of document.querySelectorAll('details')) box.open = true
        return block.scrollWidth > block.clientWidth + 1
    }).map(block => Math.max(...block.textContent.split('\\n').map(line => line.length)))"""
    for page in ("en/ch09_training", "zh-Hans/ch03_sharding"):
        columns = seen(browser, html, page, width).run(scrolled)
        assert min(columns, default=81) > 80, (page, columns)


@LONG
@pytest.mark.parametrize("edition", ["en", "zh-Hans"])
def test_no_code_and_no_output_has_to_be_scrolled_on_a_small_laptop(browser, html, edition):
    scrolled = {}
    shown = "[...document.querySelectorAll('article pre')].filter(b => b.getClientRects().length)"
    wide = f"{shown}.filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.textContent.slice(0, 60))"
    for path in sorted((html / edition).glob("*.html")):
        # The explorer says a line of JAX as long as what is asked of it.
        if path.stem != "explorer" and (found := seen(browser, html, f"{edition}/{path.stem}", 1200).run(wide)):
            scrolled[path.stem] = found
    assert scrolled == {}


@pytest.mark.parametrize("page", ["en/index", pytest.param("zh-Hans/ch03_sharding", marks=LONG)])
def test_what_has_the_focus_shows_it(browser, html, page):
    # What can be focused and is in sight, and shows nothing when it is.
    unseen = """[...document.querySelectorAll('a[href], button, input, summary, [tabindex="0"]')].filter(element => {
        if (!element.checkVisibility({visibilityProperty: true})) return false
        element.focus({focusVisible: true, preventScroll: true})
        const {outlineStyle, outlineWidth, opacity} = getComputedStyle(element)
        return document.activeElement === element && 
            (outlineStyle === 'none' || parseFloat(outlineWidth) < 2 || opacity < .9)
    }).map(element => element.outerHTML.slice(0, 120))"""
    seen(browser, html, page)
    assert browser.run("document.querySelectorAll('a[href], button').length") > 20 and browser.run(unseen) == []


PIXEL = """new Promise(done => { const image = new Image(); image.onload = () => {
    const canvas = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height})
    const draw = canvas.getContext('2d'); draw.drawImage(image, 0, 0)
    done([...draw.getImageData(image.width - 2, 4, 1, 1).data].slice(0, 3))
}; image.src = 'data:image/png;base64,%s' })"""


@pytest.mark.parametrize("what, dark", [(".cell_input pre", False), ("table.minipod", True)])
def test_what_is_wider_than_a_phone_has_a_shadow_where_it_goes_on(browser, html, what, dark):
    seen(browser, html, "en/ch07_collectives", 390, 844, dark)
    wide = f"""window.wide = [...document.querySelectorAll('article {what}')]
            .find(element => element.scrollWidth > element.clientWidth + 30)
        for (const element of [wide, ...wide.querySelectorAll('*')]) element.style.color = 'transparent'
        wide.scrollIntoView({{behavior: 'instant', block: 'center'}})"""

    def edge(left: int) -> list[int]:
        """The colour halfway down the right edge, when scrolled so far."""
        browser.run(f"wide.scrollLeft = {left}")
        clip = "(r => ({x: r.x, y: r.y + scrollY + r.height / 2, width: r.width, height: 12, scale: 1}))"
        box = browser.run(f"{clip}(wide.getBoundingClientRect())")
        return browser.run(PIXEL % browser.call("Page.captureScreenshot", format="png", clip=box)["data"])

    browser.run(wide)
    ground = [int(n) for n in re.findall(r"\d+", browser.run("getComputedStyle(wide).backgroundColor"))[:3]]
    assert edge(99999) == ground
    assert sum(abs(a - b) for a, b in zip(edge(0), ground, strict=True)) > 60


@pytest.mark.parametrize("dark", [False, True])
def test_colours_and_highlighting_without_javascript(browser, html, dark):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    seen(browser, html, "en/ch03_sharding", dark=dark)
    assert browser.run("document.documentElement.dataset.theme") == "auto"
    colour = "getComputedStyle(document.querySelector('{}')).{}"
    red = int(re.findall(r"\d+", browser.run(colour.format("body", "backgroundColor")))[0])
    assert (red < 60) is dark
    text, keyword = (browser.run(colour.format(at, "color")) for at in ("article p", ".highlight .kn"))
    assert len({text, keyword, "rgb(0, 0, 0)"}) == 3
    assert browser.run("document.querySelector('.primary-toggle').checkVisibility()") is False  # would do nothing


@pytest.mark.parametrize("theme, other", [("light", "dark"), ("dark", "light")])
def test_the_page_is_as_the_machine_prefers_and_the_theme_of_another_day_is_never_shown(browser, html, theme, other):
    dark = theme == "dark"
    seen(browser, html, "en/start", dark=dark)
    red = int(re.findall(r"\d+", browser.run("getComputedStyle(document.body).backgroundColor"))[0])
    assert browser.run("document.documentElement.dataset.theme") == theme and (red < 60) is dark
    browser.run(f"localStorage.setItem('mode', 'auto'); localStorage.setItem('theme', '{other}')")
    watch = """window.themes = []; new MutationObserver(() => {
        if (document.body) themes.push(document.documentElement.dataset.theme)
    }).observe(document, {subtree: true, childList: true, attributes: true})"""
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=watch)
    seen(browser, html, "en/start", dark=dark)
    assert set(browser.run("themes")) == {theme}
    browser.call("Page.removeScriptToEvaluateOnNewDocument", **script)


@each_edition
def test_each_page_has_one_title_and_no_script_holds_it_back_and_chinese_is_set_as_it_should_be(html, edition):
    pages = {p.stem: p.read_text("utf-8") for p in (html / edition).glob("*.html")}
    assert len(pages) > 30
    assert [name for name, text in pages.items() if len(re.findall("<h1[ >]", text)) != 1] == []
    heads = {name: re.findall(r"<script [^>]*src=[^>]*>", text) for name, text in pages.items()}
    assert min(map(len, heads.values())) > 3
    assert [(name, tag) for name, tags in heads.items() for tag in tags if "defer" not in tag] == []
    # It runs into a link without a space, and a quotation is opened where it begins, whatever stands before.
    beside = re.compile(r'[\u3400-\u9fff] <a class="reference[^>]*>(?:<span[^>]*>)?[\u3400-\u9fff《]')
    wrong = re.compile(r"[，。：；！？、（][”」][\w.-]+[”」]")
    for pattern in (beside, wrong) if edition != "en" else ():
        assert [(name, m[0]) for name, text in pages.items() for m in pattern.finditer(text)] == []


def test_paper_has_the_title_the_hints_and_the_solutions(browser, html):
    seen(browser, html, "en/ch03_sharding", 800)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("document.querySelector('article h1').getBoundingClientRect().top") < 100
    inside = "[...document.querySelectorAll('article details:not(.explorer *) > :not(summary)')]"
    folded = f"{inside}.map(e => e.getBoundingClientRect().height > 10)"
    assert len(found := browser.run(folded)) > 10 and all(found)
    furniture = "[...document.querySelectorAll('.bd-sidebar, .switches, .copybtn')]"
    assert browser.run(f"{furniture}.some(e => e.checkVisibility())") is False


def test_printing_from_a_dark_page_is_black_on_white_and_leaves_it_as_it_was(browser, html):
    seen(browser, html, "en/ch03_sharding", dark=True)
    state = "[document.documentElement.dataset.theme, document.querySelectorAll('article details[open]').length]"
    before = browser.run(state)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    theme, opened = browser.run(state)
    assert (before, theme) == (["dark", 0], "light") and opened > 10
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(state) == before


@pytest.mark.parametrize("page", ["en/ch07_collectives", pytest.param("zh-Hans/ch09_training", marks=LONG)])
def test_the_words_of_pictures_can_be_read_on_a_phone(browser, html, page):
    words = """[...document.querySelectorAll('svg.minipod')].flatMap(svg => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width
        return [...svg.querySelectorAll('text')].map(text => parseFloat(getComputedStyle(text).fontSize) * scale)
    })"""
    sizes = seen(browser, html, page, 390, 844).run(words)
    assert len(sizes) > 40 and min(sizes) > 10.4


def test_the_list_of_pages_opens_at_the_current_one_and_keeps_the_title(browser, html):
    seen(browser, html, "en/ch16_capstone", 1024, 768)
    in_sight = """(r => r.top >= 0 && r.bottom <= innerHeight)(
        document.querySelector('.bd-sidebar-primary {}').getBoundingClientRect())"""
    browser.wait_for(in_sight.format("li.current > a"))
    assert browser.run(in_sight.format(".navbar-brand"))


def test_copy_buttons_say_what_they_copy(browser, html):
    labels = "[...document.querySelectorAll('.copybtn')].map(b => b.ariaLabel)"
    names = seen(browser, html, "zh-Hans/ch09_training").run(labels)
    assert len(names) > 30 and all(name.startswith("复制：") for name in names)
    assert "复制：model.py" in names and len(set(names)) > 0.8 * len(names)


@pytest.mark.parametrize("page", ["zh-Hans/ch09_training", pytest.param("zh-Hant/ch03_sharding", marks=LONG)])
def test_a_chinese_title_breaks_at_its_punctuation(browser, html, page):
    # Where the lines of titles break: the last character of each line but the last, and the title.
    breaks = """[...document.querySelectorAll('article :is(h1, h2)')].flatMap(title => {
        const text = document.createTreeWalker(title, NodeFilter.SHOW_TEXT), range = document.createRange(), all = []
        for (let node; node = text.nextNode();) for (let i = 0; i < node.length; i++) {
            range.setStart(node, i); range.setEnd(node, i + 1)
            const box = range.getClientRects()[0]
            if (box && node.parentElement.className !== 'headerlink') all.push([node.data[i], box.top])
        }
        return all.slice(0, -1).filter(([c, top], i) => all[i + 1][1] > top + 9).map(([c]) => [c, title.textContent])
    })"""
    broken = seen(browser, html, page, 390, 844).run(breaks)
    assert broken and [where for where in broken if where[0] not in "：，、？；。） " and len(where[1]) < 24] == []


def test_a_chinese_quotation_mark_is_as_wide_as_a_character(browser, html):
    seen(browser, html, "zh-Hans/ch03_sharding")
    width = """(text => {
        const span = Object.assign(document.createElement('span'), {textContent: text})
        document.querySelector('article section > p:not(.chapter)').append(span)
        return span.getBoundingClientRect().width / 17
    })"""
    if not 0.95 < browser.run(f"{width}('字')") < 1.05:
        pytest.skip("there is no Chinese font on this machine")
    assert browser.run(f"{width}('字“字')") == pytest.approx(3, abs=0.05)


@pytest.mark.parametrize("edition", ["en", pytest.param("zh-Hans", marks=LONG), pytest.param("zh-Hant", marks=LONG)])
def test_the_front_page_says_on_one_screen_what_it_is_and_where_to_begin(browser, html, edition):
    place = "(r => [r.left, r.width, r.top, r.bottom])(document.querySelector('{}').getBoundingClientRect())"
    size = "parseFloat(getComputedStyle(document.querySelector('#sec-able li {}')).fontSize)"
    for width, height in ((1440, 900), (1024, 768), (390, 844), (2560, 900)):
        seen(browser, html, f"{edition}/index", width, height)
        picture = ["#sec-index svg"] if width > 1000 else []
        for what in ("h1", "h1 + p", ".begin a", ".languages", *picture) if width < 2000 else ():
            _, wide, top, bottom = browser.run(place.format(what))
            assert wide > 0 and top >= 0 and bottom <= height, (width, what)
        # It stands in the middle, with titles larger than what is said of them, and a search.
        left, wide, *_ = browser.run(place.format("#sec-index"))
        if width != 1024:
            assert abs(left - (browser.run("document.documentElement.clientWidth") - left - wide)) < 2
        assert browser.run(size.format("a")) > browser.run(size.format("p:last-child"))
        browser.click(".switches .search-button__button")
        assert browser.run("document.getElementById('search').open")
    chapters = browser.run("[...document.querySelectorAll('#sec-able li a')].map(a => a.getAttribute('href'))")
    assert [c[:4] for c in chapters] == [f"ch{n:02}" for n in range(1, len(chapters) + 1)] and len(chapters) > 15
