"""PDF, EPUB, zip and cards: what is in them, and what is said where a thing is missing."""

import io
import re
import shutil
import struct
import subprocess
import unicodedata
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader
from seldom import rarely

from publish.page import EDITIONS
from publish.pages import terms
from publish.print import __main__ as command
from publish.print import articles, cards, epub, front, paper, site, whole

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" aria-labelledby="t"><title id="t">A picture</title>
<clipPath id="c"><path d="M0 0h9"/></clipPath><g clip-path="url(#c)"><text>0</text></g></svg>"""
FIRST = f"""<html><body><nav>furniture</nav><article class="bd-article"><section id="sec-one">
<p class="chapter">Chapter 1 <a class="service screen-only" href="https://colab.example">Colab</a></p>
<h1>One<a class="headerlink" href="#sec-one">#</a></h1>
<p>See <a class="reference internal" href="ch02_two.html#sec-there">there</a>, <a href="#sec-under">below</a>,
<a href="status.html">status</a>, <a href="https://example.org/x">the web</a> and
<a href="notebooks/a.ipynb">a file</a>.</p>
<section id="sec-under"><h2>Under</h2><figure id="fig-a">{SVG}</figure>
<div class="highlight"><pre><span></span><span class="k">def</span> f():
    <span class="sd">'''one
two'''</span>

    return 1
