// The view as a link: everything that one sees is written into the address after the #, and read back from it.

function number(text, low, high) {
  const value = Number(text);
  return text !== null && text !== "" && Number.isFinite(value) ? Math.max(low, Math.min(high, value)) : null;
}

// state: {view, dark, query, document, topic, word, filters} → "v=…&…"
export function writeLink({ view, theme, open, filters }) {
  const link = new URLSearchParams();
  link.set("v", [view.lon, view.lat, view.zoom].map((value) => value.toFixed(4)).join(","));
  if (!view.flat) link.set("m", "globe");
  if (theme) link.set("theme", theme);
  if (open) link.set(open.kind, open.value);
  if (filters.colourBy !== "topic") link.set("colour", filters.colourBy);
  if (filters.sizeBy !== null) link.set("size", filters.sizeBy);
  if (filters.topic !== null) link.set("only", filters.topic);
  if (filters.title) link.set("text", filters.title);
  for (const [field, rule] of filters.chosen) {
    link.append("f", `${field}:${rule.text ?? rule.value ?? `${rule.low}..${rule.high}`}`);
  }
  return link.toString();
}

// What a link says, checked against the page's own fields; anything strange is left out.
export function readLink(hash, world) {
  const link = new URLSearchParams(hash.replace(/^#/, ""));
  const found = { filters: { chosen: new Map(), colourBy: "topic", sizeBy: null, topic: null, title: "" } };
  const [lon, lat, zoom] = (link.get("v") ?? "").split(",").map((text, i) => number(text, ...[[-4, 4], [-1.6, 1.6], [0.1, 100]][i] ?? [0, 0]));
  if (lon !== null && lat !== undefined && lat !== null && zoom) found.view = { lon, lat, zoom };
  if (found.view || link.has("m")) found.flat = link.get("m") !== "globe";
  if (["light", "dark"].includes(link.get("theme"))) found.theme = link.get("theme");
  for (const kind of ["q", "doc", "topic", "broad", "word"]) {
    if (link.has(kind)) found.open = { kind, value: link.get(kind) };
  }
  const fieldOf = (text) => { const i = number(text, 0, 1e6); return i !== null && world.fields[i] ? i : null; };
  const drawable = (i, kinds) => i !== null && kinds.includes(world.fields[i].kind) ? i : null;
  found.filters.colourBy = drawable(fieldOf(link.get("colour")), ["category", "number", "date"]) ?? "topic";
  found.filters.sizeBy = drawable(fieldOf(link.get("size")), ["number", "date"]);
  const topic = number(link.get("only"), -1, 1e6);
  if (topic !== null && world.topics[topic]) found.filters.topic = topic;
  if (link.has("text")) found.filters.title = link.get("text");
  for (const rule of link.getAll("f")) {
    const [name, value] = [rule.slice(0, rule.indexOf(":")), rule.slice(rule.indexOf(":") + 1)];
    const field = fieldOf(name);
    if (field === null) continue;
    const { kind, labels } = world.fields[field];
    if (kind === "category") {
      const code = number(value, -1, 1e9);
      if (code === -1 || labels[code] !== undefined) found.filters.chosen.set(field, { value: code });
    } else if (kind === "text") {
      if (value) found.filters.chosen.set(field, { text: value });
    } else {
      const [low, high] = value.split("..").map((text) => number(text, -1e300, 1e300));
      if (low !== null && high !== null && high !== undefined) found.filters.chosen.set(field, { low, high });
    }
  }
  return found;
}
