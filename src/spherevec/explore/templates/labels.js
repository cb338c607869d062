// Names on the map: broad topics in large letters, topics, and words as place names. No two names overlap; as one zooms
// in, broad names give way to finer ones.

import { project } from "./geometry.js";

// Each kind of name: its letters, how many are shown at most (on a phone), and up to which zoom.
const LABELS = {
  broad: { weight: "700", most: 40, mostOnPhone: 16, until: 3, padding: [8, 5], halo: 4 },
  topic: { weight: "600", most: 60, mostOnPhone: 24, until: Infinity, padding: [7, 5], halo: 4 },
  word: { weight: "italic 400", most: 90, mostOnPhone: 24, until: Infinity, padding: [5, 3], halo: 3 },
};
const WORDS_AT_FIRST = 110; // words considered at zoom 1; their number grows with the area of what is seen
const SHIFTS = [0, -1, 1]; // where a name is tried, in heights of itself
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const EDGE = 0.42, FADE = 0.06; // names nearer to the globe's edge than this are left out

// A name in at most two lines of about the same length.
function linesOf(name) {
  if (name.length <= 18) return [name];
  const words = name.split(" ");
  let best = [name], least = Infinity;
  for (let i = 1; i < words.length; i++) {
    const lines = [words.slice(0, i).join(" "), words.slice(i).join(" ")];
    const longer = Math.max(lines[0].length, lines[1].length);
    if (longer < least) { least = longer; best = lines; }
  }
  return best.map((line) => shortened(line, 34));
}

const shortened = (text, longest) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);

function overlaps(box, placed) {
  return placed.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]);
}

// All names of a map, most important first: {kind, name, row, place, rank}.
export function namesOn(world) {
  const named = (kind, names, rows, placeOf) => names.map((name, rank) => ({ kind, name, row: rows[rank], rank, place: placeOf(rank) }));
  const broad = world.parents.flatMap((parent, row) => (parent.topics.length > 1 ? [row] : []));
  const topics = world.topics.map((_, row) => row);
  return [
    ...named("broad", broad.map((row) => world.parents[row].name), broad, (rank) => world.parents[broad[rank]].place),
    ...named("topic", topics.map((row) => world.topicName(row)), topics, (rank) => world.topicPlaces.subarray(3 * rank, 3 * rank + 3)),
    ...named("word", world.placeNames.map((row) => world.words[row]), world.placeNames, (rank) => world.wordPlaces.subarray(3 * rank, 3 * rank + 3)),
  ];
}

export class Labels {
  // names: as of `namesOn`; sparse: whether there are few documents.
  constructor(context, names, sparse) {
    this.context = context;
    this.sparse = sparse;
    this.twoLevels = names.some(({ kind }) => kind === "broad");
    this.entries = names.map((entry) => ({
      ...entry, lines: entry.kind === "word" ? [shortened(entry.name, 28)] : linesOf(entry.name), widths: null, size: 0,
    }));
    this.shown = [];
  }

  // Finer topics grow to the size of broad ones as one zooms in.
  #sizeOf({ kind, rank }, zoom, phone) {
    if (kind === "word") return 12;
    const large = Math.max(12.5, (phone ? 15 : 17) - rank * 0.18);
    return kind === "topic" && this.twoLevels ? Math.min(large, Math.round(11.5 + 1.5 * Math.log2(Math.max(1, zoom)))) : large;
  }

  #measure(entry, zoom, phone) {
    const size = this.#sizeOf(entry, zoom, phone);
    if (entry.size !== size || !entry.widths) {
      entry.size = size;
      entry.font = `${LABELS[entry.kind].weight} ${size}px ${FONT}`;
      this.context.font = entry.font;
      entry.widths = entry.lines.map((line) => this.context.measureText(line).width);
    }
    return entry;
  }

  // Names of a few documents stand above the points rather than on them.
  get lift() {
    return this.sparse ? 18 : 0;
  }

  // Chooses which names are seen. `obstacles`: boxes [left, top, right, bottom] that stay free.
  place(view, frame, radius, stage, obstacles, dimmed) {
    const placed = obstacles.map((box) => [...box]);
    const out = [0, 0, 0];
    const phone = stage.width < 700;
    const counts = { broad: 0, topic: 0, word: 0 };
    this.shown = [];
    for (const entry of this.entries) {
      const { most, mostOnPhone, until, padding } = LABELS[entry.kind];
      if (view.zoom > until || counts[entry.kind] >= (phone ? mostOnPhone : most)) continue;
      if (entry.kind === "word" && entry.rank > WORDS_AT_FIRST * view.zoom ** 2) continue;
      const [x, y, z] = entry.place;
      project(frame, view.flat, x, y, z, out);
      if (out[2] < EDGE) continue;
      const left = stage.centre[0] + radius * out[0], middle = stage.centre[1] - radius * out[1] - this.lift;
      if (left < -40 || middle < -20 || left > stage.width + 40 || middle > stage.height + 20) continue;
      this.#measure(entry, view.zoom, phone);
      const half = Math.max(...entry.widths) / 2 + padding[0];
      const tall = (entry.size * 1.2 * entry.lines.length) / 2 + padding[1];
      for (const shift of entry.kind === "word" ? [0] : SHIFTS) {
        const top = middle + shift * 2 * tall;
        const box = [left - half, top - tall, left + half, top + tall];
        if (box[0] < 2 || box[2] > stage.width - 2 || box[1] < 2 || box[3] > stage.height - 2) continue;
        if (overlaps(box, placed)) continue;
        placed.push(box);
        counts[entry.kind]++;
        const faint = dimmed && entry.kind !== "word" && !dimmed(entry);
        this.shown.push({ entry, left, top, box, depth: out[2], faint });
        break;
      }
    }
    return this.shown;
  }

  draw(theme) {
    const { context } = this;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const { entry, left, top, depth, faint } of [...this.shown].reverse()) {
      context.globalAlpha = Math.min(1, Math.max(0, (depth - EDGE) / FADE)) * (faint ? 0.35 : 1);
      context.font = entry.font;
      context.lineWidth = LABELS[entry.kind].halo;
      context.strokeStyle = theme.halo;
      context.fillStyle = entry.kind === "word" ? theme.wordInk : theme.topicInk;
      entry.lines.forEach((line, i) => {
        const y = top + (i - (entry.lines.length - 1) / 2) * entry.size * 1.2;
        context.strokeText(line, left, y);
        context.fillText(line, left, y);
      });
    }
    context.globalAlpha = 1;
  }

  // The name under a pixel, if any.
  at(x, y) {
    const found = this.shown.find(({ box }) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
    return found ? found.entry : null;
  }
}
