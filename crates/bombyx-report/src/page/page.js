// What the controls of the page do. All texts go into the page as text, never as HTML.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);

function cell(row, text, tag = "td") {
  const one = document.createElement(tag);
  one.textContent = text;
  row.append(one);
  return one;
}

/** Fills a table: its head, and rows whose cells are texts or, for a bar behind the text, pairs of text and share. */
function fill(table, head, rows) {
  const top = table.createTHead().insertRow();
  head.forEach((text) => (cell(top, text, "th").scope = "col"));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const one of row) {
      const text = Array.isArray(one) ? one[0] : one, made = cell(line, text);
      if (Array.isArray(one)) {
        const bar = document.createElement("span");
        bar.className = "share";
        bar.style.width = `${(one[1] * 6).toFixed(2)}rem`;
        made.append(bar);
      }
    }
  }
}

if (data.trace) {
  const trace = data.trace;
  const shown = timeline(trace, by("canvas"), by("tip"), by("search"), by("found"));
  by("in").addEventListener("click", () => shown.zoom(0.5));
  by("out").addEventListener("click", () => shown.zoom(2));
  by("whole").addEventListener("click", shown.whole);
  by("next").addEventListener("click", shown.next);
  for (const kind of trace.categories) {
    const entry = document.createElement("span"), patch = document.createElement("i");
    patch.style.background = `var(--${kind})`;
    entry.append(patch, kind);
    by("legend").append(entry);
  }
  const percent = (part, whole) => `${((100 * part) / Math.max(whole, 1)).toFixed(1)} %`;
  fill(by("processors"), ["processor", "runs", "waits", "searches", "rests"], trace.processors.map(([name, runs, waits, searches]) => {
    const rests = Math.max(trace.length - runs - waits - searches, 0);
    return [name, [percent(runs, trace.length), runs / Math.max(trace.length, 1)], ...[waits, searches, rests].map((one) => percent(one, trace.length))];
  }));
  const most = Math.max(...trace.closures.map(([, , total]) => total), 1);
  fill(by("closures"), ["closure", "times", "together", "longest"], trace.closures.map(([name, count, total, longest]) =>
    [name, count.toLocaleString("en"), [spoken(total), total / most], spoken(longest)]));
  window.shown = shown;
}

if (data.profile) {
  const profile = data.profile;
  const bands = profile.bands;
  // Between two computed numbers of processors, the band is interpolated.
  const slider = by("processors-slider"), factor = by("factor"), site = by("site");
  slider.max = bands.length - 1;
  slider.value = Math.max(bands.findIndex(([p]) => p >= profile.shown), 0);
  profile.sites.forEach(({ name }, at) => site.append(new Option(name, at)));
  profile.factors.forEach((one, at) => factor.append(new Option(`${one} × as fast`, at)));

  function answer() {
    const [p, from, likely, to] = bands[slider.value];
    by("p").textContent = `${p} processors`;
    by("band").textContent = `${likely.toFixed(2)} × (from ${from.toFixed(2)} to ${to.toFixed(2)})`;
    by("marker").setAttribute("x1", xOf(p));
    by("marker").setAttribute("x2", xOf(p));
    if (profile.sites.length > 0) {
      const faster = profile.sites[site.value].faster[factor.value][slider.value];
      by("what-if").textContent = `${(faster / likely).toFixed(2)} × as fast as without the change`;
    }
  }

  const WIDE = 640, HIGH = 320, LEFT = 44, BOTTOM = 30;
  const mostP = bands[bands.length - 1][0], mostS = Math.max(...bands.map((band) => band[3]), 2);
  const xOf = (p) => LEFT + (Math.log2(p) / Math.max(Math.log2(mostP), 1)) * (WIDE - LEFT - 24);
  const yOf = (s) => HIGH - BOTTOM - (s / mostS) * (HIGH - BOTTOM - 10);
  const draw = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    by("speedup").append(made);
    return made;
  };
  const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  for (let p = 1; p <= mostP; p *= 4) {
    draw("text", { x: xOf(p), y: HIGH - 10, "text-anchor": "middle" }, p);
  }
  for (let part = 0; part <= 4; part++) {
    const speedup = (mostS * part) / 4;
    draw("line", { x1: LEFT, x2: WIDE - 24, y1: yOf(speedup), y2: yOf(speedup), stroke: "var(--line)" });
    draw("text", { x: LEFT - 6, y: yOf(speedup) + 4, "text-anchor": "end" }, speedup.toPrecision(2));
  }
  const edge = [...bands.map(([p, from]) => [xOf(p), yOf(from)]), ...bands.toReversed().map(([p, , , to]) => [xOf(p), yOf(to)])];
  draw("path", { d: `${path(edge)}Z`, fill: "var(--band)" });
  draw("path", { d: path(bands.map(([p, , likely]) => [xOf(p), yOf(likely)])), fill: "none", stroke: "var(--run)", "stroke-width": 2 });
  draw("line", { id: "marker", y1: 10, y2: HIGH - BOTTOM, stroke: "var(--hit)", "stroke-dasharray": "4 3" });
  for (const control of [slider, factor, site]) control.addEventListener("input", answer);
  answer();
  const share = (part) => [`${(100 * part).toFixed(1)} %`, Math.min(part, 1)];
  fill(by("sites"), ["fork site", "forks", "grain", "share of work", "share of span"], profile.sites.map((one) =>
    [one.name, one.forks.toLocaleString("en"), one.grain === null ? "–" : spoken(one.grain), share(one.work), share(one.span)]));
}
