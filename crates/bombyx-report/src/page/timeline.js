// The timeline: a canvas with a row for each depth of each track, which zooms, moves, and finds.

/** Shows a trace. `length` is how much time there is to look at. */
function timeline(trace, section, tip, length) {
  const ROW = 18, GAP = 10, HEAD = 24, LEAST = 20;
  const canvas = find(section, "canvas"), search = find(section, "search"), found = find(section, "found");
  const context = canvas.getContext("2d"), strip = document.createElement("canvas");
  const tracks = [], order = {};
  let height = HEAD, rowCount = 0;
  trace.tracks.forEach((track, at) => {
    const rows = rowsOf(track);
    if (rows.length === 0) return;
    order[at] = tracks.length;
    tracks.push({ name: track.name, rows, top: height, first: rowCount });
    height += ROW * (rows.length + 1) + GAP;
    rowCount += rows.length;
  });
  const view = { from: 0, to: length }, hits = new Set(), listeners = [];
  let width = 0, scale = 1, colors = {}, pixels = null, lines = null, pending = false, selected = null;
  const stats = { paints: 0, longest: 0 };

  const timeAt = (x) => view.from + (x / width) * (view.to - view.from);
  const xOf = (time) => ((time - view.from) / (view.to - view.from)) * width;

  function look() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    // Colors are #rrggbb; a pixel is a number with the red in its lowest byte.
    const pixel = (color, alpha) => {
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
      return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    };
    const kinds = trace.categories.map(of);
    // Of black and white, one always has a contrast of 4.5.
    const light = (color) => {
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
        .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const on = (color) => (light(color) > 0.179 ? "#000000" : "#ffffff");
    colors = { kinds: kinds.map((one) => pixel(one, 255)), dim: kinds.map((one) => pixel(one, 64)), hit: pixel(of("hit"), 255),
      texts: kinds.map(on), onHit: on(of("hit")) };
    for (const name of ["back", "front", "soft", "line", "mark"]) colors[name] = of(name);
    colors.found = of("hit");
  }

  function size() {
    scale = window.devicePixelRatio || 1;
    width = Math.max(canvas.parentElement.clientWidth, 50);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    strip.width = canvas.width;
    strip.height = Math.max(rowCount, 1);
    pixels = strip.getContext("2d").createImageData(strip.width, strip.height);
    lines = new Uint32Array(pixels.data.buffer);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    look();
    draw();
  }

  /** Shows the time from one moment to another. */
  function show(from, to, told = false) {
    const span = Math.min(Math.max(to - from, LEAST), length);
    view.from = Math.min(Math.max(from, 0), length - span);
    view.to = view.from + span;
    if (!told) listeners.forEach((listener) => listener(view.from, view.to));
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
      const begin = performance.now();
      paint();
      stats.paints++;
      stats.longest = Math.max(stats.longest, performance.now() - begin);
    });
  }

  function paint() {
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    grid();
    const labels = [];
    for (const track of tracks) {
      context.fillStyle = colors.soft;
      context.fillText(track.name, 4, track.top + ROW / 2);
      track.rows.forEach((row, depth) => {
        const at = track.first + depth, top = track.top + ROW * (depth + 1);
        const label = (slice, left, right) => labels.push([row.names[slice], left / scale + 3, top, (right - left) / scale - 6,
          row.hits === null ? colors.texts[row.kinds[slice]] : hits.has(row.names[slice]) ? colors.onHit : colors.front]);
        paintRow(row, lines.subarray(at * strip.width, (at + 1) * strip.width), view, colors, label);
      });
    }
    strip.getContext("2d").putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    for (const track of tracks) {
      track.rows.forEach((_, depth) => {
        context.drawImage(strip, 0, track.first + depth, strip.width, 1, 0, track.top + ROW * (depth + 1), width, ROW - 2);
      });
    }
    for (const [name, x, top, wide, color] of labels) {
      const text = fitting(trace.names[name], wide);
      context.fillStyle = color;
      if (text !== "") context.fillText(text, x, top + ROW / 2 - 1, wide);
    }
    if (view.to - view.from < trace.length / 2 || trace.arrows.length < 2000) arrows();
    marks();
  }

  function grid() {
    const rough = ((view.to - view.from) / width) * 110, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough);
    context.strokeStyle = colors.line;
    context.fillStyle = colors.soft;
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const x = Math.round(xOf(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, HEAD - 6);
      context.lineTo(x, height);
      context.stroke();
      context.fillText(spoken(time), x + 3, HEAD / 2 - 2);
    }
  }

  const middle = (track) => tracks[order[track]].top + ROW * 1.5;

  function arrows() {
    context.strokeStyle = colors.front;
    context.globalAlpha = 0.45;
    context.beginPath();
    for (const arrow of trace.arrows) {
      for (let at = 0; at + 3 < arrow.length; at += 2) {
        const [from, start, to, end] = arrow.slice(at, at + 4);
        if (end < view.from || start > view.to || order[from] === undefined || order[to] === undefined) continue;
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

  function marks() {
    for (const [track, time, name] of trace.marks) {
      if (time < view.from || time > view.to || order[track] === undefined) continue;
      const x = xOf(time), top = tracks[order[track]].top;
      context.fillStyle = hits.has(name) ? colors.found : colors.mark;
      context.beginPath();
      context.moveTo(x, top + ROW);
      context.lineTo(x - 4, top + ROW - 7);
      context.lineTo(x + 4, top + ROW - 7);
      context.fill();
    }
  }

  /** What lies at this place of the canvas. */
  function under(x, y) {
    const track = tracks.findLast((one) => one.top <= y);
    if (!track) return null;
    const time = timeAt(x), slack = ((view.to - view.from) / width) * 2;
    const depth = Math.floor((y - track.top) / ROW) - 1, row = track.rows[depth];
    if (depth === -1) {
      const near = trace.marks.find(([of, when]) => tracks[order[of]] === track && Math.abs(when - time) < slack * 2);
      return near ? `${trace.names[near[2]]} — ${spoken(near[1])}, ${track.name}` : null;
    }
    if (!row) return null;
    let at = above(row.ends, time);
    if (at >= row.starts.length || row.starts[at] > time) at = above(row.ends, time - slack);
    if (at >= row.starts.length || row.starts[at] > time + slack) return null;
    const long = spoken(row.ends[at] - row.starts[at]);
    return `${trace.names[row.names[at]]} (${trace.categories[row.kinds[at]]}) — ${long} from ${spoken(row.starts[at])}, ${track.name}`;
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
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
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

  canvas.addEventListener("keydown", (event) => {
    const by = (view.to - view.from) / 8;
    const keys = {
      ArrowLeft: () => show(view.from - by, view.to - by), ArrowRight: () => show(view.from + by, view.to + by),
      a: () => show(view.from - by, view.to - by), d: () => show(view.from + by, view.to + by),
      "+": () => zoom(0.5), "-": () => zoom(2), w: () => zoom(0.5), s: () => zoom(2), Home: () => show(0, length),
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
      trace.names.forEach((name, at) => name.toLowerCase().includes(lower) && hits.add(at));
      // A name that no slice has.
      if (hits.size === 0) hits.add(trace.names.length);
    }
    let count = trace.marks.filter((mark) => hits.has(mark[2])).length;
    for (const { rows } of tracks) for (const row of rows) count += countHits(row, hits);
    found.textContent = text === "" ? "" : `${count} found`;
    draw();
  }

  /** Goes to the next slice or mark that was found. */
  function next() {
    const after = selected ?? -1;
    let best = Infinity, long = 0;
    for (const { rows } of tracks) {
      for (const row of rows) {
        if (row.hits === null) continue;
        const first = above(row.starts, after), at = above(row.hits, row.hits[first]) - 1;
        if (at < row.starts.length && row.starts[at] < best) [best, long] = [row.starts[at], row.ends[at] - row.starts[at]];
      }
    }
    for (const [, time, name] of trace.marks) if (hits.has(name) && time > after && time < best) [best, long] = [time, 0];
    if (best === Infinity) return (selected = null);
    selected = best;
    const span = Math.max(long * 4, Math.min(view.to - view.from, length / 20));
    show(best + long / 2 - span / 2, best + long / 2 + span / 2);
  }

  search.addEventListener("input", () => seek(search.value.trim()));
  search.addEventListener("keydown", (event) => event.key === "Enter" && next());
  find(section, "next").addEventListener("click", next);
  find(section, "in").addEventListener("click", () => zoom(0.5));
  find(section, "out").addEventListener("click", () => zoom(2));
  find(section, "whole").addEventListener("click", () => show(0, length));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (look(), draw()));
  new ResizeObserver(size).observe(canvas.parentElement);
  size();
  return { show, view, stats, onView: (listener) => listeners.push(listener) };
}
