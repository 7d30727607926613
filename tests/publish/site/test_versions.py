"""Two versions of the book side by side: each link that may lead to the other is decided, search engines see one."""

import re
from xml.etree import ElementTree

import pytest

from publish import versions

BASE = "https://host.invalid/book"
OTHER = '<a href="../../{}/en/{}.html" data-else="../../{}/index.html" data-if-there>other</a>'
PDF = '<a class="whole" href="../book-en.pdf" data-else="../../stable/book-en.pdf" data-if-there download>PDF</a>'


def page(version: str, name: str, other: str) -> str:
    url = f"{BASE}/{version}/en/{name}.html"
    card = f'{BASE}/{version}/en/cards/{name}.png" data-else="{BASE}/{version}/en/cards/index.png" data-if-there'
    return (
        f'<link rel="canonical" href="{url}" />\n<link rel="alternate" hreflang="en" href="{url}">\n'
        f'<meta property="og:url" content="{url}">\n<meta property="og:image" content="{card}>\n'
        f"<p>A note. {OTHER.format(other, name, other)}</p> {PDF}"
    )


def built(folder, version: str, other: str, *names: str) -> None:
    (folder / version / "en" / "cards").mkdir(parents=True)
    (folder / version / "en" / "cards" / "index.png").touch()
    for name in names:
        (folder / version / "en" / f"{name}.html").write_text(page(version, name, other))
    front = f'<title>A book</title><link rel="canonical" href="{BASE}/{version}/index.html">'
    (folder / version / "index.html").write_text(front)
    (folder / version / "404.html").write_text(f"not in {version}")
    urls = "".join(f"<url><loc>{BASE}/{version}/en/{name}.html</loc></url>" for name in names)
    (folder / version / "sitemap.xml").write_text(f'<urlset xmlns="{versions.SITEMAP}">{urls}</urlset>')


def read(path) -> tuple[list[str], list[str]]:
    """Where a page's links lead, and the addresses in its head."""
    text = path.read_text()
    assert "data-else" not in text and "data-if-there" not in text
    return re.findall(r'<a [^>]*?href="([^"]+)', text), re.findall(r'"(https://[^"]+)', text)


def listed(folder) -> set[str]:
    return {e.text or "" for e in ElementTree.parse(folder / "sitemap.xml").iter(f"{{{versions.SITEMAP}}}loc")}


def test_dev_alone_is_the_book_and_links_to_nothing_that_is_not_there(tmp_path):
    built(tmp_path, "dev", "stable", "a")
    assert versions.join(tmp_path) == ["dev"]
    links, head = read(tmp_path / "dev/en/a.html")
    assert links == [] and "<p>A note.</p>" in (tmp_path / "dev/en/a.html").read_text()
    assert head == [f"{BASE}/dev/en/a.html"] * 3 + [f"{BASE}/dev/en/cards/index.png"]
    assert listed(tmp_path) == {f"{BASE}/dev/en/a.html"}
    assert 'url=dev/index.html"' in (tmp_path / "index.html").read_text() and (tmp_path / ".nojekyll").exists()


def test_of_two_the_released_one_stands_for_the_book(tmp_path):
    built(tmp_path, "stable", "dev", "a", "gone")
    built(tmp_path, "dev", "stable", "a", "new")
    (tmp_path / "stable/book-en.pdf").touch()
    (tmp_path / "stable/en/cards/a.png").touch()
    assert versions.join(tmp_path) == ["stable", "dev"]
    links = {
        "dev/en/a": ["../../stable/en/a.html", "../../stable/book-en.pdf"],
        "dev/en/new": ["../../stable/index.html", "../../stable/book-en.pdf"],
        "stable/en/a": ["../../dev/en/a.html", "../book-en.pdf"],
        "stable/en/gone": ["../../dev/index.html", "../book-en.pdf"],
    }
    pages = {name: read(tmp_path / f"{name}.html") for name in links}
    assert {name: found for name, (found, _) in pages.items()} == links
    own = {name: {url for url in head if url.endswith(".html")} for name, (_, head) in pages.items()}
    assert own == {name: {f"{BASE}/{name.replace('dev/en/a', 'stable/en/a')}.html"} for name in pages}
    assert listed(tmp_path) == set().union(*own.values())
    assert pages["stable/en/a"][1][-1] == f"{BASE}/stable/en/cards/a.png"
    assert (tmp_path / "404.html").read_text() == "not in stable" and not list(tmp_path.glob("*/404.html"))
    assert f'canonical" href="{BASE}/stable/index.html' in (tmp_path / "index.html").read_text()


def test_no_version_is_one_sentence(tmp_path, capsys):
    with pytest.raises(ValueError, match="there is neither .*/stable/index.html nor .*/dev/index.html"):
        versions.join(tmp_path)
    assert versions.main([str(tmp_path)]) == 1 and "there is neither" in capsys.readouterr().err
    assert versions.main([]) == 2 and "python3 -m publish.versions" in capsys.readouterr().err
