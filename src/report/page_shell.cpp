// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <fmt/format.h>

#include "report/text.hpp"

namespace porter {
namespace {

// Colours after Okabe and Ito (Color Universal Design), shifted for contrast on each background.
constexpr const char* kPageStyle = R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1c2430; --soft: #5a6675; --rule: #dde2e8;
  --grid: #e9ecf0; --shade: #1c243033; --accent: #1f5f99; --best: #e3eefa; --warn: #8a4b00; --warn-back: #fff4e2;
  --safe: #0b6b4d; --safe-back: #e6f5ef;
  --c0: #0072b2; --c1: #d55e00; --c2: #00875f; --c3: #b4558f; --c4: #b07d00; --c5: #2f9bd6;
  --c6: #4a4f57; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #12161c; --card: #1a2028; --ink: #e4e9ef; --soft: #9aa7b6; --rule: #303944;
  --grid: #262e38; --shade: #000000a0; --accent: #7fbcf5; --best: #20364d; --warn: #f3bd73; --warn-back: #33271a;
  --safe: #6fd3ae; --safe-back: #17302a;
  --c0: #56b4e9; --c1: #f58a3c; --c2: #2cc295; --c3: #e08fc0; --c4: #e3b341; --c5: #8f9ff5;
  --c6: #c3cad3; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 24px 48px; max-width: 1320px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
header { padding: 36px 0 4px; }
h1 { margin: 0; font-size: 28px; line-height: 1.25; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 36px 0 12px; font-size: 20px; }
h3 { margin: 0; font-size: 16px; overflow-wrap: anywhere; }
p { margin: 6px 0; }
a { color: var(--accent); }
h3.part { margin: 20px 0 8px; }
.intro { max-width: 75ch; margin-top: 10px; }
.intro, .meta, .note, .notes li, .privacy p { overflow-wrap: anywhere; }
.meta, .note, .notes, .runs, figcaption p, dt { color: var(--soft); font-size: 13px; }
.notes { margin: 10px 0 0; padding-left: 18px; max-width: 110ch; }
.scroll, article, figure.plot, figure.heat, figure.graph { background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; }
/* A shade at the right says that there is more; it goes at the end. */
.scroll, pre { overflow-x: auto; background: linear-gradient(to left, var(--back) 50%, transparent) right / 36px 100% no-repeat local,
  linear-gradient(to left, var(--shade), transparent) right / 14px 100% no-repeat scroll, var(--back); }
.scroll { --back: var(--card); }
table { width: 100%; border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 7px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
tbody tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-size: 12.5px; font-weight: 600; }
th:first-child, td:first-child { position: sticky; left: 0; padding-left: 14px; background: var(--card); }
th:last-child, td:last-child { padding-right: 14px; }
.text { text-align: left; }
.number + .text { padding-left: 22px; }
td:first-child { font-weight: 600; }
.best { background: var(--best); font-weight: 600; }
b.best { padding: 0 5px; border-radius: 3px; color: var(--ink); }
.privacy { margin: 10px 0; padding: 12px 16px; border-radius: 8px; border-left: 4px solid; }
.privacy p { margin: 2px 0 0; }
.privacy .runs { margin-left: 10px; overflow-wrap: anywhere; }
.doubtful { background: var(--warn-back); border-color: var(--warn); }
.doubtful strong { color: var(--warn); }
.guaranteed { background: var(--safe-back); border-color: var(--safe); }
.guaranteed strong { color: var(--safe); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(480px, 100%), 1fr)); gap: 18px; }
.plots > :only-child { max-width: 760px; }
figure { margin: 0; }
figure.plot, figure.heat { padding: 16px 18px 12px; min-width: 0; }
figure.heat .chart { max-width: calc(1.2 * var(--width, 9999px)); }
.chart.narrow { display: none; }
.plots .note { margin: 2px 0 4px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 8px 0; font-size: 13px; }
.legend span { display: inline-flex; align-items: center; gap: 7px; overflow-wrap: anywhere; }
.legend svg { width: 30px; height: 8px; flex: none; }
.plot input { margin: 0 5px 0 0; vertical-align: -1px; accent-color: var(--accent); }
.plot label { margin-right: 16px; color: var(--soft); font-size: 13px; }
.tabs { min-width: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.tabs > input { position: absolute; opacity: 0; pointer-events: none; }
.tabs > label { display: inline-block; margin: 8px 0 0 14px; padding: 4px 2px; color: var(--soft); font-size: 13px;
  border-bottom: 2px solid transparent; cursor: pointer; }
.tabs > input:checked + label { color: var(--ink); border-color: var(--accent); font-weight: 600; }
.tabs > input:focus-visible + label { outline: 2px solid var(--accent); outline-offset: 2px; }
.tabs figure.plot { border: 0; background: none; padding-top: 8px; }
.panel { display: none; }
.tabs > input:nth-of-type(1):checked ~ .panel:nth-of-type(1),
.tabs > input:nth-of-type(2):checked ~ .panel:nth-of-type(2),
.tabs > input:nth-of-type(3):checked ~ .panel:nth-of-type(3) { display: block; }
.live { display: inline-block; padding: 1px 10px; border-radius: 10px; font-size: 13px;
  color: var(--safe); background: var(--safe-back); }
.live.silent { color: var(--warn); background: var(--warn-back); }
.view { display: none; }
.log-x:not(:checked) ~ .log-y:not(:checked) ~ .x-linear.y-linear,
.log-x:not(:checked) ~ .log-y:checked ~ .x-linear.y-log,
.log-x:checked ~ .log-y:not(:checked) ~ .x-log.y-linear,
.log-x:checked ~ .log-y:checked ~ .x-log.y-log { display: block; }
.chart { display: block; width: 100%; height: auto; margin-top: 6px; overflow: visible;
  touch-action: pan-y; }
.chart text { fill: var(--ink); font-size: 12.5px; }
.chart .tick, .chart .reference-label { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.chart .reference-label { paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
.grid, .axis, .line, .reference, .cross { fill: none; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--soft); }
.line { stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.reference { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 7 5; }
.band { fill: var(--c); opacity: 0.14; }
.mark, .dot { fill: var(--c, var(--ink)); }
.mark.companion { fill: var(--card); stroke: var(--c); stroke-width: 1.6; }
.spread { fill: none; stroke: var(--c); stroke-width: 1.5; opacity: 0.6; }
.cross { stroke: var(--c); stroke-width: 2.5; }
.bar { fill: var(--c0); opacity: 0.7; }
.whisker { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.dot { fill: var(--card); stroke: var(--ink); stroke-width: 2; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); }
.d1 { stroke-dasharray: 8 3; } .d2 { stroke-dasharray: 3 2; } .d3 { stroke-dasharray: 9 3 2 3; }
.d4 { stroke-dasharray: 12 3 2 3 2 3; }
.band, .mark, .cross, .spread { stroke-dasharray: none; }
.line.companion { stroke-width: 1.4; stroke-dasharray: 1.5 2.5; }
.unfinished { fill: var(--grid); }
.untried { fill: none; stroke: var(--grid); }
.chart .cell { font-size: 12.5px; font-variant-numeric: tabular-nums; }
.chart .unfinished-text { fill: var(--soft); }
.best-cell { fill: none; stroke: #d33; stroke-width: 3; }
#settings th:last-child, #settings td:last-child, td.long { white-space: normal; min-width: 150px; font-size: 13px;
  overflow-wrap: anywhere; }
.graphs { display: flex; flex-wrap: wrap; gap: 18px; }
figure.graph { padding: 14px; width: 490px; max-width: 100%; }
figure.graph img { display: block; width: 100%; max-height: 520px; border-radius: 4px; }
figure.graph figcaption { margin-top: 8px; font-size: 13px; color: var(--soft); overflow-wrap: anywhere; }
article { margin: 0 0 18px; padding: 16px 18px; }
article.folded { margin: 0 0 6px; padding: 8px 14px; }
.status { margin-left: 8px; padding: 1px 9px; border-radius: 10px; font-size: 12px; font-weight: 600; }
.good { color: var(--safe); background: var(--safe-back); }
.bad { color: var(--warn); background: var(--warn-back); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: 8px 18px; margin: 12px 0; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { --back: var(--page); margin: 6px 0; padding: 10px 12px; border-radius: 6px;
  font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
section > pre, section > details > pre { --back: var(--card); border: 1px solid var(--rule); }
summary { cursor: pointer; color: var(--accent); overflow-wrap: anywhere; }
summary h3 { display: inline; color: var(--ink); }
.tip { position: absolute; z-index: 1; padding: 6px 10px; max-width: 280px; pointer-events: none;
  background: var(--ink); color: var(--card); border-radius: 5px; font-size: 13px; white-space: pre-line; }
@media (max-width: 640px) { body { padding: 0 12px 32px; } h1 { font-size: 23px; }
  figure.plot { padding: 12px 8px 8px; }
  th.text:first-child:not(.short), td.text:first-child:not(.short) { white-space: normal; min-width: 128px;
    overflow-wrap: anywhere; }
  dl { grid-template-columns: repeat(auto-fill, minmax(135px, 1fr)); }
  .plot .chart text, .plot .chart .tick, .plot .chart .reference-label { font-size: 16px; }
  figure.heat { overflow-x: auto; padding: 12px 10px 8px; }
  figure.heat .chart { min-width: min(500px, 0.85 * var(--width, 0px)); }
  .chart.wide { display: none; } .chart.narrow { display: block; }
  td.long, #settings td.long { min-width: 260px; } }
@media print { :root { --page: #fff; }
  .plot .chart text, .plot .chart .tick, .plot .chart .reference-label { font-size: 16px; }
  th:first-child, td:first-child { position: static; background: none; }
  .meta, .note, .notes, .runs, figcaption p, dt, .legend { font-size: 11px; } body { max-width: none; padding: 0; font-size: 12px; }
  .plots { grid-template-columns: 1fr 1fr; gap: 10px; } .plot input, .plot label, .tabs > label, .live { display: none; }
  figure, article, .privacy, tr { break-inside: avoid; } .scroll { overflow: visible; }
  th, td { padding: 3px 4px; font-size: 9px; white-space: normal; } pre { white-space: pre-wrap; } }
)css";

// Only adds a read-out under the pointer; the page is complete without it.
constexpr const char* kPageScript = R"js(
const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
document.body.append(tip);
const short = v => String(Number(v.toPrecision(5)));
const place = ([low, high, log, from, to], v) =>
  from + (to - from) * (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));

const attach = () => {
  tip.hidden = true;
  for (const figure of document.querySelectorAll('figure.plot')) {
    const data = JSON.parse(figure.querySelector('script').textContent);
    for (const svg of figure.querySelectorAll('svg.chart')) {
      const xAxis = JSON.parse(svg.dataset.x), yAxis = JSON.parse(svg.dataset.y);
      const dot = svg.querySelector('.dot');
      const hide = () => { tip.hidden = true; dot.setAttribute('visibility', 'hidden'); };
      svg.addEventListener('pointerleave', hide);
      svg.addEventListener('pointermove', event => {
        const box = svg.getBoundingClientRect(), zoom = svg.viewBox.baseVal.width / box.width;
        const mx = (event.clientX - box.left) * zoom, my = (event.clientY - box.top) * zoom;
        let best = null;
        for (const line of data.series)
          line.x.forEach((x, i) => {
            const px = place(xAxis, x), py = place(yAxis, line.y[i]);
            const far = Math.hypot(px - mx, py - my);
            if (far < (best ? best.far : 60)) best = {far, px, py, line, i};
          });
        if (!best) return hide();
        dot.setAttribute('cx', best.px);
        dot.setAttribute('cy', best.py);
        dot.setAttribute('visibility', 'visible');
        tip.textContent = `${best.line.name}\n${data.x}: ${short(best.line.x[best.i])}\n` +
                          `${data.y}: ${short(best.line.y[best.i])}`;
        tip.hidden = false;
        const left = box.left + scrollX + best.px / zoom, top = box.top + scrollY + best.py / zoom;
        const room = document.documentElement.clientWidth + scrollX - tip.offsetWidth - 8;
        tip.style.left = Math.max(8, Math.min(left + 14, room)) + 'px';
        tip.style.top = top - tip.offsetHeight - 12 + 'px';
      });
    }
  }
};
attach();
)js";

// Asks for the page again and shows what is new; what the reader has chosen and opened stays.
constexpr const char* kLiveScript = R"js(
const kPeriod = 2000, kSlowPeriod = 20000, kPatience = 15;
const banner = document.querySelector('.live');
let tag = null, silent = 0;

const take = text => {
  const next = new DOMParser().parseFromString(text, 'text/html');
  const chosen = new Map([...document.querySelectorAll('main input')].map(i => [i.id, i.checked]));
  const open = [...document.querySelectorAll('main details')].map(d => d.open);
  for (const part of ['.meta', 'main'])
    document.querySelector(part).replaceWith(next.querySelector(part));
  for (const input of document.querySelectorAll('main input'))
    if (chosen.has(input.id)) input.checked = chosen.get(input.id);
  document.querySelectorAll('main details').forEach((d, i) => { d.open = open[i] || false; });
  attach();
};

const ask = async () => {
  try {
    const headers = tag ? {'If-None-Match': tag} : {};
    const reply = await fetch(location.href, {cache: 'no-store', headers});
    if (reply.status === 200) {
      tag = reply.headers.get('ETag');
      take(await reply.text());
    } else if (reply.status !== 304 && reply.status !== 503) {
      throw reply.status;  // somebody else has the port by now
    }
    silent = 0;
    banner.textContent = reply.status === 503 ? await reply.text() : 'Live: this page follows the files.';
  } catch {
    ++silent;
    banner.textContent = 'No answer any more: this is what was seen last.';
  }
  banner.classList.toggle('silent', silent > 0);
  setTimeout(ask, silent > kPatience ? kSlowPeriod : kPeriod);
};
ask();
)js";

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr auto kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:+,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  return fmt::format("'{}'", replaced(text, '\'', "'\\''"));
}

std::string page_section(const char* id, const char* title, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title, body);
}

std::string page_shell(const std::string& title, const std::string& intro, const std::string& meta,
                       const std::string& sections, bool live) {
  const auto name = escape_html(title);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:{2}\"/>\n"
             "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n",
             name, kPageStyle, live ? "; connect-src 'self'" : "") +
         (live ? "<p class=\"live\" role=\"status\">Live</p>\n" : "") +
         (intro.empty() ? "" : "<p class=\"intro\">" + escape_html(intro) + "</p>\n") +
         fmt::format("<p class=\"meta\">{}</p>\n</header>\n<main>\n{}", escape_html(meta),
                     sections) +
         fmt::format("</main>\n<script>\n{}{}</script>\n</body>\n</html>\n", kPageScript,
                     live ? kLiveScript : "");
}

}  // namespace porter
