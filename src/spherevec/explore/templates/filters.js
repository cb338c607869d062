// Which documents are shown, in which colour and size.

import { COLOURS, NO_COLOUR, scaleColour } from "./palette.js";
import { plain } from "./world.js";

const SHOWN_CATEGORIES = COLOURS.length - 1; // the rest share one colour
const LATEST = 8.64e12; // seconds from 1970 that JavaScript can write as a date
export const missing = (value) => !Number.isFinite(value);

export class Filters {
  constructor(world) {
    this.world = world;
    this.colourBy = "topic"; // or the number of a field
    this.sizeBy = null;
    this.chosen = new Map(); // field → {value} of a category, -1 for none, {low, high} of a number or date, {text}
    this.topic = null;
    this.title = "";
    this.mask = new Uint8Array(world.count).fill(1);
    this.shown = world.count;
    this.ranges = world.fields.map((field) => this.#range(field));
  }

  #range(field) {
    if (field.kind !== "number" && field.kind !== "date") return null;
    let low = Infinity, high = -Infinity;
    for (const value of field.values) {
      if (missing(value) || (field.kind === "date" && Math.abs(value) > LATEST)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : null;
  }

  // Renews the mask; returns how many documents are shown.
  update() {
    const { world, mask } = this;
    const words = this.title.toLowerCase().split(/\s+/).filter((word) => word);
    mask.fill(1);
    for (const [number, rule] of this.chosen) {
      const { values, kind } = world.fields[number];
      const within = {
        category: (value) => value === rule.value,
        text: (value) => plain(value).toLowerCase().includes(rule.text.toLowerCase()),
      }[kind] ?? ((value) => value >= rule.low && value <= rule.high);
      for (let row = 0; row < mask.length; row++) if (mask[row] && !within(values[row])) mask[row] = 0;
    }
    if (this.topic !== null) {
      for (let row = 0; row < mask.length; row++) if (world.docTopics[row] !== this.topic) mask[row] = 0;
    }
    if (words.length) {
      for (let row = 0; row < mask.length; row++) {
        if (!mask[row]) continue;
        const text = `${world.id(row)} ${world.title(row)} ${world.snippet(row)}`.toLowerCase();
        if (!words.every((word) => text.includes(word))) mask[row] = 0;
      }
    }
    this.shown = mask.reduce((sum, value) => sum + value, 0);
    return this.shown;
  }

  get active() {
    return this.chosen.size > 0 || this.topic !== null || this.title !== "";
  }

  // Whether a document is shown.
  shows(row) {
    return this.mask[row] === 1;
  }

  // The colour of the categories of a field: the most frequent ones have their own. `none`: documents without one.
  categoryColours(field) {
    const times = new Array(field.labels.length).fill(0);
    let none = 0;
    for (const value of field.values) if (value >= 0) times[value]++; else none++;
    const order = times.map((_, i) => i).sort((a, b) => times[b] - times[a]);
    const colours = new Array(times.length).fill(NO_COLOUR);
    order.slice(0, times.length <= COLOURS.length ? COLOURS.length : SHOWN_CATEGORIES)
      .forEach((value, rank) => { colours[value] = COLOURS[rank]; });
    return { colours, order, times, none };
  }

  // A function from a row to its colour, and what the legend says.
  colouring() {
    const { world } = this;
    const field = this.colourBy === "topic" ? null : world.fields[this.colourBy];
    if (!field) return { colourOf: (row) => world.topicColour(world.docTopics[row]), legend: null };
    if (field.kind === "category") {
      const { colours, order, none } = this.categoryColours(field);
      const own = order.filter((value) => colours[value] !== NO_COLOUR);
      const legend = own.map((value) => ({ label: field.labels[value], colour: colours[value] }));
      const others = [order.length - own.length ? `${order.length - own.length} others` : "", none ? "none" : ""].filter(Boolean);
      if (others.length) legend.push({ label: others.join(", "), colour: NO_COLOUR });
      return { colourOf: (row) => colours[field.values[row]] ?? NO_COLOUR, legend, field };
    }
    const range = this.ranges[this.colourBy];
    if (!range) return { colourOf: () => NO_COLOUR, legend: [], field };
    const span = range[1] - range[0] || 1;
    const colourOf = (row) => missing(field.values[row]) ? NO_COLOUR : scaleColour((field.values[row] - range[0]) / span);
    return { colourOf, range, field };
  }

  // What the graphics card needs: colours with visibility, and sizes.
  paint(dark) {
    const { world, mask } = this;
    const tints = new Uint8Array(4 * world.count), growths = new Float32Array(world.count).fill(1);
    const { colourOf } = this.colouring();
    const byTopic = this.colourBy === "topic";
    for (let row = 0; row < world.count; row++) {
      const colour = colourOf(row);
      for (let i = 0; i < 3; i++) {
        // On land of their own colour, points are a shade darker, or lighter on a dark map.
        const value = colour[i];
        tints[4 * row + i] = byTopic ? (dark ? value + (255 - value) * 0.28 : value * 0.72) : dark ? value : value * 0.9;
      }
      tints[4 * row + 3] = mask[row] ? 255 : 0;
    }
    const range = this.sizeBy === null ? null : this.ranges[this.sizeBy];
    if (range) {
      const { values } = world.fields[this.sizeBy];
      const span = range[1] - range[0] || 1;
      for (let row = 0; row < world.count; row++) {
        growths[row] = missing(values[row]) ? 0.6 : 0.6 + 2.4 * Math.sqrt((values[row] - range[0]) / span);
      }
    }
    return { tints, growths };
  }
}

// A value of a field for other programs.
export function exactValue(field, value) {
  if (field.kind === "number") return missing(value) ? "" : String(value);
  if (field.kind === "date" && value % 86400 && Math.abs(value) <= LATEST) return new Date(value * 1000).toISOString();
  return shownValue(field, value);
}

// How a value of a field reads.
export function shownValue(field, value) {
  if (field.kind === "category") return value >= 0 ? field.labels[value] : "";
  if (field.kind === "text") return value ?? "";
  if (missing(value)) return "";
  if (field.kind === "date") return Math.abs(value) > LATEST ? "" : new Date(value * 1000).toISOString().slice(0, 10);
  return Number(value.toPrecision(6)).toLocaleString("en");
}