</pre></div>
<div class="exercise admonition" id="ex-sum"><p class="admonition-title">Exercise 1 · Sum</p><p>Add.</p>
<details class="sd-dropdown"><summary>Hint 1<span class="sd-summary-state-marker">v</span></summary>
<div><p>Try.</p></div></details>
<details class="sd-dropdown"><summary>Solution</summary><div><pre>sum(x)</pre></div></details></div>
</section></section></article></body></html>"""
SECOND = """<article><section id="sec-two"><h1>Two 第二</h1><section id="sec-there"><h2>There</h2>
<p>x &lt; y <code><span class="pre">a</span> <span class="pre">b</span></code></p></section></section></article>"""
LONG = pytest.mark.long
EPUBCHECK = Path("/usr/share/java/epubcheck.jar")
NEEDS_CHROMIUM = pytest.mark.skipif(paper.executable() is None, reason="there is no Chromium on this machine")
PAGES = [("Part I · One host, many devices", "ch01_one"), ("Part I · One host, many devices", "ch02_two")]


@pytest.fixture
def build(tmp_path):
    for edition in ("en", "zh-Hans", "zh-Hant"):
        folder = tmp_path / "html" / edition
        folder.mkdir(parents=True)
        (folder / "ch01_one.html").write_text(FIRST, "utf-8")
        (folder / "ch02_two.html").write_text(SECOND, "utf-8")
        (folder / "_static").mkdir()
        (folder / "_static" / "icon.svg").write_text("<svg/>")
        (folder / "index.html").write_text('<a href="ch01_one.html">One</a>', "utf-8")
    return tmp_path


@pytest.fixture
def book(build):
    return whole.put_together(build / "html", "en", PAGES)


def test_every_link_in_the_book_has_its_end_and_what_paper_cannot_follow_or_show_is_left_out(book):
    ids = [e.get("id") for article in book.articles for e in article.body.iter() if e.get("id")]
    assert len(ids) == len(set(ids)) > 8
    hrefs = [e.get("href") for article in book.articles for e in article.body.iter("a") if e.get("href")]
    inner = {href[1:] for href in hrefs if href.startswith("#")}
    assert "ch02_two.sec-there" in inner and inner <= set(ids)
    assert [href for href in hrefs if not href.startswith("#")] == ["https://example.org/x"]
    text = articles.text_of(book.articles[0].body)
    assert "and a file" in text and [word for word in ("furniture", "#", "Colab") if word in text] == []
    # hints and solutions stand at the end, with links there and back
    chapter, _, solutions = book.articles
    assert "Try." not in articles.text_of(chapter.body)
    assert re.search(r"Hint 1 ?Try\..*Solution ?sum\(x\)", articles.text_of(solutions.body))
    there = [e.get("href") for e in chapter.body.iter("a") if "numbered" in (e.get("class") or "")]
    back = [e.get("href") for e in solutions.body.iter("a")]
    assert (there, back) == (["#solutions.ch01_one.ex-sum"], ["#ch01_one.ex-sum"])


def test_lines_of_a_listing_are_blocks_of_the_same_text_and_pictures_refer_to_parts_of_themselves(book):
    pre, svg = (next(book.articles[0].body.iter(tag)) for tag in ("pre", "svg"))
    lines = [e for e in pre if e.get("class") == "line"]
    assert len(lines) == 5 and "".join(pre.itertext()) == "def f():\n    '''one\ntwo'''\n\n    return 1\n"
    assert [e.get("class") for e in lines[2]] == ["sd"]  # the second line of a string keeps its colour
    assert svg.get("viewBox") == "0 0 9 9" and svg.get("aria-labelledby") == "ch01_one.t"
    assert next(svg.iter("g")).get("clip-path") == "url(#ch01_one.c)"


def test_epub_is_well_formed_lists_its_files_and_is_the_same_twice(book, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    data = epub.packed(epub.contained(book))
    assert data == epub.packed(epub.contained(book))
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        names = packed.namelist()
        assert names[0] == "mimetype" and packed.getinfo("mimetype").compress_type == zipfile.ZIP_STORED
        texts = {name: packed.read(name).decode() for name in names}
    for name in names:
        if name.endswith((".xhtml", ".opf", ".svg", ".xml")):
            ElementTree.fromstring(texts[name])
    listed = {f"book/{href}" for href in re.findall(r'<item [^>]*href="([^"]+)"', texts["book/package.opf"])}
    assert listed == set(names) - {"mimetype", "META-INF/container.xml", "book/package.opf"}
    assert "2023-11-14T22:13:20Z" in texts["book/package.opf"]
    for name in (n for n in names if n.endswith(".xhtml")):
        for file, _, id in (link.partition("#") for link in re.findall(r'<a [^>]*href="([^":]+)"', texts[name])):
            assert f'id="{id}"' in texts[f"book/{file}" if file else name], (name, file, id)


@NEEDS_CHROMIUM
def test_pdf_says_on_which_page_each_link_ends_and_has_bookmarks(book, tmp_path):
    path, said = paper.write(book, tmp_path)
    reader = PdfReader(path)
    pages = [page.extract_text() for page in reader.pages]
    assert said == f"{len(pages)} pages"
    at = {name: 1 + reader.get_destination_page_number(d) for name, d in reader.named_destinations.items()}
    contents = next(text for text in pages if text.lstrip().startswith(("Contents", "One Program")) and "There" in text)
    assert str(at["/ch02_two.sec-there"]) in contents.replace("There", "").split()
    first = next(text for text in pages if "See there" in text)
    assert f"(page {at['/ch02_two.sec-there']})" in first
    assert "Chapter 1 · One" in first  # above the page
    assert {"One", "Two 第二", "Under"} <= {o["/Title"] for o in outline(reader.outline)}


def outline(found):
    return [one for item in found for one in (outline(item) if isinstance(item, list) else [item])]


def test_what_is_missing_is_one_sentence(book, build, monkeypatch, capsys):
    monkeypatch.setattr(paper, "NAMES", ("no-such-browser",))
    with pytest.raises(RuntimeError, match="^Chromium, which prints the PDF, is not installed: install Debian's pack"):
        paper.write(book, build)
    assert command.main(["epub", "en", "--build", str(build / "nowhere")]) == 1
    assert "there is no en edition in" in capsys.readouterr().err
    assert command.main(["epub", "klingon"]) == 2
    assert "no edition is called “klingon”" in capsys.readouterr().err
    assert sorted(p.name for p in build.iterdir()) == ["html"]


def test_zip_links_only_to_what_is_in_it(build):
    page = build / "html" / "en" / "index.html"
    page.write_text(
        '<a data-edition="zh-Hans" href="../zh-Hans/index.html">简体</a><a href="index.html?x#y"/>', "utf-8"
    )
    for path in build.glob("html/*/ch*.html"):
        path.write_text('<a href="index.html">up</a>')
    content = site.gathered(build / "html", ["en"])
    assert site.dangling(content) == []
    assert "简体" not in content["en/index.html"].decode()
    assert "zh-Hans/" not in content["index.html"].decode().partition("<script>")[0]
    only = site.gathered(build / "html", ["zh-Hant"])
    assert site.dangling(only) == [] and "zh-Hant/_static/icon.svg" in only
    page.write_text('<a href="/absolute.html">a</a> <img src="lost.svg">', "utf-8")
    said = "en/index.html links to {}, which is not in the zip"
    lost = [said.format("/absolute.html"), said.format("lost.svg")]
    assert site.dangling(site.gathered(build / "html", ["en"])) == lost


def test_every_page_of_the_book_is_in_it_or_left_out_by_name_and_its_words_are_there_in_every_edition():
    names = [name for _, name in articles.order()]
    assert names[:2] == ["start", "ch01_devices"] and names.count("ch16_capstone") == 1
    assert not set(names) & set(articles.LEFT_OUT)
    for name in ("print_contents", "print_solutions", "print_page", "version", "to_source", "colab"):
        assert set(terms.ui()[name]) == {"en", "zh-Hans", "zh-Hant"}, name


@LONG
@NEEDS_CHROMIUM
@pytest.mark.parametrize("edition", ["en", *rarely("zh-Hans")])
def test_in_the_whole_book_each_page_has_a_bookmark_and_the_cheat_sheet_is_one_sheet(html, edition, tmp_path):
    book = whole.put_together(html, edition, articles.order())
    reader = PdfReader(paper.write(book, tmp_path)[0])
    assert len(reader.pages) > 250
    titles = {" ".join(o["/Title"].split()) for o in outline(reader.outline)}
    assert {article.title for article in book.articles} <= titles
    cover = unicodedata.normalize("NFKC", reader.pages[0].extract_text())  # some characters come as radicals
    assert book.ui["subtitle"].split()[0] in cover and "English" not in cover and "中文" not in cover
    book = whole.put_together(html, edition, [("To look things up", "sheet")])
    reader = PdfReader(paper.write(book, tmp_path)[0])
    first = reader.get_destination_page_number(reader.named_destinations["/sheet.top"])
    assert first is not None and len(reader.pages) - first == 1
    assert "process_allgather" in reader.pages[first].extract_text()  # its last line


@LONG
@pytest.mark.skipif(not (EPUBCHECK.exists() and shutil.which("java")), reason="Debian's package epubcheck is not here")
@pytest.mark.parametrize("edition", rarely("en", "zh-Hans", "zh-Hant"))
def test_epubcheck_finds_no_error_in_the_whole_book(html, edition, tmp_path):
    path, _ = epub.write(whole.put_together(html, edition, articles.order()), tmp_path)
    done = subprocess.run(["java", "-jar", EPUBCHECK, path], capture_output=True, text=True, timeout=3600, check=False)
    assert "0 fatals / 0 errors / 0 warnings" in done.stdout, (done.stdout + done.stderr)[-3000:]


@LONG
def test_the_whole_site_opens_from_a_zip(html):
    for editions in (["en", "zh-Hans", "zh-Hant"], ["zh-Hant"]):
        assert site.dangling(site.gathered(html, editions)) == []


SOME = [("", name) for name in ("ch01_devices", "ch03_sharding", "ch14_launching")]


@pytest.mark.parametrize("edition, chosen", [("en", SOME), *(pytest.param(e, None, marks=LONG) for e in EDITIONS)])
def test_book_and_chapters_have_a_card_with_their_own_picture_and_all_is_on_it(
    html, browser, tmp_path, edition, chosen
):
    book = whole.put_together(html, edition, chosen or articles.order())
    found = dict(cards.pages(book))
    chapters = [article for article in book.articles if article.number]
    assert list(found) == ["index", *(article.name for article in chapters)]
    assert len(chapters) == len(chosen) if chosen else len(chapters) > 20
    for article in chapters:
        words = book.ui["chapter"].format(article.number)
        assert f'<p class="number">{words}</p>' in found[article.name], article.name
        own = next(article.body.iter("svg"), None)
        assert found[article.name].count("<svg") == 1 and (own is None or own.get("viewBox") in found[article.name])
    assert front.picture().get("viewBox") in found["index"]
    browser.look(cards.WIDTH, cards.HEIGHT)
    for name, page in found.items():
        (tmp_path / "card.xhtml").write_text(page, "utf-8")
        browser.open((tmp_path / "card.xhtml").as_uri() + f"?{name}")
        out = f"""[...document.querySelectorAll('p, h1, svg')].filter(e => (r => r.width && (r.left < 0 || r.top < 0
            || r.right > {cards.WIDTH} || r.bottom > {cards.HEIGHT}))(e.getBoundingClientRect())).length"""
        edge = "document.querySelector('{}').getBoundingClientRect().{}"
        apart = f"{edge.format('h1', 'right')} <= {edge.format('svg', 'left')}"
        assert browser.run(out) == 0 and browser.run(apart), name


@NEEDS_CHROMIUM
def test_cards_are_written_as_large_as_sites_ask_for(html, tmp_path):
    book = whole.put_together(html, "en", [("", "ch03_sharding")])
    path = tmp_path / "html/en/cards"
    assert cards.write(book, tmp_path) == [path / "index.png", path / "ch03_sharding.png"]
    data = (path / "ch03_sharding.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (cards.WIDTH, cards.HEIGHT)
    assert len(data) > 10_000  # no empty sheet
