"""python -m publish.audit.run_audit [PAGE…]: Lighthouse and axe on the built book, one table.

Needs Node.js 18.16 or newer, Debian's Chromium, and the npm registry once: the package is kept in .cache/audit. The
pages are served as a host would, gzipped. 1 where a page misses what the book promises: 95 in each of Lighthouse's four
scores, no violation of axe, 150 kB; of a search with its answers, for which an index is fetched, 75 in performance.
"""

import argparse
import contextlib
import functools
import gzip
import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from publish import progress_line
from publish.page import ROOT
from publish.serve import Quiet

NPM = "lighthouse@12.8.2"  # brings axe-core and puppeteer-core along; 13 wants Node 22
CACHE = ROOT / ".cache" / "audit"
KINDS = ("index", "ch09_training", "explorer", "search", "search?q=sharding", "glossary")  # ch09 is a long chapter
PAGES = tuple(f"{edition}/{kind}" for edition in ("en", "zh-Hans", "zh-Hant") for kind in KINDS)
FLOOR = 95  # of 100, in each score
ASKED = 75  # performance where a search is asked: its index, 250 kB, comes before what is largest on the page
HEAVIEST = 152_000  # bytes that a first visit to a page fetches; what is asked of the search brings its index along
INDEX = 320_000
SCORES = ("performance", "accessibility", "best-practices", "seo")
TEXTS = (".html", ".css", ".js", ".svg", ".json", ".xml")


class Gzipped(Quiet):
    """Serves texts gzipped and lets browsers keep what does not change, as hosts of static pages do."""

    def send_head(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if path.suffix not in TEXTS or not path.is_file():
            return super().send_head()
        data = gzip.compress(path.read_bytes(), 6)
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", f"{self.guess_type(str(path))}; charset=utf-8")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)
        return None


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Its address on 127.0.0.1, while the block runs."""
    handler = functools.partial(Gzipped, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@dataclass(frozen=True)
class Row:
    """What was measured of a page in one form."""

    name: str
    form: str
    scores: dict[str, int]
    bytes: int
    faults: list[str]
    axe: list[str]

    def misses(self) -> list[str]:
        """In which points it falls short, a sentence each."""
        where = f"{self.name}, {self.form}"
        floors = dict.fromkeys(SCORES, FLOOR) | ({"performance": ASKED} if "?" in self.name else {})
        low = [f"{where}: {s} {self.scores[s]}, less than {floors[s]}" for s in SCORES if self.scores[s] < floors[s]]
        most = HEAVIEST + INDEX * ("?" in self.name)
        heavy = [f"{where}: {self.bytes:,} bytes, more than {most:,}"] if self.bytes > most else []
        return low + heavy + [f"{where}: axe: {words}" for words in self.axe]


def table(rows: list[Row]) -> str:
    """A line for each page and form."""
    wide = max(len(row.name) for row in rows)
    head = f"{'page':{wide}}  {'form':7}  perf  a11y  best   seo     kB  axe"
    lines = [
        f"{r.name:{wide}}  {r.form:7}  " + "  ".join(f"{r.scores[s]:4}" for s in SCORES)
        + f"  {r.bytes / 1000:5.0f}  {len(r.axe):3}"
        for r in rows
    ]  # fmt: skip
    return "\n".join([head, *lines])


def missing() -> str:
    """Which program is not here, in a sentence; empty where all are."""
    lacking = [name for name in ("node", "npm", "chromium") if not shutil.which(name)]
    return f"not here: {', '.join(lacking)}; on Debian, `apt-get install nodejs npm chromium`" if lacking else ""


def install() -> None:
    """The npm package, once. RuntimeError with npm's last words where it cannot be had."""
    if (CACHE / "node_modules" / "lighthouse").is_dir():
        return
    progress_line.step(f"installing {NPM}")
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [
        "npm",
        "install",
        "--no-save",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(CACHE),
        NPM,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if "ERR" in line or "error" in line]
        raise RuntimeError(f"npm could not install {NPM}: {words[0] if words else 'no reason given'}")


def file(page: str) -> str:
    """Where a page lies, with what is asked of it: en/search?q=x is en/search.html?q=x."""
    name, mark, asked = page.partition("?")
    return f"{name}.html{mark}{asked}"


def audit(folder: Path, pages: list[str]) -> Iterator[Row]:
    """Measure pages of the book in `folder`, one after the other. RuntimeError where the browser or the audit fails."""
    shutil.copy(Path(__file__).with_name("pages.mjs"), CACHE)  # beside node_modules, where node looks for packages
    with served(folder) as base:
        wanted = json.dumps([{"name": page, "url": f"{base}/{file(page)}"} for page in pages])
        command = ["node", str(CACHE / "pages.mjs"), shutil.which("chromium") or "chromium"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdin and process.stdout and process.stderr
            process.stdin.write(wanted)
            process.stdin.close()
            for line in process.stdout:
                yield Row(**json.loads(line))
            words = process.stderr.read()
        if process.returncode:
            errors = [line for line in words.splitlines() if "Error" in line]
            raise RuntimeError(f"the audit ended: {errors[0] if errors else words[-300:]}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make audit", description="Lighthouse and axe on the built book.")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="such as en/ch03_sharding (default: of each kind)")
    parser.add_argument("--build", type=Path, default=ROOT / "_build", help="the folder it was built in (_build)")
    options = parser.parse_args(arguments)
    folder = options.build / "html"
    pages: list[str] = options.pages or [*PAGES]
    if not (folder / "index.html").exists():
        return _no("there is no book yet: run `make book` first")
    if unknown := [page for page in options.pages if not (folder / file(page).partition("?")[0]).is_file()]:
        return _no(f"there is no page {unknown[0]}: name one as en/ch03_sharding")
    if words := missing():
        return _no(words)
    rows: list[Row] = []
    try:
        install()
        for row in audit(folder, pages):
            rows.append(row)
            progress_line.step(f"{len(rows)}/{2 * len(pages)} {row.name}, {row.form}")
    except (OSError, RuntimeError) as error:
        return _no(str(error))
    print(table(rows))
    misses = [words for row in rows for words in row.misses()]
    for words in [*misses, *sorted({f"{row.name}: {fault}" for row in rows for fault in row.faults})]:
        print(words)
    return 1 if misses else 0


def _no(words: str) -> int:
    print(words, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
