// Memory over time, as the simulator ran the recording.

function memory(recording, section) {
  const runs = recording.memory, select = find(section, "processors"), about = find(section, "about"), place = find(section, "memory");
  const say = amount(recording.unit);
  runs.forEach(({ processors }, at) => select.append(new Option(`${processors} processor${processors === 1 ? "" : "s"}`, at)));
  let width = 0;
  function draw() {
    const run = runs[select.value], high = 200, left = 64, bottom = 22, most = Math.max(...runs.map((one) => one.peak), 1);
    const x = (part) => left + part * (width - left - 8), y = (value) => high - bottom - (value / most) * (high - bottom - 8);
    const svg = shape("svg", { width, height: high, viewBox: `0 0 ${width} ${high}`, role: "img", "aria-label": "Memory over time. The text above has the peak." });
    for (const part of [0, 0.5, 1]) {
      svg.append(shape("line", { x1: left, x2: width - 8, y1: y(most * part), y2: y(most * part), class: "line" }));
      svg.append(shape("text", { x: left - 6, y: y(most * part) + 4, "text-anchor": "end" }, bytes(most * part)));
    }
    svg.append(shape("text", { x: left, y: high - 6 }, "0"), shape("text", { x: width - 8, y: high - 6, "text-anchor": "end" }, say(run.time)));
    const points = [];
    run.points.forEach(([at, value], nth) => {
      if (nth > 0) points.push([x(at), y(run.points[nth - 1][1])]);
      points.push([x(at), y(value)]);
    });
    const last = run.points.at(-1) ?? [0, 0];
    points.push([x(1), y(last[1])]);
    svg.append(shape("path", { d: `${path([[x(0), y(0)], ...points, [x(1), y(0)]])}Z`, class: "band" }), shape("path", { d: path(points), class: "likely" }));
    place.replaceChildren(svg);
    about.textContent = `at most ${bytes(run.peak)} at once`;
  }
  select.addEventListener("input", draw);
  onWidth(place, (wide) => {
    width = wide;
    draw();
  });
}
