// The flame graphs of work and of span: a closure lies below the one that forked it.

function flame(recording, section) {
  const place = find(section, "flame"), about = find(section, "about"), measure = find(section, "measure");
  const ROW = 24, LEAST = 1.5, say = amount(recording.unit);
  const nodes = recording.tree.map(([parent, entry, work, span, forks]) => ({ parent, entry, own: { work, span }, all: { work, span }, forks, below: [], level: 0 }));
  for (let at = nodes.length - 1; at > 0; at--) {
    const parent = nodes[nodes[at].parent];
    for (const kind of ["work", "span"]) parent.all[kind] += nodes[at].all[kind];
    parent.below.unshift(at);
  }
  nodes.forEach((node, at) => (node.level = at === 0 ? 0 : nodes[node.parent].level + 1));
  let top = 0;

  const describe = (at) => {
    const node = nodes[at], kind = measure.value, whole = nodes[0].all[kind];
    return `${recording.names[node.entry]}: ${say(node.all[kind])} of ${kind}, ${percent(node.all[kind], whole)}; ` +
      `without what it forks ${say(node.own[kind])}; ${node.forks.toLocaleString("en")} forks`;
  };

  let width = 0;
  function draw(again) {
    const kind = measure.value, whole = Math.max(nodes[top].all[kind], 1), drawn = [];
    const visit = (at, x) => {
      const wide = (nodes[at].all[kind] / whole) * width;
      if (wide < LEAST) return;
      drawn.push({ at, x, wide, level: nodes[at].level - nodes[top].level });
      let left = x;
      for (const child of nodes[at].below.toSorted((a, b) => nodes[b].all[kind] - nodes[a].all[kind])) {
        visit(child, left);
        left += (nodes[child].all[kind] / whole) * width;
      }
    };
    visit(top, 0);
    const rows = 1 + Math.max(...drawn.map((one) => one.level), 0);
    const svg = shape("svg", { width, height: rows * ROW, viewBox: `0 0 ${width} ${rows * ROW}`, role: "tree", "aria-label": `Flame graph of the ${kind}` });
    const items = drawn.map(({ at, x, wide, level }) => {
      const item = shape("g", { role: "treeitem", "aria-level": level + 1, "aria-label": describe(at), class: "flame-item", transform: `translate(${x} ${level * ROW})` });
      const text = fitting(recording.names[nodes[at].entry], wide - 10);
      item.append(shape("title", {}, describe(at)), shape("rect", { width: Math.max(wide - 1, 1), height: ROW - 2, rx: 3, style: `fill: var(--flame-${nodes[at].entry % 4})` }),
        shape("text", { x: 5, y: 15 }, text));
      const zoom = () => {
        top = at === top ? (nodes[at].parent ?? 0) : at;
        draw(true);
      };
      item.addEventListener("click", zoom);
      item.addEventListener("keydown", (event) => event.key === "Enter" && zoom());
      for (const event of ["focus", "pointerenter"]) item.addEventListener(event, () => (about.textContent = describe(at)));
      svg.append(item);
      return item;
    });
    const level = drawn.map((one) => one.level);
    roving(items, (nth, key) => {
      if (key === "ArrowDown") return level[nth + 1] > level[nth] ? nth + 1 : undefined;
      if (key === "ArrowUp") return drawn.findLastIndex((one, at) => at < nth && one.level < level[nth]);
      if (key === "ArrowRight") return drawn.findIndex((one, at) => at > nth && one.level === level[nth]);
      if (key === "ArrowLeft") return drawn.findLastIndex((one, at) => at < nth && one.level === level[nth]);
      return undefined;
    });
    place.replaceChildren(svg);
    if (again) items[0]?.focus();
  }

  const table = () => fill(find(section, "table"), ["closure", "with what it forks", "alone", "forks"], nodes
    .map((node, at) => ({ node, at })).filter(({ node }) => node.all[measure.value] > 0).slice(0, 200)
    .map(({ node }) => [`${"· ".repeat(node.level)}${recording.names[node.entry]}`, share(node.all[measure.value], nodes[0].all[measure.value]),
      say(node.own[measure.value]), node.forks.toLocaleString("en")]));
  measure.addEventListener("input", () => (draw(false), table()));
  find(section, "reset").addEventListener("click", () => {
    top = 0;
    draw(false);
  });
  onWidth(place, (wide) => {
    width = wide;
    draw(false);
  });
  table();
}
