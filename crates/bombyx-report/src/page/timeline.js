// The timeline: a canvas that shows any number of slices, because it draws at most one per pixel and row.
"use strict";

/** Reads what the page carries as base64: numbers of seven bits per byte, the lowest first. */
function numbers(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  let at = 0;
  return {
    next() {
      let byte = bytes[at++], value = byte & 127, factor = 128;
      while (byte & 128) {
        byte = bytes[at++];
        value += (byte & 127) * factor;
        factor *= 128;
      }
      return value;
    },
    done: () => at >= bytes.length,
  };
}

/** A time in nanoseconds, for people. */
function spoken(ns) {
  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const [unit, size] = units.find(([, size]) => Math.abs(ns) >= size) ?? ["ns", 1];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

/** The slices of a track, by depth. Those of one depth do not overlap, and are in order. */
function rowsOf(track) {
  const source = numbers(track.slices), rows = [];
  let start = 0;
  while (!source.done()) {
    start += source.next();
    const length = source.next(), name = source.next(), kind = source.next(), depth = source.next();
    const row = (rows[Math.min(depth, 15)] ??= { starts: [], ends: [], names: [], kinds: [] });
    row.starts.push(start);
    row.ends.push(start + length);
    row.names.push(name);
    row.kinds.push(kind);
  }
  return Array.from(rows, (row) => row ?? { starts: [], ends: [], names: [], kinds: [] });
}

/** The first place in a sorted list whose value is above the limit. */
function above(list, limit, from = 0) {
  let low = from, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > limit) high = middle; else low = middle + 1;
  }
  return low;
}

