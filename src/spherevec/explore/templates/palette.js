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

// A colour for each region, the largest first: regions that touch or lie close together get colours that differ, as on
// a map of countries, and no colour comes twice before all have come. places: (n, 3) flat unit rows, their middles.
// borders: Map whose keys "a,b", a < b, are the regions that touch.
export function colourRegions(places, borders) {
  const count = places.length / 3;
  const closeness = (i, j) => {
    const cosine = places[3 * i] * places[3 * j] + places[3 * i + 1] * places[3 * j + 1] + places[3 * i + 2] * places[3 * j + 2];
    return Math.max(0, cosine) ** 4 + (borders.has(`${j},${i}`) ? 1 : 0);
  };
  const chosen = [];
  const used = new Array(COLOURS.length).fill(0);
  for (let i = 0; i < count; i++) {
    const close = chosen.map((c, j) => [c, closeness(i, j)]);
    let best = 0, bestCost = Infinity;
    COLOURS.forEach((colour, c) => {
      let cost = (i < COLOURS.length ? count : 0.5) * used[c];
      for (const [other, near] of close) {
        cost += near * (c === other ? 1 + 9 * (near >= 1) : (1 - difference(colour, COLOURS[other])) ** 3);
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
