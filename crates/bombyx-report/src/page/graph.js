// The grain graph: a box for each fork site, arrows from closures to those that they fork, and the critical path.

const BOX = { wide: 190, high: 74, gapX: 22, gapY: 46 };

/** The layer of each site: how many forks lie between it and what is outside. */
function layersOf(count, edges) {
  const layers = new Array(count).fill(-1);
  layers[0] = 0;
  let front = [0];
  while (front.length > 0) {
    const next = [];
    for (const from of front) {
      for (const [a, b, forks] of edges) {
        if (a !== from || forks === 0 || layers[b] >= 0) continue;
        layers[b] = layers[from] + 1;
        next.push(b);
      }
    }
    front = next;
  }
  return layers.map((layer) => (layer < 0 ? 1 : layer));
}

function grainGraph(recording, profile, section) {
  const place = find(section, "graph"), about = find(section, "about"), colour = find(section, "colour");
  const say = amount(recording.unit), own = new Map(), { names, sites, edges } = recording;
  edges.filter(([from, to]) => from === to).forEach(([from, , forks]) => own.set(from, forks));
  const used = sites.map(([, strands], at) => at).filter((at) => sites[at][1] > 0 || at === 0);
  const layers = layersOf(names.length, edges);
  const inflation = names.map((name) => profile?.sites.find((site) => site.place === name)?.inflation ?? null);
  const known = inflation.some((one) => one !== null);
  colour.querySelector('[value="inflation"]').disabled = !known;

  const count = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  const grain = ([forks, , work]) => (forks > 0 ? say(work / forks) : "–");
  const describe = (at) => {
    const [forks, strands, work, span] = sites[at];
    const inflated = inflation[at] === null ? "" : `, work inflation ${inflation[at].toFixed(2)}`;
    return `${names[at]}: ${count(forks, "fork")}, ${count(strands, "strand")}, mean grain ${grain(sites[at])}, ` +
      `${percent(work, recording.work)} of the work, ${percent(span, recording.span)} of the span${inflated}`;
  };
  const fillOf = (at) => {
    if (colour.value === "inflation") {
      if (inflation[at] === null) return "var(--panel)";
      const part = Math.min(Math.abs(inflation[at] - 1), 1) * 60;
      return `color-mix(in oklab, var(--${inflation[at] >= 1 ? "hot" : "cool"}) ${part.toFixed(0)}%, var(--panel))`;
    }
    return `color-mix(in oklab, var(--hot) ${(60 * Math.min(sites[at][3] / Math.max(recording.span, 1), 1)).toFixed(0)}%, var(--panel))`;
  };

  /** Rows of boxes: the layers, each broken where the width ends. */
  function placed(width) {
    const perRow = Math.max(1, Math.floor((width + BOX.gapX) / (BOX.wide + BOX.gapX)));
    const at = new Map(), deepest = Math.max(...used.map((one) => layers[one]));
    let y = 4;
    for (let layer = 0; layer <= deepest; layer++) {
      const of = used.filter((one) => layers[one] === layer).sort((a, b) => sites[b][3] - sites[a][3] || sites[b][2] - sites[a][2]);
      for (let begin = 0; begin < of.length; begin += perRow) {
        const row = of.slice(begin, begin + perRow), wide = row.length * (BOX.wide + BOX.gapX) - BOX.gapX;
        row.forEach((one, nth) => at.set(one, { x: (width - wide) / 2 + nth * (BOX.wide + BOX.gapX), y }));
        y += BOX.high + (begin + perRow < of.length ? 14 : BOX.gapY);
      }
    }
    return { at, height: y - BOX.gapY + 8 };
  }

  let boxes = [];
  onWidth(place, (width) => {
    const { at, height } = placed(width);
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Grain graph. Arrow keys go from site to site." });
    const arrow = shape("marker", { id: `arrow-${section.dataset.run}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
      orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" }, shape("path", { d: "M0 0L8 4L0 8z", class: "head" }));
    svg.append(shape("defs", {}, arrow));
    const most = Math.max(...edges.map(([, , forks]) => forks), 1);
    for (const [from, to, forks, crossings] of edges) {
      const [a, b] = [at.get(from), at.get(to)];
      if (from === to || !a || !b || forks + crossings === 0) continue;
      const down = b.y >= a.y, x1 = a.x + BOX.wide / 2, x2 = b.x + BOX.wide / 2;
      const y1 = down ? a.y + BOX.high : a.y, y2 = down ? b.y : b.y + BOX.high, bend = Math.max(Math.abs(y2 - y1) / 2, 20) * (down ? 1 : -1);
      const line = shape("path", { d: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`,
        class: crossings > 0 ? "edge critical" : "edge", "marker-end": `url(#arrow-${section.dataset.run})`,
        "stroke-width": crossings > 0 ? 3.5 : 1 + Math.log2(1 + forks) / Math.max(Math.log2(1 + most), 1) });
      line.append(shape("title", {}, `${names[from]} forks ${names[to]} ${count(forks, "time")}; the critical path goes here ${count(crossings, "time")}`));
      svg.append(line);
    }
    boxes = used.map((one) => {
      const { x, y } = at.get(one), [forks, , work, span] = sites[one];
      const box = shape("g", { class: span > 0 ? "box critical" : "box", transform: `translate(${x} ${y})`, role: "img", "aria-label": describe(one) });
      const loops = own.has(one) ? ` ↻ ${short(own.get(one))}` : "";
      box.append(shape("title", {}, describe(one)), shape("rect", { width: BOX.wide, height: BOX.high, rx: 6 }),
        shape("text", { x: 8, y: 18, class: "strong" }, fitting(names[one], (BOX.wide - 16) * 0.88)),
        shape("text", { x: 8, y: 34 }, `${short(forks)} fork${forks === 1 ? "" : "s"}${loops}`),
        shape("text", { x: 8, y: 50 }, `mean grain ${grain(sites[one])}`),
        shape("text", { x: 8, y: 66 }, `span ${percent(span, recording.span)}, work ${percent(work, recording.work)}`));
      for (const event of ["focus", "pointerenter"]) box.addEventListener(event, () => (about.textContent = describe(one)));
      svg.append(box);
      return box;
    });
    roving(boxes, (nth, key) => ({ ArrowRight: nth + 1, ArrowDown: nth + 1, ArrowLeft: nth - 1, ArrowUp: nth - 1 })[key]);
    place.replaceChildren(svg);
    paint();
  });

  function paint() {
    used.forEach((one, nth) => boxes[nth].querySelector("rect").style.setProperty("fill", fillOf(one)));
    if (!known) about.textContent = "Work inflation needs a profile with two runs: give one of `bombyx profile`, too.";
  }
  colour.addEventListener("input", paint);

  strip(recording, find(section, "strip"), about);
  fill(find(section, "table"), ["fork site", "forks", "mean grain", "share of work", "share of span", "forked by"], used.map((one) => {
    const by = edges.filter(([, to, forks]) => to === one && forks > 0).map(([from, , forks]) => `${names[from]} (${forks.toLocaleString("en")})`);
    return [names[one], sites[one][0].toLocaleString("en"), grain(sites[one]), share(sites[one][2], recording.work),
      share(sites[one][3], recording.span), by.join(", ") || "–"];
  }));
}