function timeline(data, canvas, tip, search, found) {
  const ROW = 18, GAP = 10, HEAD = 24;
  const tracks = data.tracks.map((track) => ({ name: track.name, rows: rowsOf(track) }))
    .filter((track) => track.rows.length > 0);
  let y = HEAD;
  for (const track of tracks) {
    track.top = y;
    y += ROW * (track.rows.length + 1) + GAP;
  }
  const height = y, context = canvas.getContext("2d");
  const view = { from: 0, to: Math.max(data.length, 1) };
  const hits = new Set();
  let width = 0, colors = {}, pending = false, selected = null;

  const timeAt = (x) => view.from + (x / width) * (view.to - view.from);
  const xOf = (time) => ((time - view.from) / (view.to - view.from)) * width;

  function look() {
    const style = getComputedStyle(document.documentElement);
    for (const name of [...data.categories, "back", "front", "soft", "line", "mark", "hit"]) {
      colors[name] = style.getPropertyValue(`--${name}`).trim();
    }
  }

  function size() {
    const scale = window.devicePixelRatio || 1;
    width = Math.max(canvas.parentElement.clientWidth, 50);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    look();
    draw();
  }

  function show(from, to) {
    const least = 20, span = Math.min(Math.max(to - from, least), data.length);
    view.from = Math.min(Math.max(from, 0), data.length - span);
    view.to = view.from + span;
    draw();
  }

  function zoom(factor, x = width / 2) {
    const at = timeAt(x), span = (view.to - view.from) * factor;
    show(at - (x / width) * span, at + (1 - x / width) * span);
  }

  function draw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      paint();
    });
  }

  function paint() {
    const begin = performance.now();
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    grid();
    for (const track of tracks) {
      context.fillStyle = colors.soft;
      context.fillText(track.name, 4, track.top + ROW / 2);
      track.rows.forEach((row, depth) => paintRow(row, track.top + ROW * (depth + 1)));
    }
    if (view.to - view.from < data.length / 2 || data.arrows.length < 2000) arrows();
    marks();
    timeline.lastPaint = performance.now() - begin;
  }

  function grid() {
    const rough = ((view.to - view.from) / width) * 110, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough);
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const x = Math.round(xOf(time)) + 0.5;
      context.strokeStyle = colors.line;
      context.beginPath();
      context.moveTo(x, HEAD - 6);
      context.lineTo(x, height);
      context.stroke();
      context.fillStyle = colors.soft;
      context.fillText(spoken(time), x + 3, HEAD / 2 - 2);
    }
  }

  // Goes from pixel to pixel, not from slice to slice: what lies within one pixel is skipped in one step.
  function paintRow(row, top) {
    const perPixel = (view.to - view.from) / width;
    let at = above(row.ends, view.from);
    while (at < row.starts.length && row.starts[at] < view.to) {
      const start = row.starts[at], left = Math.max(xOf(start), 0);
      let end = row.ends[at], shown = at, next = at + 1;
      if (end - start < perPixel) {
        const limit = timeAt(Math.floor(left) + 1);
        next = Math.max(above(row.starts, limit, at), at + 1);
        // Among many in one pixel, show one that was searched for, or else the longest of some.
        const stride = Math.max(1, (next - at) >> 4);
        for (let one = at; one < next; one += stride) {
          const longer = row.ends[one] - row.starts[one] > row.ends[shown] - row.starts[shown];
          if (hits.has(row.names[one]) || (longer && !hits.has(row.names[shown]))) shown = one;
        }
        end = Math.max(row.ends[next - 1], start);
      }
      const right = Math.min(xOf(end), width), wide = Math.max(right - left, 0.75);
      const dim = hits.size > 0 && !hits.has(row.names[shown]);
      context.globalAlpha = dim ? 0.25 : 1;
      context.fillStyle = hits.has(row.names[shown]) ? colors.hit : colors[data.categories[row.kinds[shown]]];
      context.fillRect(left, top, wide, ROW - 2);
      const own = Math.max(xOf(row.starts[shown]), left), visible = Math.min(xOf(row.ends[shown]), right) - own;
      if (visible > 30) label(data.names[row.names[shown]], own + 3, top, visible - 6);
      at = next;
    }
    context.globalAlpha = 1;
  }

  function label(text, x, top, wide) {
    const fits = Math.floor(wide / 6.5);
    context.fillStyle = colors.back;
    context.fillText(text.length > fits ? `${text.slice(0, Math.max(fits - 1, 1))}…` : text, x, top + ROW / 2 - 1, wide);
  }

  function arrows() {
    context.strokeStyle = colors.front;
    context.globalAlpha = 0.45;
    context.beginPath();
    for (const arrow of data.arrows) {
      for (let at = 1; at + 3 < arrow.length; at += 2) {
        const [from, start, to, end] = arrow.slice(at, at + 4);
        if (end < view.from || start > view.to || data.order[from] === undefined || data.order[to] === undefined) continue;
        const [x, y, u, v] = [xOf(start), middle(from), xOf(end), middle(to)];
        context.moveTo(x, y);
        context.quadraticCurveTo(x, v, u, v);
        context.moveTo(u - 4, v - 3);
        context.lineTo(u, v);
        context.lineTo(u - 4, v + 3);
      }
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  const middle = (track) => tracks[data.order[track]].top + ROW * 1.5;

  function marks() {
    for (const [track, time, name] of data.marks) {
      if (time < view.from || time > view.to || data.order[track] === undefined) continue;
      const x = xOf(time), top = tracks[data.order[track]].top;
      context.fillStyle = hits.has(name) ? colors.hit : colors.mark;
      context.beginPath();
      context.moveTo(x, top + ROW);
      context.lineTo(x - 4, top + ROW - 7);
      context.lineTo(x + 4, top + ROW - 7);
      context.fill();
    }
  }

  data.order = {};
  let shownTracks = 0;
  data.tracks.forEach((track, at) => {
    if (track.slices !== "") data.order[at] = shownTracks++;
  });

  /** What lies at this place of the canvas. */
  function under(x, y) {
    const track = tracks.findLast((one) => one.top <= y);
    if (!track) return null;
    const time = timeAt(x), slack = ((view.to - view.from) / width) * 2;
    const depth = Math.floor((y - track.top) / ROW) - 1, row = track.rows[depth];
    if (depth === -1) {
      const near = data.marks.find(([of, when]) => tracks[data.order[of]] === track && Math.abs(when - time) < slack * 2);
      return near ? `${data.names[near[2]]} — ${spoken(near[1])}, ${track.name}` : null;
    }
    if (!row) return null;
    const at = above(row.ends, time - slack);
    if (at >= row.starts.length || row.starts[at] > time + slack) return null;
    const length = spoken(row.ends[at] - row.starts[at]);
    return `${data.names[row.names[at]]} (${data.categories[row.kinds[at]]}) — ${length} from ${spoken(row.starts[at])}, ${track.name}`;
  }

  // One finger or the mouse moves; two fingers or the wheel zoom.
  const fingers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event.offsetX);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return hover(event);
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    const per = (view.to - view.from) / width;
    if (others.length === 0) {
      show(view.from - (event.offsetX - before) * per, view.to - (event.offsetX - before) * per);
    } else {
      const [was, is] = [Math.abs(before - others[0]), Math.abs(event.offsetX - others[0])];
      if (was > 5 && is > 5) zoom(was / is, others[0]);
    }
    fingers.set(event.pointerId, event.offsetX);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
  }
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("wheel", (event) => {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / width) * (view.to - view.from);
      show(view.from + by, view.to + by);
    } else {
      zoom(Math.exp(event.deltaY * 0.002), event.offsetX);
    }
    event.preventDefault();
  }, { passive: false });

  function hover(event) {
    const text = under(event.offsetX, event.offsetY);
    tip.hidden = text === null;
    if (text === null) return;
    tip.textContent = text;
    tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
  }

  canvas.tabIndex = 0;
  canvas.addEventListener("keydown", (event) => {
    const by = (view.to - view.from) / 8;
    const keys = {
      ArrowLeft: () => show(view.from - by, view.to - by), ArrowRight: () => show(view.from + by, view.to + by),
      a: () => show(view.from - by, view.to - by), d: () => show(view.from + by, view.to + by),
      "+": () => zoom(0.5), "-": () => zoom(2), w: () => zoom(0.5), s: () => zoom(2), Home: () => show(0, data.length),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    act();
    event.preventDefault();
  });

  /** Marks every slice whose name has the text, and counts them. */
  function seek(text) {
    hits.clear();
    selected = null;
    if (text !== "") {
      const lower = text.toLowerCase();
      data.names.forEach((name, at) => name.toLowerCase().includes(lower) && hits.add(at));
    }
    let count = 0;
    for (const { rows } of tracks) for (const row of rows) for (const name of row.names) count += hits.has(name);
    count += data.marks.filter((mark) => hits.has(mark[2])).length;
    found.textContent = text === "" ? "" : `${count} found`;
    draw();
  }

  /** Goes to the next slice or mark that was found. */
  function next() {
    const after = selected ?? -1;
    let best = Infinity, length = 0;
    for (const { rows } of tracks) {
      for (const row of rows) {
        for (let at = above(row.starts, after); at < row.starts.length && row.starts[at] < best; at++) {
          if (hits.has(row.names[at])) [best, length] = [row.starts[at], row.ends[at] - row.starts[at]];
        }
      }
    }
    for (const [, time, name] of data.marks) if (hits.has(name) && time > after && time < best) [best, length] = [time, 0];
    if (best === Infinity) return (selected = null);
    selected = best;
    const span = Math.max(length * 4, Math.min(view.to - view.from, data.length / 20));
    show(best + length / 2 - span / 2, best + length / 2 + span / 2);
  }

  search.addEventListener("input", () => seek(search.value.trim()));
  search.addEventListener("keydown", (event) => event.key === "Enter" && next());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (look(), draw()));
  new ResizeObserver(size).observe(canvas.parentElement);
  size();
  return { zoom, show, next, view, whole: () => show(0, data.length) };
}
