// Starts the parts of the page.

const shown = { timelines: [], speedups: [] };
const tip = document.getElementById("tip");
const whole = Math.max(...data.runs.map(({ trace }) => trace?.length ?? 0), 1);

const parts = {
  timeline: ({ trace }, section) => {
    shown.timelines.push(timeline(trace, section, tip, whole));
    legend(trace, section);
    traceTables(trace, section);
  },
  speedup: ({ profile }, section) => shown.speedups.push(speedup(profile.model, section)),
  simulated: ({ recording }, section) => shown.speedups.push(speedup(recording.model, section)),
  graph: ({ recording, profile }, section) => grainGraph(recording, profile, section),
  flame: ({ recording }, section) => flame(recording, section),
  memory: ({ recording }, section) => memory(recording, section),
  sites: ({ profile }, section) => siteTable(profile, section),
  comparison: (_, section) => compareSites(data.runs, section),
  advice: () => {},
};
for (const section of document.querySelectorAll("[data-part]")) parts[section.dataset.part](data.runs[section.dataset.run ?? 0], section);
moveTogether(shown.timelines);
