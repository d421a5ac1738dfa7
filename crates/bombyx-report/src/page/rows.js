// The slices of a track, and a picture of them with one column per pixel, however many there are.

/** The bytes of a text in base64. */
function decoded(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

const DEEPEST = 15;

/**
 * The slices of a track, by depth. Those of one depth do not overlap, and are in order. The bytes are numbers of seven bits
 * per byte, the lowest first: start after the start before, length, name, category, depth.
 */
function rowsOf(track) {
  const bytes = decoded(track.slices);
  let ends = 0;
  for (let at = 0; at < bytes.length; at++) ends += bytes[at] < 128;
  const count = Math.floor(ends / 5);
  const all = { starts: new Float64Array(count), ends: new Float64Array(count), names: new Uint32Array(count), kinds: new Uint8Array(count) };
  const depths = new Uint8Array(count), counts = new Uint32Array(DEEPEST + 1);
  let at = 0, start = 0;
  const next = () => {
    let byte = bytes[at++], value = byte & 127, factor = 128;
    while (byte & 128) {
      byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    }
    return value;
  };
  for (let nth = 0; nth < count; nth++) {
    start += next();
    all.starts[nth] = start;
    all.ends[nth] = start + next();
    all.names[nth] = next();
    all.kinds[nth] = next();
    depths[nth] = Math.min(next(), DEEPEST);
    counts[depths[nth]]++;
  }
  const deepest = counts.findLastIndex((one) => one > 0);
  if (deepest < 0) return [];
  if (deepest === 0) return [indexed(all)];
  const rows = Array.from(counts.subarray(0, deepest + 1), (size) => ({
    starts: new Float64Array(size), ends: new Float64Array(size), names: new Uint32Array(size), kinds: new Uint8Array(size), filled: 0,
  }));
  for (let nth = 0; nth < count; nth++) {
    const row = rows[depths[nth]], place = row.filled++;
    for (const list of ["starts", "ends", "names", "kinds"]) row[list][place] = all[list][nth];
  }
  return rows.map(indexed);
}

const BLOCK = 16;

/** Adds the longest slice of each block of slices, of each block of blocks, and so on. */
function indexed(row) {
  const length = (nth) => row.ends[nth] - row.starts[nth];
  row.levels = [];
  let below = null, size = row.starts.length;
  while (size > BLOCK) {
    const level = new Uint32Array(Math.ceil(size / BLOCK));
    for (let block = 0; block < level.length; block++) {
      let best = below ? below[block * BLOCK] : block * BLOCK;
      for (let nth = block * BLOCK; nth < Math.min((block + 1) * BLOCK, size); nth++) {
        const one = below ? below[nth] : nth;
        if (length(one) > length(best)) best = one;
      }
      level[block] = best;
    }
    row.levels.push(level);
    [below, size] = [level, level.length];
  }
  row.hits = null;
  return row;
}

/** The longest slice from one to before another. */
function longest(row, from, to) {
  let best = from, at = from;
  while (at < to) {
    let level = -1, size = 1;
    while (level + 1 < row.levels.length && at % (size * BLOCK) === 0 && at + size * BLOCK <= to) {
      level++;
      size *= BLOCK;
    }
    const one = level < 0 ? at : row.levels[level][at / size];
    if (row.ends[one] - row.starts[one] > row.ends[best] - row.starts[best]) best = one;
    at += size;
  }
  return best;
}

/** The first place in a sorted list whose value is above the limit. Near `from`, this is quick. */
function above(list, limit, from = 0) {
  let step = 1, high = from;
  while (high < list.length && list[high] <= limit) {
    from = high + 1;
    high += step;
    step *= 2;
  }
  high = Math.min(high, list.length);
  while (from < high) {
    const middle = (from + high) >> 1;
    if (list[middle] > limit) high = middle; else from = middle + 1;
  }
  return from;
}

/** Counts the slices whose names were searched for: before each place, so that any stretch is known at once. */
function countHits(row, names) {
  row.hits = null;
  if (names.size === 0) return 0;
  const wanted = new Uint8Array(Math.max(...names) + 1);
  for (const name of names) wanted[name] = 1;
  const hits = new Uint32Array(row.starts.length + 1);
  for (let at = 0; at < row.starts.length; at++) hits[at + 1] = hits[at] + (wanted[row.names[at]] ?? 0);
  row.hits = hits;
  return hits[row.starts.length];
}

/**
 * Draws a row as pixels. What lies within one pixel is looked at in one step: the pixel shows the longest slice of it, or that
 * it has one that was searched for. `label` is called for slices that are wide enough for a text.
 */
function paintRow(row, line, view, colors, label) {
  const width = line.length, perPixel = (view.to - view.from) / width;
  line.fill(0);
  let at = above(row.ends, view.from);
  while (at < row.starts.length && row.starts[at] < view.to) {
    const left = Math.max((row.starts[at] - view.from) / perPixel, 0), column = Math.floor(left);
    let shown = at, next = at + 1, right = (row.ends[at] - view.from) / perPixel;
    if (right - left < 1) {
      next = Math.max(above(row.starts, view.from + (column + 1) * perPixel, at), at + 1);
      if (next > at + 1) shown = longest(row, at, next);
      // The last one may reach into the next pixels.
      right = (row.ends[next - 1] - view.from) / perPixel;
      if (right - left >= 1.5 && next > at + 1) [next, right] = [next - 1, column + 1];
    }
    const hit = row.hits !== null && row.hits[next] > row.hits[at];
    const dim = row.hits !== null && !hit;
    const color = hit ? colors.hit : (dim ? colors.dim : colors.kinds)[row.kinds[shown]];
    let end = Math.min(Math.max(Math.round(right), column + 1), width);
    // A gap between two wide slices shows that they are two.
    if (end - column > 4 && right < width) end--;
    if (end === column + 1) line[column] = color; else line.fill(color, column, end);
    if (label && right - left > 30) label(shown, left, Math.min(right, width));
    at = next;
  }
}
