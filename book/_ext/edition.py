"""What an edition needs beyond Jupyter Book.

Language and strings, section ids that all editions share, MathML, and no file that no page loads.
"""

import re
import sys
from collections.abc import Callable
from gettext import NullTranslations
from pathlib import Path

from docutils import nodes
from sphinx import locale
from sphinx.addnodes import toctree
from sphinx.application import Sphinx

BOOK = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BOOK), str(BOOK.parent)]  # Jupyter Book starts elsewhere

from _ext import style_sheets  # noqa: E402

from publish import files, reading_time, reference  # noqa: E402  (book/ is not a package)
from publish.page import ROOT, chapter_of  # noqa: E402
from publish.pages import published, terms  # noqa: E402

NAMES = {"en": "English", "zh-Hans": "简体", "zh-Hant": "繁體"}
LANGUAGES = {"en": "en", "zh-Hans": "zh_CN", "zh-Hant": "zh_TW"}
UNUSED = ("fontawesome", ".map", "LICENSE", "play-solid", "images/logo_", "/locales/", "macros.html", ".png")
UNUSED += ("searchtools.js", "language_data.js")
# The icon font in the theme's style sheet: 100 KB that book.css makes needless.
ICONS = re.compile(
    r"""@font-face\{[^}]*Font Awesome[^}]*\}|(?:\.fa-[\w-]+::?before,?)+\{content:"\\[\w]+"\}|@keyframes fa-.*?\}\}"""
)


def edition_of(app: Sphinx) -> str:
    """The edition is the name of the folder the pages lie in; any other folder is read as English."""
    name = Path(app.srcdir).name
    return name if name in NAMES else "en"


def configure(app: Sphinx, config) -> None:
    """Language, title, strings and templates of this edition, before the theme reads them."""
    edition, words = edition_of(app), terms.ui()
    config.language = LANGUAGES[edition]
    config.smartquotes = edition == "en"  # Chinese quotes are typed as they should be, and "x" in a sentence is code
    config.html_title = config.project = words["title"][edition]
    config.author = words["authors"][edition]
    config.templates_path = [str(BOOK / "_templates")]
    config.html_static_path = [str(BOOK / "_static")]
    config.html_favicon = str(BOOK / "_static" / "icon.svg")
    config.html_css_files = ["book.css", "boxes.css", "chinese.css", "search.css", ("print.css", {"media": "print"})]
    config.html_js_files = ["book.js", ("search_box.js", {"defer": "defer"})]
    config.togglebutton_hint = config.togglebutton_hint_hide = ""
    config.copybutton_prompt_text = "$ "
    config.html_theme_options = {
        **config.html_theme_options,
        "search_bar_text": words["search"][edition],
        "toc_title": words["contents"][edition],
        "logo": {"text": words["title"][edition]},
        "pygments_light_style": "a11y-light",
        "pygments_dark_style": "github-dark",
        "home_page_in_toc": False,
        "use_download_button": False,
        "use_fullscreen_button": False,
        "article_header_end": ["switches.html", "toggle-secondary-sidebar.html"],
        "footer_content_items": ["colophon.html"],
        "back_to_top_button": False,
        "navbar_persistent": [],
    }
    config.html_context = {**config.html_context, "default_mode": "auto"}
    config.nb_execution_cache_path = str(BOOK.parent / "_build" / "jupyter-cache")
    config.html_sidebars = {"**": ["masthead.html", "sbt-sidebar-nav.html"]}


class OurWords(NullTranslations):
    """What Sphinx and the theme say of themselves, in the words of an edition; what is not among them, as they say it.

    Their own Chinese is patchy, and the theme's is Simplified in both scripts.
    """

    def __init__(self, edition: str, theirs: NullTranslations):
        super().__init__()
        self.add_fallback(theirs)
        rows = (row for name, row in terms.ui().items() if name.startswith("theme_"))
        self.ours = {row["en"]: row[edition] for row in rows}

    def gettext(self, message: str) -> str:
        return self.ours.get(message) or super().gettext(message)


def one_formatter(app: Sphinx) -> None:
    """Pygments makes a style sheet for each formatter, and Sphinx a formatter for each listing: these share one."""
    if highlighter := getattr(app.builder, "highlighter", None):
        make, made = highlighter.get_formatter, {}

        def get_formatter(**options):
            key = repr(options)
            if key not in made:
                made[key] = make(**options)
            return made[key]

        highlighter.get_formatter = get_formatter


def translate_theme(app: Sphinx, config) -> None:
    """Put `OurWords` where Sphinx looks for a translation."""
    where = ("general", "sphinx")
    app.translator = locale.translators[where] = OurWords(edition_of(app), locale.translators[where])


def translate_captions(app: Sphinx, doctree: nodes.document) -> None:
    """The captions of _toc.yml in the reader's language."""
    captions = terms.terms()["captions"]
    for node in doctree.findall(toctree):
        row = captions.get(node.get("caption") or "")
        if row and edition_of(app) != "en":
            node["caption"] = row.get(edition_of(app)) or terms.traditional(row["zh-Hans"])


def stable_ids(app: Sphinx, doctree: nodes.document) -> None:
    """The explicit label of a heading becomes its section's id, so that every edition has the same #fragments."""
    explicit = {nodes.make_id(name) for name, given in doctree.nametypes.items() if given}
    for section in doctree.findall(nodes.section):
        section["ids"].sort(key=lambda i: i not in explicit)


CHAPTER = re.compile(r"ch(\d+)_")


