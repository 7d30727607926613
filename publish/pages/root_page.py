"""`_build/html/index.html`: leads each reader to their language, by links where there is no script."""

from html import escape
from pathlib import Path

from publish import files
from publish.pages import terms
from publish.pages.published import address

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}<link rel="icon" href="en/_static/icon.svg">
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 1.1rem/1.6 system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif; margin: 20vh auto 0;
    max-width: 34rem; padding: 0 1.5rem; }}
  h1 {{ font-size: 1rem; font-weight: 400; opacity: .7; }}
  ul {{ list-style: none; padding: 0; }}
  li {{ margin: 1.2rem 0; }}
  a {{ display: block; text-decoration: none; color: inherit; border-left: .25rem solid #3b6ea5; padding-left: 1rem; }}
  a:hover, a:focus {{ border-color: currentColor; }}
  strong {{ display: block; font-size: 1.3rem; font-weight: 600; }}
</style>
<main>
<h1>{title}</h1>
<ul>
{links}
</ul>
</main>
<script>
  // The reader's own choice (the language switch stores it), else the languages of the browser.
  let edition = null;
  try {{ edition = localStorage.getItem("edition"); }} catch {{ }}
  if (!["en", "zh-Hans", "zh-Hant"].includes(edition)) {{
    const language = (navigator.languages || [navigator.language]).find((l) => /^(en|zh)\\b/i.test(l)) || "en";
    edition = !/^zh/i.test(language) ? "en" : /hant|-(tw|hk|mo)\\b/i.test(language) ? "zh-Hant" : "zh-Hans";
  }}
  location.replace(edition + "/index.html");
</script>
</html>
"""


def write(folder: Path) -> None:
    """Write index.html into `folder`, which holds one folder per edition; only editions that are there are linked."""
    words = terms.ui()
    links = "\n".join(
        f'<li><a lang="{edition}" href="{edition}/index.html"><strong>{words["title"][edition]}</strong>'
        f"{words['language'][edition]}</a></li>"
        for edition in ("en", "zh-Hans", "zh-Hant")
        if (folder / edition / "index.html").exists()
    )
    about = f'<meta name="description" content="{escape(words["language"]["en"])}">\n'
    about += f'<link rel="canonical" href="{escape(base)}/index.html">\n' if (base := address()) else ""
    files.write(folder / "index.html", _PAGE.format(title=words["title"]["en"], head=about, links=links))
