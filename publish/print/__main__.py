"""python -m publish.print pdf|epub|zip|cards [--build FOLDER] [EDITION…]: make the book for offline reading, or cards.

Everything is made from the pages that `make book` wrote. For a published version (BOOK_VERSION), PDFs and EPUBs are
also copied next to them.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from publish import files, options, progress_line
from publish.page import show
from publish.pages import published
from publish.print import articles, cards, epub, paper, site, whole


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m publish.print",
        description="Make a PDF, an EPUB, a zip file of the site, or cards (preview pictures for shared links).",
    )
    parser.add_argument("kind", choices=("pdf", "epub", "zip", "cards"), help="the format to make")
    options.add_editions(parser, "make")
    options.add_build(parser, "of the built book")
    given = parser.parse_args(arguments)
    build = given.build.resolve()
    try:
        editions = options.chosen(given.editions)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        if lacking := [e for e in editions if not (build / "html" / e / "index.html").exists()]:
            raise ValueError(f"there is no {lacking[0]} edition in {show(build / 'html')}: run `make book` first")
        if given.kind == "zip":
            _say(site.write(build, editions))
        for edition in editions if given.kind != "zip" else []:
            if given.kind == "cards":
                _cards(build, edition)
            else:
                _one(build, edition, paper.write if given.kind == "pdf" else epub.write)
        return 0
    except OSError as error:
        progress_line.problem(files.sentence(error, f"make print KINDS={given.kind}"))
    except (ValueError, RuntimeError) as error:
        progress_line.problem(str(error))
    return 1


def _one(build: Path, edition: str, write: Callable[[whole.Book, Path], tuple[Path, str]]) -> None:
    begin = time.monotonic()
    progress_line.step(f"{edition}: reading the pages")
    book = whole.put_together(build / "html", edition, articles.order())
    path, what = write(book, build)
    if published.version():
        files.write_bytes(build / "html" / f"{whole.NAME}-{edition}{path.suffix}", path.read_bytes())
    _say(path, f", {what}" if what else "", f", {time.monotonic() - begin:.1f} s")


def _cards(build: Path, edition: str) -> None:
    progress_line.step(f"{edition}: drawing cards")
    made = cards.write(whole.put_together(build / "html", edition, articles.order()), build)
    progress_line.done(f"{show(made[0].parent)}: {len(made)} cards")


def _say(path: Path, *more: str) -> None:
    progress_line.done(f"{show(path)}: {path.stat().st_size / 1e6:.1f} MB{''.join(more)}")


if __name__ == "__main__":
    sys.exit(main())
