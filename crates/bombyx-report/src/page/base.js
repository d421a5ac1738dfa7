// What all parts of the page use. All texts go into the page as text, never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);

/** The element of a section that is called so. */
const find = (section, name) => section.querySelector(`[data-is="${name}"]`);

/** Makes an element with attributes, a text, and what lies in it. */
function make(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/** The same for a picture. */
function shape(name, attributes = {}, ...inside) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/** Calls `draw` with the width of an element, now and whenever the width changes. */
function onWidth(element, draw) {
  let last = 0;
  const look = () => {
    const width = Math.max(Math.floor(element.clientWidth), 200);
    if (width === last) return;
    last = width;
    draw(width);
  };
  new ResizeObserver(look).observe(element);
  look();
}

/** A number with few digits. */
const short = (number) => Number(number.toPrecision(number >= 1000 ? 4 : 3)).toLocaleString("en");

/** A time in nanoseconds, for people. */
function spoken(ns) {
  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const [unit, size] = units.find(([, size]) => Math.abs(ns) >= size) ?? ["ns", 1];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

/** An amount of work, for people. */
const amount = (unit) => (unit === "ns" ? spoken : (count) => `${Math.round(count).toLocaleString("en")} instructions`);

/** A number of bytes, for people. */
function bytes(count) {
  const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]];
  const [unit, size] = units.find(([, size]) => count >= size) ?? ["bytes", 1];
  return `${Number((count / size).toPrecision(3))} ${unit}`;
}

const percent = (part, whole) => `${((100 * part) / Math.max(whole, 1e-9)).toFixed(1)} %`;

/** A share as a text with a bar. */
const share = (part, whole) => [percent(part, whole), Math.min(part / Math.max(whole, 1e-9), 1)];

/** A text that fits a width, for a font of 12 pixels. The end of a place in a file says more than its beginning. */
function fitting(text, width) {
  const fits = Math.floor(width / 6.7);
  if (text.length <= fits) return text;
  if (fits < 4) return "";
  return /[\\/:]/.test(text) ? `…${text.slice(1 - fits)}` : `${text.slice(0, fits - 1)}…`;
}

/** Fills a table: its head, and rows whose cells are texts or, for a bar behind the text, pairs of text and share. */
function fill(table, head, rows) {
  table.replaceChildren();
  const top = table.createTHead().insertRow();
  for (const text of head) top.append(make("th", { scope: "col" }, text));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const one of row) {
      const cell = line.insertCell();
      cell.append(String(Array.isArray(one) ? one[0] : one));
      if (Array.isArray(one)) {
        const bar = make("span", { class: "share" });
        bar.style.width = `${(one[1] * 6).toFixed(2)}rem`;
        cell.append(bar);
      }
    }
  }
}

/** Makes one of some elements reachable with Tab, and the others with the arrow keys. `to` says where a key leads. */
function roving(all, to) {
  all.forEach((element, at) => {
    element.setAttribute("tabindex", at === 0 ? 0 : -1);
    element.addEventListener("keydown", (event) => {
      const next = to(at, event.key);
      if (next === undefined || !all[next]) return;
      event.preventDefault();
      all.forEach((other) => other.setAttribute("tabindex", -1));
      all[next].setAttribute("tabindex", 0);
      all[next].focus();
    });
  });
}
