// The tables and the legend.

function legend(trace, section) {
  for (const kind of trace.categories) {
    const patch = make("i");
    patch.style.background = `var(--${kind})`;
    find(section, "legend").append(make("span", {}, patch, kind));
  }
}

function traceTables(trace, section) {
  fill(find(section, "processors"), ["processor", "runs", "waits", "searches", "rests"],
    trace.processors.map(([name, runs, waits, searches]) => {
      const rests = Math.max(trace.length - runs - waits - searches, 0);
      return [name, share(runs, trace.length), ...[waits, searches, rests].map((one) => percent(one, trace.length))];
    }));
  const most = Math.max(...trace.closures.map(([, , total]) => total), 1);
  fill(find(section, "closures"), ["closure", "times", "together", "longest"], trace.closures.map(([name, count, total, longest]) =>
    [name, count.toLocaleString("en"), [spoken(total), total / most], spoken(longest)]));
}

/** The table of a profile's fork sites. Inflation is known only if the program ran on one processor, too. */
function siteTable(profile, section) {
  const inflated = profile.sites.some((site) => site.inflation !== null);
  const head = ["fork site", "forks", "grain", "share of work", "share of span"];
  fill(find(section, "sites"), inflated ? [...head, "work inflation"] : head, profile.sites.map((site) => {
    const row = [site.name, site.forks.toLocaleString("en"), site.grain === null ? "–" : spoken(site.grain),
      share(site.work, profile.work), share(site.span, profile.span)];
    return inflated ? [...row, site.inflation === null ? "–" : `${site.inflation.toFixed(2)} ×`] : row;
  }));
}