def numbered(html: str, page: str) -> str:
    """The list of pages with each chapter's number, which its file name says (ch02_pmap), before its title.

    A long name in a title may break after its underscores.
    """

    def number(m: re.Match) -> str:
        chapter = CHAPTER.match(page if m[2] == "#" else m[2].rpartition("/")[2])
        return f'{m[1]}<span class="number">{int(chapter[1])}</span>' if chapter else m[1]

    html = re.sub(r">[^<>]*_[^<>]*<", lambda m: m[0].replace("_", "_<wbr>"), html)
    return re.sub(r'(<a class="(?:current )?reference internal" href="([^"]*)">)', number, html)


TREE = {"startdepth": 0, "maxdepth": 1, "collapse": False, "includehidden": True, "titles_only": True}
_MARKED = 'class="toctree-l1 current active"><a class="current reference internal" href="#">'
_PLAIN = 'class="toctree-l1"><a class="reference internal" href="{}.html">'
_trees: dict[str, str] = {}  # of an edition, with no page marked


def list_of_pages(outdir: str, page: str, make: Callable[..., object]) -> str:
    """The list of all pages as it stands on this one, where it is marked and leads nowhere.

    The theme (pydata-sphinx-theme 0.17) would make it anew for every page, of all the titles: a tenth of the time that
    an edition takes. Where it writes something else than we know, it does.
    """
    if outdir in _trees:
        before, entry, after = _trees[outdir].partition(_PLAIN.format(page))
        if entry:
            above, _, items = before.rpartition('<ul class="nav')
            return f'{above}<ul class="current nav{items}{_MARKED}{after}'
        if f'href="{page}.html"' not in before:  # the front page, and those that Sphinx adds
            return before
    made = str(make(kind="sidebar", show_nav_level=1, **TREE))
    plain = made.replace(_MARKED, _PLAIN.format(page)).replace('<ul class="current nav', '<ul class="nav')
    if not re.search(r'class="[^"]*\bcurrent\b', plain):
        _trees[outdir] = plain
    return made


def page_context(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    edition = edition_of(app)
    if page in reference.PAGES:
        app.add_css_file("reference.css")  # on this page alone
    built = Path(app.outdir).name == edition  # by publish/build.py, which lays the editions side by side
    context["editions"] = NAMES if built else {edition: NAMES[edition]}
    context["edition"] = edition
    context["sources"] = sources = published.links(published.repository(), edition, page) if doctree is not None else {}
    context["words"] = terms.ui_in(edition)
    if "body" in context and (found := CHAPTER.match(page)):
        eyebrow_text = context["words"]["chapter"].format(int(found[1]))
        if chapter := chapter_of(page):
            read = reading_time.minutes(page, ROOT)
            eyebrow_text += f" · {context['words']['minutes'].format(read=read, solve=chapter.solve)}"
        for service in ("colab", "binder"):
            if (href := sources.get(service)) and built:
                eyebrow_text += f' <a class="service screen-only" href="{href}">{context["words"][service]}</a>'
        eyebrow = f'<p class="chapter">{eyebrow_text}</p>'
        context["body"] = context["body"].replace("<h1>", f"{eyebrow}<h1>", 1)
    if page == "index":
        app.add_css_file("cover.css", priority=900)  # after book.css
    context["book_version"] = published.version() if built else ""
    context["list_of_pages"] = lambda make: numbered(list_of_pages(str(app.outdir), page, make), page)
    context["notebook"] = (
        f"{context['content_root']}notebooks/{page}.ipynb" if built and doctree is not None and page != "index" else ""
    )


def scripts_wait(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """No script holds the page back: each runs, in order, when the page has been read.

    What the theme notes for its own search, which is not ours, would need the options before that: it is left out.
    """
    scripts = [
        script for script in context["script_files"] if "DOCUMENTATION_OPTIONS" not in script.attributes.get("body", "")
    ]
    for script in scripts:
        if script.filename:
            script.attributes["defer"] = "defer"
    context["script_files"] = scripts


def prune(app: Sphinx, error: Exception | None) -> None:
    """Remove files of the theme that no page loads, and its icon font."""
    if error is None and app.builder.format == "html":
        sheet = Path(app.outdir, "_static", "styles", "pydata-sphinx-theme.css")
        files.write(sheet, ICONS.sub("", sheet.read_text("utf-8")))
        style_sheets.write_without_script(Path(app.outdir, "_static"))
        for path in sorted(Path(app.outdir, "_static").rglob("*"), reverse=True):
            if path.is_file() and any(part in path.as_posix() for part in UNUSED):
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def mathml(display: str):
    """A visitor that writes a formula as MathML: no script and no other host."""

    def visit(self, node: nodes.Element) -> None:
        from latex2mathml.converter import convert

        html = convert(node.astext(), display=display)
        self.body.append(f'<div class="math-block">{html}</div>' if display == "block" else html)
        raise nodes.SkipNode

    return visit


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (mathml("inline"), None), (mathml("block"), None))
    app.connect("config-inited", configure, priority=1)
    app.connect("config-inited", translate_theme, priority=2)
    app.connect("builder-inited", one_formatter)
    app.connect("doctree-read", stable_ids, priority=100)  # before Sphinx collects the contents
    app.connect("doctree-read", translate_captions, priority=900)
    app.connect("html-page-context", page_context)
    app.connect("html-page-context", scripts_wait, priority=990)  # when all have named theirs
    app.connect("build-finished", prune, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
