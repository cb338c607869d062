// Colours: eight that people with any common colour blindness can tell apart, and a scale from dark to light.

export const COLOURS = [
  [80, 105, 200], [227, 184, 49], [166, 60, 12], [44, 220, 175], [119, 87, 116], [213, 111, 44], [159, 165, 249],
  [169, 129, 155],
];
export const NO_COLOUR = [140, 146, 155];

// Stops of the scale for numbers and dates; lightness alone tells low from high.
const SCALE = [[57, 49, 133], [49, 104, 157], [46, 150, 143], [137, 190, 98], [240, 215, 90]];

export function scaleColour(share) {
  const position = Math.max(0, Math.min(1, share)) * (SCALE.length - 1);
  const low = Math.min(SCALE.length - 2, Math.floor(position));
  return SCALE[low].map((value, i) => Math.round(value + (position - low) * (SCALE[low + 1][i] - value)));
}

function difference(left, right) {
  return Math.hypot(left[0] - right[0], left[1] - right[1], left[2] - right[2]) / 441;
}

// A colour for each of `count` regions, the largest first: neighbours get colours that differ, as on a map of
// countries. borders: Map from "a,b", a < b, to the length of the border between two regions.
export function colourRegions(count, borders) {
  const beside = Array.from({ length: count }, () => []);
  for (const [pair, length] of borders) {
    const [a, b] = pair.split(",").map(Number);
    beside[a].push([b, length]);
    beside[b].push([a, length]);
  }
  const chosen = [];
  const used = new Array(COLOURS.length).fill(0);
  for (let i = 0; i < count; i++) {
    const whole = beside[i].reduce((sum, [, length]) => sum + length, 1);
    let best = 0, bestCost = Infinity;
    COLOURS.forEach((colour, c) => {
      let cost = (0.2 * used[c]) / (i + 1);
      for (const [j, length] of beside[i]) {
        if (j < i) cost += (0.2 + length / whole) * (1 - difference(colour, COLOURS[chosen[j]])) ** 3;
      }
      if (cost < bestCost - 1e-9) { bestCost = cost; best = c; }
    });
    chosen.push(best);
    used[best]++;
  }
  return chosen.map((c) => COLOURS[c]);
}

export function css(colour, alpha = 1) {
  return `rgb(${colour[0]} ${colour[1]} ${colour[2]} / ${alpha})`;
}
