"""List the book's terms in three scripts: words of book/terms.toml, definitions and sections of book/glossary.toml."""

from collections.abc import Iterator
from dataclasses import dataclass

from publish.page import ROOT
from publish.pages import terms
from publish.reference import places
from publish.reference.places import Edition

FILE = ROOT / "book" / "glossary.toml"


@dataclass(frozen=True)
class Term:
    """A term in each script, what it means by language, and the section that teaches it."""

    words: dict[str, str]
    says: dict[str, str]
    label: str


def entries() -> list[Term]:
    """Return the terms in the order of their English names. Raises ValueError for one without Chinese."""
    known = {row["en"]: row for row in terms.terms()["glossary"]}
    result = []
    for en, row in places.read(FILE).items():
        words = known.get(row.get("term", en)) or row
        if "zh-Hans" not in words:
            raise ValueError(f"book/glossary.toml: “{en}” needs zh-Hans: book/terms.toml does not have it")
        hans = words["zh-Hans"]
        words = {"en": en, "zh-Hans": hans, "zh-Hant": words.get("zh-Hant") or terms.traditional(hans)}
        result.append(Term(words, row["says"], row["label"]))
    return sorted(result, key=lambda term: term.words["en"].lower())


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: each term in the reader's script and in the others, its meaning, and where it is taught."""
    for term in entries():
        first = term.words[edition.name]
        others = dict.fromkeys(word for word in term.words.values() if word != first)
        yield f"({label(term)})="
        yield f"**{first}** · {' · '.join(others)}" if others else f"**{first}**"
        yield f": {edition.text(term.says)} → {edition.link(term.label)}"
        yield ""


def label(term: Term) -> str:
    return "term-" + term.words["en"].lower().replace(" ", "-")
