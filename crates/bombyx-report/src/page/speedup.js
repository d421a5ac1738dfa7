// Speedup against processors, with a slider for the processors and one for the speed of each fork site. `Model` in
// `model.rs` explains the formula, which is the same here.

/** The time on some processors if each site is this many times as fast. */
function timeOn(model, [processors, , , , growth, coefficient], factors) {
  let work = model.work;
  model.sites.forEach(([, part], at) => (work -= part * (1 - 1 / factors[at])));
  let span = 0;
  for (const path of model.paths) {
    let length = path[0];
    factors.forEach((factor, at) => (length += path[at + 1] / factor));
    span = Math.max(span, length);
  }
  const pool = (growth * Math.max(work, 0)) / processors + coefficient * (1 - 1 / processors) * (span + model.burden);
  return model.serial + Math.max(pool, span);
}

/** The speedup over the program as it is on one processor. */
function speedupOn(model, on, factors) {
  const ratio = timeOn(model, on, factors.map(() => 1)) / timeOn(model, on, factors);
  return Number.isFinite(ratio) ? on[2] * ratio : on[2];
}

const STEPS_PER_DOUBLING = 4, SLOWEST_STEP = -4, FASTEST_STEP = 16, SHOWN_SITES = 5;

function speedup(model, section) {
  const place = find(section, "controls"), on = model.on;
  const factors = model.sites.map(() => 1);
  let at = Math.max(on.findIndex(([processors]) => processors >= model.shown), 0);

  const slider = make("input", { type: "range", min: 0, max: on.length - 1, value: at, "data-is": "processors", "aria-label": "processors" });
  const number = make("span", { class: "number" });
  const band = make("output", { class: "big", "data-is": "band" }), changed = make("output", { class: "accent", "data-is": "what-if" });
  const picture = make("div", { class: "chart" });
  place.append(make("div", { class: "bar" }, make("span", {}, "processors"), slider, number, band), make("div", { class: "bar" }, changed), picture);

  const inputs = model.sites.map(([name], nth) => {
    const input = make("input", { type: "range", min: SLOWEST_STEP, max: FASTEST_STEP, value: 0, "aria-label": `speed of ${name}` });
    const output = make("output", { class: "number" }, "as it is");
    input.addEventListener("input", () => {
      factors[nth] = 2 ** (input.value / STEPS_PER_DOUBLING);
      const factor = factors[nth].toPrecision(3);
      output.textContent = input.value === "0" ? "as it is" : `${Number(factor)} × as fast`;
      input.setAttribute("aria-valuetext", output.textContent);
      answer();
    });
    return [make("label", { class: "site" }, make("span", { class: "name" }, name), input, output), input, output];
  });
  if (inputs.length > 0) {
    const sites = make("div", { class: "sites", "data-is": "factors" }, make("h3", {}, "What if a fork site were faster?"));
    sites.append(...inputs.slice(0, SHOWN_SITES).map(([label]) => label));
    if (inputs.length > SHOWN_SITES) {
      const rest = inputs.slice(SHOWN_SITES).map(([label]) => label);
      sites.append(make("details", {}, make("summary", {}, `${rest.length} more sites`), ...rest));
    }
    const reset = make("button", {}, "all as they are");
    reset.addEventListener("click", () => {
      for (const [, input] of inputs) {
        input.value = 0;
        input.dispatchEvent(new Event("input"));
      }
    });
    sites.append(reset);
    place.append(sites);
  }

  function answer() {
    const now = on[at], [processors, from, likely, to] = now;
    number.textContent = String(processors);
    slider.setAttribute("aria-valuetext", `${processors} processor${processors === 1 ? "" : "s"}`);
    band.textContent = `${likely.toFixed(2)} × (from ${from.toFixed(2)} to ${to.toFixed(2)})`;
    const is = speedupOn(model, now, factors);
    const touched = factors.some((factor) => factor !== 1);
    changed.textContent = touched
      ? `with these changes ${is.toFixed(2)} ×: ${(is / likely).toFixed(2)} times as fast as without`
      : "";
    curve();
  }

  let marker = null, line = null, xOf = null, yOf = null;
  function curve() {
    if (line === null) return;
    const [processors] = on[at], touched = factors.some((factor) => factor !== 1);
    marker.setAttribute("x1", xOf(processors));
    marker.setAttribute("x2", xOf(processors));
    line.setAttribute("d", touched ? path(on.map((one) => [xOf(one[0]), yOf(speedupOn(model, one, factors))])) : "");
  }

  onWidth(picture, (width) => {
    const high = Math.min(320, Math.max(200, width * 0.5)), left = 40, right = 16, bottom = 26;
    const wide = Math.min(width, 720), most = on[on.length - 1][0];
    const top = Math.max(...on.map((one) => one[3]), 2) * 1.02;
    xOf = (processors) => left + (Math.log2(processors) / Math.max(Math.log2(most), 1)) * (wide - left - right);
    yOf = (value) => high - bottom - Math.min(value / top, 1) * (high - bottom - 8);
    const svg = shape("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img",
      "aria-label": "Speedup against processors, with its band. The slider above says the same in numbers." });
    for (let processors = 1; processors <= most; processors *= wide < 500 ? 8 : 4) {
      svg.append(shape("text", { x: xOf(processors), y: high - 8, "text-anchor": "middle" }, String(processors)));
    }
    for (let part = 0; part <= 4; part++) {
      const value = (top * part) / 4, y = yOf(value);
      svg.append(shape("line", { x1: left, x2: wide - right, y1: y, y2: y, class: "line" }));
      svg.append(shape("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, short(value)));
    }
    const edge = [...on.map((one) => [xOf(one[0]), yOf(one[1])]), ...on.toReversed().map((one) => [xOf(one[0]), yOf(one[3])])];
    svg.append(shape("path", { d: `${path(edge)}Z`, class: "band" }));
    svg.append(shape("path", { d: path(on.map((one) => [xOf(one[0]), yOf(one[2])])), class: "likely" }));
    line = shape("path", { class: "changed" });
    marker = shape("line", { y1: 8, y2: high - bottom, class: "marker" });
    svg.append(line, marker);
    picture.replaceChildren(svg);
    curve();
  });
  slider.addEventListener("input", () => {
    at = Number(slider.value);
    answer();
  });
  answer();
  return { model, speedup: (processors, given) => speedupOn(model, on.find((one) => one[0] === processors), given) };
}

const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