/** The critical path as a strip, from its beginning to its end. Each site has a colour. */
function strip(recording, place, about) {
  const say = amount(recording.unit), whole = recording.strip.reduce((sum, [, weight]) => sum + weight, 0);
  const order = [...new Set(recording.strip.map(([entry]) => entry))];
  const parts = order.map((entry) => recording.strip.reduce((sum, [of, weight]) => sum + (of === entry ? weight : 0), 0));
  const hue = (entry) => `var(--hue-${order.indexOf(entry) % 8})`;
  onWidth(place, (width) => {
    const svg = shape("svg", { width, height: 34, viewBox: `0 0 ${width} 34`, role: "img",
      "aria-label": `The critical path: ${order.map((entry, at) => `${recording.names[entry]} ${percent(parts[at], whole)}`).join(", ")}` });
    let x = 0;
    for (const [entry, weight] of recording.strip) {
      const wide = (weight / whole) * width, text = `${recording.names[entry]}: ${say(weight)} of the critical path`;
      const piece = shape("rect", { x, y: 2, width: Math.max(wide, 0.5), height: 30, style: `fill: ${hue(entry)}` }, shape("title", {}, text));
      piece.addEventListener("pointerenter", () => (about.textContent = text));
      svg.append(piece);
      x += wide;
    }
    const legend = make("div", { class: "legend" });
    order.slice(0, 8).forEach((entry, at) => {
      const patch = make("i");
      patch.style.background = hue(entry);
      legend.append(make("span", {}, patch, `${recording.names[entry]} ${percent(parts[at], whole)}`));
    });
    place.replaceChildren(svg, legend);
  });
}
