// The globe and the flat map: from directions to the screen and back.
//
// A view is {lon, lat, zoom, flat}. Its frame has three unit vectors: east and north on the screen, and out towards the
// eye. The globe is seen from far away (orthographic). The flat map is Hammer's equal-area projection about the centre
// of the view; near the centre both have the same scale.

export const ZOOM_RANGE = [0.8, 80];
const SQRT2 = Math.SQRT2;

export function frameOf(view) {
  const [a, b] = [Math.cos(view.lon), Math.sin(view.lon)];
  const [c, s] = [Math.cos(view.lat), Math.sin(view.lat)];
  return { east: [-b, a, 0], north: [-s * a, -s * b, c], out: [c * a, c * b, s] };
}

// Pixels of one radian at the centre of the view.
export function radiusOf(view, width, height) {
  const fit = view.flat ? Math.min(width / 5.75, height / 2.95) : 0.44 * Math.min(width, height);
  return fit * view.zoom;
}

// Direction (x, y, z) to map units: writes [right, up, depth] into `out`; depth > 0 is visible.
export function project(frame, flat, x, y, z, out) {
  const { east, north, out: forward } = frame;
  const e = x * east[0] + y * east[1] + z * east[2];
  const n = x * north[0] + y * north[1] + z * north[2];
  const f = x * forward[0] + y * forward[1] + z * forward[2];
  if (!flat) {
    out[0] = e; out[1] = n; out[2] = f;
    return out;
  }
  const half = Math.atan2(e, f) / 2;
  const level = Math.sqrt(Math.max(0, 1 - n * n));
  const divisor = Math.sqrt(Math.max(1e-9, 1 + level * Math.cos(half)));
  out[0] = (2 * SQRT2 * level * Math.sin(half)) / divisor;
  out[1] = (SQRT2 * n) / divisor;
  out[2] = 1;
  return out;
}

// Map units to a direction, or null outside the globe or the map.
export function unproject(frame, flat, right, up) {
  let e, n, f;
  if (flat) {
    const square = 1 - (right / 4) ** 2 - (up / 2) ** 2;
    if (square < 0.5) return null;
    const root = Math.sqrt(square);
    const lon = 2 * Math.atan2(root * right, 2 * (2 * square - 1));
    n = Math.max(-1, Math.min(1, root * up));
    const level = Math.sqrt(1 - n * n);
    e = level * Math.sin(lon);
    f = level * Math.cos(lon);
  } else {
    const square = right * right + up * up;
    if (square > 1) return null;
    e = right; n = up; f = Math.sqrt(1 - square);
  }
  const axis = (i) => e * frame.east[i] + n * frame.north[i] + f * frame.out[i];
  return [axis(0), axis(1), axis(2)];
}

export function lonLat([x, y, z]) {
  return [Math.atan2(y, x), Math.asin(Math.max(-1, Math.min(1, z)))];
}

export function direction(lon, lat) {
  return [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)];
}

// A longitude between -π and π.
export function wrapped(lon) {
  return lon - 2 * Math.PI * Math.round(lon / (2 * Math.PI));
}

export function clampView(view) {
  view.lon = wrapped(view.lon);
  view.lat = Math.max(-1.5, Math.min(1.5, view.lat));
  view.zoom = Math.max(ZOOM_RANGE[0], Math.min(ZOOM_RANGE[1], view.zoom));
  return view;
}

// The view a share `t` of the way from one to another, along the shorter side of the globe.
export function between(from, to, t) {
  const turn = wrapped(to.lon - from.lon);
  const far = Math.hypot(turn * Math.cos((from.lat + to.lat) / 2), to.lat - from.lat);
  // A long flight rises first, so that the traveller sees where it goes.
  const lift = 1 - Math.min(0.6, far * 0.25) * Math.sin(Math.PI * t) * (Math.max(from.zoom, to.zoom) > 1.5 ? 1 : 0.2);
  return clampView({
    lon: from.lon + turn * t,
    lat: from.lat + (to.lat - from.lat) * t,
    zoom: Math.exp(Math.log(from.zoom) + (Math.log(to.zoom) - Math.log(from.zoom)) * t) * lift,
    flat: to.flat,
  });
}
