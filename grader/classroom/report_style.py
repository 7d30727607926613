"""How the report looks: one style sheet, for light and dark screens, phones and paper."""

STYLE = """
:root { color-scheme: light dark;
  --paper: #fffefc; --ink: #24272b; --muted: #5e646c; --line: #e2dfd8; --surface: #f5f3ef; --link: #1f5f9e;
  --right: #1b7464; --wrong: #b0431c; --hung: #6a4c9c; --broken: #7d5a00; --todo: #767c84; --skipped: #767c84;
  --absent: #767c84; --alarm: #fbe6df; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #15181c; --ink: #dfe3e8; --muted: #9aa3ad; --line: #343a42; --surface: #1e2228; --link: #8bbdf0;
  --right: #5fc7b2; --wrong: #f0906a; --hung: #b79ceb; --broken: #dcb95a; --todo: #8b949e; --skipped: #8b949e;
  --absent: #8b949e; --alarm: #43231a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.2rem clamp(1rem, 3vw, 2.5rem) 4rem; max-width: 100rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC",
  "PingFang SC", "Microsoft YaHei", sans-serif; }
:lang(zh-Hant) body, body:lang(zh-Hant) { font-family: system-ui, -apple-system, "Segoe UI", "Noto Sans CJK TC",
  "PingFang TC", "Microsoft JhengHei", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.015em; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .6rem; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .86em; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.right { --tone: var(--right); } .wrong { --tone: var(--wrong); } .hung { --tone: var(--hung); }
.broken { --tone: var(--broken); } .todo { --tone: var(--todo); } .skipped { --tone: var(--skipped); }
.absent { --tone: var(--absent); }
.mark { color: var(--tone); font-weight: 700; font-variant-emoji: text; }

.alarm { border: 2px solid var(--wrong); background: var(--alarm); border-radius: .5rem; padding: .7rem 1rem; }
.alarm, .open { margin: 1.2rem 0; }
.open { border-left: 4px solid var(--broken); padding: .1rem 1rem; background: var(--surface); max-width: 48rem; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2.4rem; margin: 1.4rem 0 0; padding: 0; list-style: none; }
.figures b { display: block; font-size: 1.7rem; line-height: 1.2; font-weight: 650;
  font-variant-numeric: tabular-nums; }
.figures span { color: var(--muted); font-size: .9rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .4rem 0 .8rem; list-style: none;
  font-size: .9rem; }

.frame { overflow: auto; max-height: 86vh; border: 1px solid var(--line); border-radius: .5rem; width: fit-content;
  max-width: 100%; }
table { border-collapse: separate; border-spacing: 0; font-size: .9rem; }
.grid td { position: relative; }
.grid th, .grid td { border-bottom: 1px solid var(--line); padding: 0; background: var(--paper); }
.grid thead th { position: sticky; z-index: 2; vertical-align: bottom; font-weight: 500; }
.grid .chapters th { top: 0; height: 2rem; padding: 0 .4rem; text-align: left; vertical-align: middle;
  border-left: 1px solid var(--line); font-weight: 650; white-space: nowrap; }
.grid .chapters th span { position: sticky; left: 14.4rem; }
.grid .names th { top: 2rem; }
.grid .names span { writing-mode: vertical-rl; transform: rotate(180deg); display: inline-block; padding: .5rem .1rem;
  max-height: 13rem; line-height: 1.1; white-space: nowrap; font-size: .82rem; }
.grid .names th, .grid td { width: 2rem; min-width: 2rem; text-align: center; }
.grid .first { border-left: 1px solid var(--line); }
.grid .who { position: sticky; left: 0; z-index: 1; width: 14rem; min-width: 14rem; max-width: 14rem;
  padding: .2rem .7rem; text-align: left; font-weight: 500; overflow-wrap: anywhere; }
.grid thead .who { z-index: 3; text-align: left; width: 14rem; padding-bottom: .5rem; }
.grid tbody tr:last-child > * { border-bottom: 0; }
.grid .who > span { display: flex; justify-content: space-between; gap: .6rem; line-height: 1.35; }
.grid .who small { color: var(--muted); font-size: .85em; font-variant-numeric: tabular-nums; white-space: nowrap; }
.grid tbody tr:hover > * { background: var(--surface); }
.grid td a { display: block; text-decoration: none; }
.grid td a:hover, .grid td a:focus-visible { outline: 2px solid var(--tone); outline-offset: -3px;
  border-radius: .3rem; }
.grid tfoot > tr > * { position: sticky; bottom: 0; background: var(--surface); font-variant-numeric: tabular-nums;
  border-bottom: 0; border-top: 1px solid var(--line); font-size: .82rem; }
.grid tfoot .who { z-index: 2; }

.list { width: 100%; max-width: 68rem; }
.list th, .list td { border-bottom: 1px solid var(--line); padding: .5rem .8rem .5rem 0; text-align: left;
  vertical-align: top; font-weight: 400; }
.list thead th { color: var(--muted); font-size: .82rem; }
.list td { font-variant-numeric: tabular-nums; }
.list code { color: var(--muted); }
.bar { display: flex; gap: 2px; width: 100%; min-width: 9rem; height: .55rem; margin: .45rem 0 .25rem; }
.bar i { background: var(--tone); border-radius: 2px; }
.bar .todo, .bar .skipped, .bar .absent { opacity: .3; }
.bar .wrong { background: repeating-linear-gradient(115deg, var(--tone) 0 5px, transparent 5px 7px), var(--line); }

details { border-bottom: 1px solid var(--line); max-width: 68rem; }
summary { padding: .45rem 0; cursor: pointer; }
details > .list { margin: .4rem 0 1rem; }
details h3 { font-size: .95rem; margin: .9rem 0 .2rem; scroll-margin-top: 1rem; }
details h3:target { background: var(--surface); }
pre { margin: 0 0 .8rem; padding: .6rem .8rem; background: var(--surface); border-radius: .4rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; }
ul.plain { padding-left: 1.2rem; max-width: 48rem; margin: .4rem 0; }

@media (max-width: 600px) {
  body { padding-top: 1.2rem; }
  .grid .who { width: 8.5rem; min-width: 8.5rem; max-width: 8.5rem; padding: .2rem .5rem; }
  .grid .chapters th span { left: 8.9rem; }
  .list thead { display: none; }
  .list tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
  .list th, .list td { display: block; border: 0; padding: .1rem 0; }
}
@page { size: A4 landscape; margin: 10mm; }
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --muted: #444; --line: #bbb; --surface: #fff; --link: #000;
    --right: #0d5c4d; --wrong: #8f2f0c; --hung: #4d2f80; --broken: #5f4400; --todo: #555; --skipped: #555;
    --absent: #555; }
  body { padding: 0; font-size: 9pt; max-width: none; print-color-adjust: exact; }
  .frame { overflow: visible; max-height: none; border: 0; max-width: none; }
  .grid { font-size: 8pt; }
  .grid th, .grid td, .grid thead th, .grid .who, .grid tfoot > tr > * { position: static; }
  .grid .names th, .grid td { width: 3.4mm; min-width: 3.4mm; }
  .grid .chapters th span { position: static; }
  .grid .names span { font-size: 6.5pt; }
  .grid .chapters th { padding: 0 .3mm; font-size: 6.5pt; overflow: hidden; max-width: 0; }
  .grid .who { width: 36mm; min-width: 36mm; max-width: 36mm; padding: 0 1mm; }
  .grid tfoot > tr > * { font-size: 6.5pt; }
  tr, .figures, .alarm { break-inside: avoid; }
  h2 { break-after: avoid; }
  a { text-decoration: none; }
}
"""
