// Marks on the map: what is hovered, opened, near, selected, and the pin of a placed sentence.

import { project } from "./geometry.js";

const MOST_SELECTED = 5000; // rings drawn; a larger selection keeps its number in the panel

export class Marks {
  constructor(context) {
    this.context = context;
    this.hovered = -1;
    this.marked = -1;
    this.near = []; // rows of documents
    this.pin = null; // {place, text}
    this.line = null; // of the lasso
  }

  // The pixel of a direction, or null behind the globe.
  #pixel({ view, frame, radius, stage }, place) {
    const [right, up, depth] = project(frame, view.flat, place[0], place[1], place[2], [0, 0, 0]);
    return depth > 0 ? [stage.centre[0] + radius * right, stage.centre[1] - radius * up] : null;
  }

  #ring(shape, place, size, colour, width) {
    const pixel = this.#pixel(shape, place);
    if (!pixel) return;
    const { context } = this;
    context.beginPath();
    context.arc(pixel[0], pixel[1], size, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  drawBelow(shape, { world, selected }) {
    const { context } = this;
    const from = this.pin ? this.pin.place : this.marked >= 0 ? world.docPlace(this.marked) : null;
    const origin = from && this.#pixel(shape, from);
    context.globalAlpha = 0.55;
    for (const row of this.near) {
      const pixel = this.#pixel(shape, world.docPlace(row));
      if (!pixel) continue;
      if (origin) {
        context.beginPath();
        context.moveTo(...origin);
        context.lineTo(...pixel);
        context.lineWidth = 1;
        context.strokeStyle = shape.theme.accent;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    for (const row of this.near) this.#ring(shape, world.docPlace(row), 5.5, shape.theme.accent, 2);
    for (const row of selected.slice(0, MOST_SELECTED)) this.#ring(shape, world.docPlace(row), 3.5, shape.theme.accent, 1.3);
  }

  // What names must not cover: the pin, and the ring of the opened document.
  boxes(shape, { world }) {
    const pin = this.pin && this.#pixel(shape, this.pin.place);
    const ring = this.marked >= 0 && this.#pixel(shape, world.docPlace(this.marked));
    return [
      ...(pin ? [[pin[0] - 12, pin[1] - 26, pin[0] + 12, pin[1] + 6]] : []),
      ...(ring ? [[ring[0] - 11, ring[1] - 11, ring[0] + 11, ring[1] + 11]] : []),
    ];
  }

  drawAbove(shape, { world }) {
    const { context } = this;
    if (this.hovered >= 0) this.#ring(shape, world.docPlace(this.hovered), 7, shape.theme.inkText, 2);
    if (this.marked >= 0) {
      this.#ring(shape, world.docPlace(this.marked), 9, shape.theme.halo, 5);
      this.#ring(shape, world.docPlace(this.marked), 9, shape.theme.accent, 3);
    }
    if (this.pin) this.#drawPin(this.#pixel(shape, this.pin.place), shape.theme);
    if (this.line?.length > 1) {
      context.beginPath();
      this.line.forEach(([x, y], i) => { if (i) context.lineTo(x, y); else context.moveTo(x, y); });
      context.closePath();
      context.lineWidth = 2;
      context.setLineDash([6, 4]);
      context.strokeStyle = shape.theme.accent;
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = 0.12;
      context.fillStyle = shape.theme.accent;
      context.fill();
      context.globalAlpha = 1;
    }
  }

  #drawPin(pixel, theme) {
    if (!pixel) return;
    const { context } = this;
    const [x, y] = pixel;
    context.beginPath();
    context.moveTo(x, y);
    context.bezierCurveTo(x - 4, y - 9, x - 10, y - 11, x - 10, y - 18);
    context.arc(x, y - 18, 10, Math.PI, 0);
    context.bezierCurveTo(x + 10, y - 11, x + 4, y - 9, x, y);
    context.fillStyle = theme.accent;
    context.strokeStyle = theme.halo;
    context.lineWidth = 2;
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(x, y - 18, 3.6, 0, 2 * Math.PI);
    context.fillStyle = theme.halo;
    context.fill();
  }
}
