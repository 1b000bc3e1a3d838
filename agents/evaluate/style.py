"""How the report looks."""

STYLE = """
:root { color-scheme: light; --ink: #26292e; --soft: #666b73; --line: #e3e5e8; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body {
  margin: 0 auto; padding: 2.5rem clamp(1rem, 3vw, 4rem) 4rem; max-width: 2100px; color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif;
  background: #fff;
}
h1 { margin: 0 0 .3rem; font-size: 2.2rem; letter-spacing: -.02em; }
h2 { margin: 3.2rem 0 .8rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.5rem; }
h3 { margin: 0 0 .4rem; font-size: 1.1rem; }
header p, .note { max-width: 62rem; }
.note { color: var(--soft); font-size: .9rem; }
code { margin-left: .5rem; color: var(--soft); font: .85rem ui-monospace, "Liberation Mono", monospace; }
code { overflow-wrap: anywhere; font-weight: normal; }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: 1.2rem 0; }
dt { color: var(--soft); font-size: .78rem; letter-spacing: .04em; text-transform: uppercase; }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .35rem 1rem; font-size: .92rem; }
nav a { color: #0b4ea2; text-decoration: none; }
nav a:hover { text-decoration: underline; }
img { display: block; width: 100%; height: auto; }
#reliability img { width: auto; max-width: 100%; }
.wide { display: grid; grid-template-columns: minmax(0, 11fr) minmax(0, 9fr); gap: 1.5rem 3rem; }
.wide { align-items: start; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 640px), 1fr)); gap: 3rem; }
article { scroll-margin-top: 1rem; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap; }
th { font-weight: 500; }
thead th, .over { color: var(--soft); font-size: .8rem; font-weight: 400; }
.over { padding-bottom: 0; text-align: center; }
thead tr:last-child th { border-bottom: 1px solid var(--soft); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody tr:hover { background: #f6f7f9; }
tbody th, thead .name { text-align: left; }
small { color: var(--soft); font-size: .82em; }
i { display: inline-block; width: .7em; height: .7em; margin-right: .5em; border-radius: 2px; }
@media (max-width: 1200px) {
  .wide { grid-template-columns: minmax(0, 1fr); }
  table { display: block; overflow-x: auto; }
}
"""
