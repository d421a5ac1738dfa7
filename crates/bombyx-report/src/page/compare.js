// Two runs side by side: their sites in one table, and timelines that move together.

/** The sites of a run: what the profile says, or else the recording. */
function sitesOf({ profile, recording }) {
  if (profile) return { say: spoken, sites: new Map(profile.sites.map(({ name, work, span, forks }) => [name, { work, span, forks }])) };
  if (!recording) return null;
  const rows = recording.sites.map(([forks, , work, span], at) => [recording.names[at], { forks, work, span }]);
  return { say: amount(recording.unit), sites: new Map(rows) };
}

function compareSites(runs, section) {
  const place = find(section, "sites"), [before, after] = runs.map(sitesOf);
  if (!place || !before || !after) return;
  const names = [...new Set([...before.sites.keys(), ...after.sites.keys()])];
  const cell = (of, name, kind, say) => (of.sites.has(name) ? say(of.sites.get(name)[kind]) : "–");
  const change = (name, kind) => {
    const [was, is] = [before, after].map((of) => of.sites.get(name)?.[kind]);
    return was > 0 && is !== undefined ? `${(is / was).toFixed(2)} ×` : "–";
  };
  const weight = (name) => Math.max(...[before, after].map((of) => of.sites.get(name)?.work ?? 0));
  names.sort((a, b) => weight(b) - weight(a));
  const table = make("table");
  const count = (number) => number.toLocaleString("en");
  fill(table, ["fork site", "work before", "after", "", "span before", "after", "", "forks before", "after"], names.map((name) => [name,
    cell(before, name, "work", before.say), cell(after, name, "work", after.say), change(name, "work"),
    cell(before, name, "span", before.say), cell(after, name, "span", after.say), change(name, "span"),
    cell(before, name, "forks", count), cell(after, name, "forks", count)]));
  place.append(make("h3", {}, "Fork sites"), make("div", { class: "scroll" }, table));
}

function moveTogether(timelines) {
  timelines.forEach((one) => one.onView((from, to) => timelines.forEach((other) => other !== one && other.show(from, to, true))));
}
