// The continents: where documents lie close together, coloured by the topic most of them have.
//
// The picture is in longitude and latitude, WIDTH × HEIGHT: red, green, blue of the topic, and how much land there is
// (0 = sea).

export const WIDTH = 1024;
export const HEIGHT = 512;
const NOBODY = -2; // -1 is a document without a topic
const COAST = 40; // density from which a cell counts as land
const MOST_POINTS = 200000; // more are sampled: the picture stays the same

// Adds a smooth bump around one direction to `density`; remembers touched cells in `touched`.
function splat(x, y, z, radius, density, touched) {
  const lat = Math.asin(Math.max(-1, Math.min(1, z)));
  const lon = Math.atan2(y, x);
  const first = Math.max(0, Math.floor(((lat - radius) / Math.PI + 0.5) * HEIGHT));
  const last = Math.min(HEIGHT - 1, Math.floor(((lat + radius) / Math.PI + 0.5) * HEIGHT));
  const least = Math.cos(radius);
  for (let row = first; row <= last; row++) {
    const rowLat = ((row + 0.5) / HEIGHT - 0.5) * Math.PI;
    const c = Math.cos(rowLat), s = Math.sin(rowLat);
    // cos(angle) = s z + c cos(lat) cos(turn): how far the bump reaches on this row.
    const edge = (least - s * z) / Math.max(1e-6, c * Math.cos(lat));
    if (edge >= 1) continue;
    const reach = edge <= -1 ? Math.PI : Math.acos(edge);
    const from = Math.ceil(((lon - reach) / (2 * Math.PI) + 0.5) * WIDTH - 0.5);
    const to = Math.floor(((lon + reach) / (2 * Math.PI) + 0.5) * WIDTH - 0.5);
    for (let column = from; column <= to; column++) {
      const turn = ((column + 0.5) / WIDTH - 0.5) * 2 * Math.PI - lon;
      const near = (s * z + c * Math.cos(lat) * Math.cos(turn) - least) / (1 - least);
      if (near <= 0) continue;
      const cell = row * WIDTH + ((column % WIDTH) + WIDTH) % WIDTH;
      if (density[cell] === 0) touched.push(cell);
      density[cell] += near * near;
    }
  }
}

function rowsByTopic(topics, count) {
  const groups = new Map();
  const step = Math.max(1, count / MOST_POINTS);
  for (let i = 0; i < count; i += step) {
    const row = Math.floor(i);
    const topic = topics[row];
    if (!groups.has(topic)) groups.set(topic, []);
    groups.get(topic).push(row);
  }
  return groups;
}

// Which topic owns each cell, how much land it is, and how long the borders between topics are.
// places: (n, 3) flat; topics: (n,), -1 for none. Returns {owners, density, borders}: topics of cells, NOBODY for none;
// 0 to 255; a Map from "a,b" to a number of cells.
export function landOf(places, topics) {
  const count = topics.length;
  const total = new Float32Array(WIDTH * HEIGHT), best = new Float32Array(WIDTH * HEIGHT);
  const owners = new Int32Array(WIDTH * HEIGHT).fill(NOBODY);
  const scratch = new Float32Array(WIDTH * HEIGHT);
  const shown = Math.min(count, MOST_POINTS);
  const radius = Math.max(0.035, Math.min(0.16, 1.6 * Math.sqrt((4 * Math.PI) / Math.max(shown, 1))));
  for (const [topic, rows] of rowsByTopic(topics, count)) {
    const touched = [];
    for (const row of rows) {
      splat(places[3 * row], places[3 * row + 1], places[3 * row + 2], radius, scratch, touched);
    }
    for (const cell of touched) {
      const value = scratch[cell];
      scratch[cell] = 0;
      total[cell] += value;
      if (value > best[cell]) {
        best[cell] = value;
        owners[cell] = topic;
      }
    }
  }
  // Land begins at about half of what an even spread would give; among many documents a single one makes no island.
  const even = (shown * (1 - Math.cos(radius))) / 2 / 3;
  const level = Math.max(count < 300 ? 0.6 : 2, 0.55 * even);
  const density = Uint8Array.from(total, (value) => Math.round(255 * (value / (value + level))));
  return { owners, density, borders: bordersOf(owners, density) };
}

function bordersOf(owners, density) {
  const borders = new Map();
  const meet = (cell, other) => {
    const a = Math.min(owners[cell], owners[other]), b = Math.max(owners[cell], owners[other]);
    if (a < 0 || a === b || density[cell] < COAST || density[other] < COAST) return;
    const pair = `${a},${b}`;
    borders.set(pair, (borders.get(pair) ?? 0) + 1);
  };
  for (let cell = 0; cell < owners.length; cell++) {
    if (owners[cell] < 0) continue;
    meet(cell, (cell + 1) % WIDTH ? cell + 1 : cell + 1 - WIDTH);
    if (cell + WIDTH < owners.length) meet(cell, cell + WIDTH);
  }
  return borders;
}

// The picture of the land; colourOf(topic) → [r, g, b].
export function drawLand({ owners, density }, colourOf) {
  const pixels = new Uint8Array(WIDTH * HEIGHT * 4);
  for (let cell = 0; cell < owners.length; cell++) {
    if (owners[cell] !== NOBODY) pixels.set(colourOf(owners[cell]), 4 * cell);
    pixels[4 * cell + 3] = density[cell];
  }
  return spreadColours(pixels);
}

// Gives the sea next to a coast the coast's colour, so that smooth reading of the picture does not darken the coast.
function spreadColours(pixels) {
  for (let round = 0; round < 2; round++) {
    const before = pixels.slice();
    for (let cell = 0; cell < WIDTH * HEIGHT; cell++) {
      if (before[4 * cell + 3] > 0) continue;
      const row = Math.floor(cell / WIDTH), column = cell % WIDTH;
      const beside = [row * WIDTH + (column + 1) % WIDTH, row * WIDTH + (column + WIDTH - 1) % WIDTH];
      if (row > 0) beside.push(cell - WIDTH);
      if (row < HEIGHT - 1) beside.push(cell + WIDTH);
      const coast = beside.find((other) => before[4 * other + 3] > 0 || before[4 * other] > 0);
      if (coast !== undefined) pixels.set(before.subarray(4 * coast, 4 * coast + 3), 4 * cell);
    }
  }
  return pixels;
}
