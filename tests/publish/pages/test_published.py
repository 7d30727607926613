"""A published book: links to repository, Colab and Binder, and two versions side by side."""

import re
from xml.etree import ElementTree

import pytest

from publish import versions
from publish.pages import published
from publish.pages.published import Repository


def configured(folder, text):
    (folder / "_config.yml").write_text(text)
    return published.repository(folder)


def test_links_of_a_page_on_github_and_what_other_hosts_have(tmp_path):
    found = configured(tmp_path, "repository:\n  url: https://github.com/someone/book.git/\n  branch: dev\n")
    assert published.links(found, "zh-Hant", "ch03_sharding") == {
        "source": "https://github.com/someone/book",
        "edit": "https://github.com/someone/book/edit/dev/book/zh-Hans/ch03_sharding.md",
        "colab": "https://colab.research.google.com/github/someone/book/blob/gh-pages/zh-Hant/notebooks/ch03_sharding.ipynb",
        "binder": "https://mybinder.org/v2/gh/someone/book/gh-pages?labpath=zh-Hant/notebooks/ch03_sharding.ipynb",
    }
    for found, kinds in (
        (Repository("https://github.com/someone/book", published=""), {"source", "edit"}),
        (Repository("https://gitlab.example.org/someone/book"), {"source", "edit"}),
        (Repository("https://git.example.org/book"), {"source"}),
    ):
        assert set(published.links(found, "en", "start")) == kinds
    # no address, no links
    assert published.repository().url == ""  # the book as it is
    for text in ("title: A book\n", 'repository:\n  url: ""\n', "repository:\n"):
        assert published.links(configured(tmp_path, text), "en", "ch03_sharding") == {}
    assert published.links(published.repository(tmp_path / "nowhere"), "en", "ch03_sharding") == {}


def test_the_environment_says_where_a_version_is_before_the_configuration_does(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_SITE", "https://someone.github.io/book/")
    assert published.address() == "https://someone.github.io/book"
    monkeypatch.setenv("BOOK_VERSION", "stable")
    monkeypatch.setenv("BOOK_REPOSITORY", "https://github.com/other/fork")
    assert published.address() == "https://someone.github.io/book/stable"
    found = configured(tmp_path, "repository:\n  url: https://github.com/someone/book\n  published: gh-pages\n")
    assert found == Repository("https://github.com/other/fork", "main", "site-stable")
    assert "/other/fork/blob/site-stable/en/" in published.links(found, "en", "ch03_sharding")["colab"]


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("BOOK_SITE", "someone.github.io", "BOOK_SITE is “someone.github.io”: give the address of the site"),
        ("BOOK_VERSION", "main", "BOOK_VERSION is “main”: give stable or dev"),
        ("BOOK_REPOSITORY", "someone/book", "BOOK_REPOSITORY is “someone/book”: give its address"),
        ("NOTHING", "", "repository.url is “someone/book”: give its address"),
    ],
)
def test_what_is_no_address_is_one_sentence(tmp_path, monkeypatch, name, value, says):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=says):
        published.address(), published.version(), configured(tmp_path, "repository:\n  url: someone/book\n")


def test_binder_gets_its_python_and_the_package_only_where_it_is_linked(tmp_path):
    published.write_environment(tmp_path, Repository())
    assert list(tmp_path.iterdir()) == []
    published.write_environment(tmp_path, Repository("https://github.com/someone/book"))
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    assert [line.partition("-")[0] for line in lines] == ["./one_program_many_devices", "./minipod"]
    assert (tmp_path / "runtime.txt").read_text() == "python-3.12\n"


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
