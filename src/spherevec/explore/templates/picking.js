// Which documents lie under the pointer, or inside a line drawn around them.

import { project } from "./geometry.js";

// The shown document nearest to a pixel, within `reach` pixels; -1 for none.
export function documentAt(world, mask, view, frame, radius, stage, x, y, reach) {
  const { places } = world;
  const out = [0, 0, 0];
  let best = reach * reach, found = -1;
  for (let row = 0; row < world.count; row++) {
    if (!mask[row]) continue;
    project(frame, view.flat, places[3 * row], places[3 * row + 1], places[3 * row + 2], out);
    if (out[2] <= 0) continue;
    const dx = stage.centre[0] + radius * out[0] - x, dy = stage.centre[1] - radius * out[1] - y;
    const square = dx * dx + dy * dy;
    if (square < best) { best = square; found = row; }
  }
  return found;
}

// Whether a point lies inside a closed line [[x, y], …] (even-odd rule).
export function insideLine(line, x, y) {
  let inside = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [ax, ay] = line[i], [bx, by] = line[j];
    if ((ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

// The shown documents whose pixel passes `test(x, y)`.
export function documentsWhere(world, mask, view, frame, radius, stage, test) {
  const { places } = world;
  const out = [0, 0, 0];
  const rows = [];
  for (let row = 0; row < world.count; row++) {
    if (!mask[row]) continue;
    project(frame, view.flat, places[3 * row], places[3 * row + 1], places[3 * row + 2], out);
    if (out[2] <= 0) continue;
    if (test(stage.centre[0] + radius * out[0], stage.centre[1] - radius * out[1])) rows.push(row);
  }
  return rows;
}
