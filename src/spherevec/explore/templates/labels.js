// Names on the map: topics in large letters, words as place names. No two names overlap; more fit as one zooms in.

import { project } from "./geometry.js";

const MOST_TOPICS = 60;
const MOST_WORDS = 90;
const WORDS_AT_FIRST = 110; // words considered at zoom 1; their number grows with the area of what is seen
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
  return best.map((line) => (line.length > 34 ? `${line.slice(0, 33)}…` : line));
}

function overlaps(box, placed) {
  return placed.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]);
}

export class Labels {
  // topics: [{name, size}], words: [{name}], both most important first; places: (n, 3) flat for each;
  // sparse: whether there are few documents.
  constructor(context, topics, topicPlaces, words, wordPlaces, sparse) {
    this.context = context;
    this.sparse = sparse;
    this.entries = [
      ...this.#entries(topics, topicPlaces, "topic"),
      ...this.#entries(words, wordPlaces, "word"),
    ];
    this.shown = [];
  }

  #entries(items, places, kind) {
    return items.map((item, rank) => ({
      kind, rank, row: item.row ?? rank, place: places.subarray(3 * rank, 3 * rank + 3),
      lines: kind === "topic" ? linesOf(item.name) : [item.name.length > 28 ? `${item.name.slice(0, 27)}…` : item.name],
      widths: null, size: 0, alpha: 0,
    }));
  }

  #measure(entry, zoom, phone) {
    const size = entry.kind === "topic" ? Math.max(12.5, (phone ? 15 : 17) - entry.rank * 0.18) : 12;
    if (entry.size !== size || !entry.widths) {
      entry.size = size;
      entry.font = entry.kind === "topic" ? `600 ${size}px ${FONT}` : `italic 400 ${size}px ${FONT}`;
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
    const wordLimit = WORDS_AT_FIRST * view.zoom ** 2;
    const phone = stage.width < 700;
    const most = { topic: phone ? 24 : MOST_TOPICS, word: phone ? 24 : MOST_WORDS };
    const counts = { topic: 0, word: 0 };
    this.shown = [];
    for (const entry of this.entries) {
      if (counts[entry.kind] >= most[entry.kind]) continue;
      if (entry.kind === "word" && entry.rank > wordLimit) continue;
      const [x, y, z] = entry.place;
      project(frame, view.flat, x, y, z, out);
      if (out[2] < EDGE) continue;
      const left = stage.centre[0] + radius * out[0], top = stage.centre[1] - radius * out[1] - this.lift;
      if (left < -40 || top < -20 || left > stage.width + 40 || top > stage.height + 20) continue;
      this.#measure(entry, view.zoom, phone);
      const half = Math.max(...entry.widths) / 2 + (entry.kind === "topic" ? 7 : 5);
      const tall = (entry.size * 1.2 * entry.lines.length) / 2 + (entry.kind === "topic" ? 5 : 3);
      const box = [left - half, top - tall, left + half, top + tall];
      if (box[0] < 2 || box[2] > stage.width - 2 || box[1] < 2 || box[3] > stage.height - 2) continue;
      if (overlaps(box, placed)) continue;
      placed.push(box);
      counts[entry.kind]++;
      const faint = dimmed && entry.kind === "topic" && !dimmed(entry.row);
      this.shown.push({ entry, left, top, box, depth: out[2], faint });
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
      context.lineWidth = entry.kind === "topic" ? 4 : 3;
      context.strokeStyle = theme.halo;
      context.fillStyle = entry.kind === "topic" ? theme.topicInk : theme.wordInk;
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
