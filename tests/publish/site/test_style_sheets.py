"""Style sheets of others without what no page meets: what is met stays, in order, with the at-rules around it."""

import sys

from publish.page import ROOT

sys.path.insert(0, str(ROOT / "book"))
from _ext import style_sheets  # noqa: E402

CSS = """@charset "UTF-8"; /* { .a } */
:root,[data-theme=dark]{--x:1}
.a,.b .c,a:hover{color:red}
.a.gone{x:y}
.b:not(.gone) p{margin:0}
:is(.gone,.a){top:0}
@media (min-width:9px){.gone{x:y}.c>.a{left:0}@media print{.b{display:none}}}
@media print{.gone{x:y}}
@keyframes turn{from{top:0}50%{top:1px}to{top:2px}}
.after{x:y}
"""
KEPT = (
    ":root,[data-theme=dark]{--x:1}.a,.b .c,a:hover{color:red}.b:not(.gone) p{margin:0}:is(.gone,.a){top:0}"
    "@media (min-width:9px){.c>.a{left:0}}@media (min-width:9px){@media print{.b{display:none}}}"
    "@keyframes turn{from{top:0}50%{top:1px}to{top:2px}}"
)


def test_what_nothing_meets_goes_and_the_rest_stays_as_it_was():
    assert style_sheets.slim(CSS, {"a", "b", "c"}) == KEPT
    assert style_sheets.slim(KEPT, {"a", "b", "c"}) == KEPT
    assert style_sheets.slim(CSS, {"a", "b", "c", "after"}) == KEPT + ".after{x:y}"


def test_a_class_is_met_on_a_page_or_in_a_script(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "one.html").write_text('<p class="a  b-c">class="no"</p><i class="d">')
    (tmp_path / "_static" / "x.js").write_text('element.classList.add("is-open")')
    (tmp_path / "_static" / "search_index.js").write_text('"only-text"')
    words = style_sheets.used(tmp_path)
    assert {"a", "b-c", "d", "is-open"} <= words and "only-text" not in words
