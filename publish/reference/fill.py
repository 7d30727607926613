"""Fill pages that ask for generated text with a line such as `% reference: glossary`."""

import re
from collections.abc import Callable, Iterator

from publish.pages import notebooks
from publish.pages.notebooks import Source
from publish.reference import cheat_sheet, glossary, known_mistakes, names, places, then_and_now, toolkit
from publish.reference import error_table as errors
from publish.reference.places import Edition

LINE = re.compile(r"(?m)^% reference: (\w+)$")
MAKERS: dict[str, Callable[[Edition], Iterator[str]]] = {
    "errors": errors.lines,
    "glossary": glossary.lines,
    "mistakes": known_mistakes.lines,
    "names": names.lines,
    "sheet": cheat_sheet.lines,
    "then_and_now": then_and_now.lines,
    "toolkit": toolkit.lines,
}


def fill(sources: list[Source]) -> None:
    """Fill the pages of one edition. Raises ValueError for an unknown line."""
    if not any(LINE.search(source.text) for source in sources):
        return
    for source in sources:
        source.text = places.with_labels(source)
    edition = Edition(sources, notebooks.titles(sources)[0])
    for source in sources:
        for asked in LINE.findall(source.text):
            if asked not in MAKERS:
                known = ", ".join(MAKERS)
                raise ValueError(f"{source.name}: `% reference: {asked}` is unknown: choose from {known}")
            try:
                made = "\n".join(MAKERS[asked](edition))
            except KeyError as error:
                raise ValueError(f"{source.name}: a row lacks `{error.args[0]}`") from None
            except ValueError as error:
                raise ValueError(f"{source.name}: {error}") from None
            source.text = source.text.replace(f"% reference: {asked}", made)
