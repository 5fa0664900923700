import { STYLE_PATH } from './html.ts'
import { CSS, type PublicPage } from './public-page.ts'

/** The colours of the dashboard. The scheme follows the system, because these pages run no script. */
const STYLE = `:root {
  color-scheme: light dark;
  --bg: light-dark(#f5f7f8, #0c1213);
  --surface: light-dark(#fff, #141c1e);
  --text: light-dark(#14201f, #e7eeee);
  --muted: light-dark(#5a6a6b, #93a3a5);
  --line: light-dark(#dde3e4, #2a383b);
  --accent: light-dark(#0f766e, #2dd4bf);
  --accent-soft: light-dark(#d9f0ed, #12302d);
  --good: light-dark(#15803d, #4ade80);
  --good-soft: light-dark(#dcf3e3, #12301d);
  --warn: light-dark(#a15c07, #fbbf24);
  --warn-soft: light-dark(#fbeecb, #33280c);
  --bad: light-dark(#b42318, #f87171);
  --bad-soft: light-dark(#fde4e1, #3a1614);
}
* { box-sizing: border-box; }
html {
  font: 15px / 1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  background: var(--bg);
  color: var(--text);
}
body { margin: 0 auto; max-width: 62rem; padding: 0 1rem 3rem; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; padding: 1rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
a { color: var(--accent); }
nav a { color: var(--muted); text-decoration: none; }
nav a[aria-current], nav a:hover { color: var(--text); }
.brand { display: flex; gap: .6rem; align-items: center; font-weight: 650; color: var(--text); text-decoration: none; margin-right: auto; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.02em; margin: 1rem 0 .25rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h3 { font-size: .95rem; margin: 0; }
p { margin: .25rem 0; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
.small { font-size: .85rem; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .85em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.25rem; margin: .75rem 0; }
.scroll { overflow-x: auto; padding: 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .5rem 1.25rem; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--muted); font-weight: 500; font-size: .85rem; white-space: nowrap; }
tbody th { font-weight: 400; }
.group th { background: var(--bg); color: var(--muted); font-size: .85rem; font-weight: 500; }
.plans thead th { color: var(--text); font-size: 1rem; font-weight: 650; }
.plans td { white-space: nowrap; font-variant-numeric: tabular-nums; }
.plans th:first-child { position: sticky; left: 0; background: var(--surface); }
.plans .group th { background: var(--bg); }
.between { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .25rem 1rem; }
.badge { display: inline-block; border-radius: 99px; padding: .1rem .65rem; font-size: .8rem; font-weight: 550; background: var(--line); }
.badge.good { background: var(--good-soft); color: var(--good); }
.badge.warn { background: var(--warn-soft); color: var(--warn); }
.badge.bad { background: var(--bad-soft); color: var(--bad); }
.notice { border-color: var(--warn); background: var(--warn-soft); }
.days { display: block; width: 100%; height: 2rem; margin: .5rem 0 .1rem; }
.days rect { fill: var(--line); }
.days .full { fill: var(--good); }
.days .some { fill: var(--warn); }
.days .much { fill: var(--bad); }
@media (max-width: 40rem) {
  th, td { padding: .45rem .7rem; }
  table { font-size: .87rem; }
  .plans th:first-child { max-width: 9rem; }
  .scroll:has(.narrow) { overflow: visible; }
  .narrow, .narrow thead, .narrow tbody { display: block; }
  .narrow thead { position: sticky; top: 0; z-index: 1; background: var(--surface); border-radius: 12px; }
  .narrow tr { display: flex; flex-wrap: wrap; border-top: 1px solid var(--line); padding: .4rem .7rem; }
  .narrow thead tr { border-top: 0; }
  .narrow .group { background: var(--bg); }
  .narrow thead th:first-child { display: none; }
  .narrow th, .narrow td { border: 0; padding: 0; }
  .narrow tbody th:first-child { flex: 0 0 100%; max-width: none; position: static; background: none; }
  .plans.narrow tbody th { color: var(--muted); }
  .narrow td, .narrow thead th { flex: 1 1 4rem; min-width: 0; white-space: normal; overflow-wrap: anywhere; font-size: .87rem; }
  .narrow thead .small { display: block; font-weight: 400; }
  tbody th code { overflow-wrap: anywhere; }
  .card:not(.scroll) { padding: .8rem .9rem; }
}
`

export const pageStyle: PublicPage = {
  path: STYLE_PATH,
  contentType: CSS,
  maxAgeSeconds: 3_600,
  read: () => STYLE,
}
