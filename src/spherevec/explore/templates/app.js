// The page at work: one state, drawn when it changes.

import { byId, element, quoted } from "./elements.js";
import { fillAbout } from "./about.js";
import { Painter } from "./drawing.js";
import { Filters } from "./filters.js";
import { fitText } from "./fit.js";
import { between, clampView, frameOf, lonLat, radiusOf, unproject, wrapped } from "./geometry.js";
import { Labels, namesOn } from "./labels.js";
import { drawLand } from "./land.js";
import { readLink, writeLink } from "./link.js";
import { ListView } from "./list.js";
import { Marks } from "./marks.js";
import { Pace } from "./pace.js";
import { Panel } from "./panel.js";
import { documentAt, documentsWhere, insideLine } from "./picking.js";
import { Settings } from "./settings.js";
import { themeOf } from "./theme.js";
import { TopicList } from "./topics.js";
import { needsDictionary, readText, tokenize } from "./tokenizer.js";

const FLIGHT = 700; // milliseconds
// Zoom of a flight to a document: where there are few, they lie far apart.
const closeUp = (count) => Math.max(1.3, Math.min(16, 4 * (count / 3000) ** 0.25));

export class App {
  constructor(world) {
    this.world = world;
    this.canvas = byId("map");
    this.names = byId("names");
    this.view = this.start();
    this.filters = new Filters(world);
    this.theme = null; // null: as the system says
    this.open = null; // what the panel shows, for the link
    this.selected = [];
    this.drawing = false;
    this.flight = null;
    this.pace = new Pace(() => this.redraw());
    this.#paintable();
    const actions = {
      openDocument: (row) => this.openDocument(row), openWord: (row) => this.openWord(row),
      openTopic: (row) => this.openTopic(row), openBroadTopic: (row) => this.openBroadTopic(row), closeList: () => this.closeList(),
      onClose: () => this.#closed(), resize: () => this.resize(),
    };
    this.panel = new Panel(world, this.filters, actions);
    this.topicList = new TopicList(world, actions);
    this.list = new ListView(world, this.filters, actions);
    this.settings = new Settings(world, this.filters, () => this.#refilter());
    const context = this.names.getContext("2d");
    this.labels = new Labels(context, namesOn(world), world.count < 100);
    this.marks = new Marks(context);
    fillAbout(world);
  }

  // Land and points need WebGL 2; without it names, search, panel and list still work.
  #paintable() {
    try {
      this.painter = new Painter(this.canvas, this.world.places);
      this.painter.setLand(drawLand(this.world.land, (topic) => this.world.topicColour(topic)));
    } catch (error) {
      this.painter = null;
      byId("news").textContent = `No picture of the map: ${error.message}. The list shows everything.`;
    }
  }

  // All of the flat map, turned so that its seam runs where the fewest documents are.
  start() {
    const { places, count, wordPlaces } = this.world;
    const shown = count ? places : wordPlaces;
    const steps = 36, near = new Array(steps).fill(0);
    for (let i = 0; i < shown.length; i += 3 * Math.max(1, Math.floor(shown.length / 60000))) {
      near[Math.floor(((Math.atan2(shown[i + 1], shown[i]) / (2 * Math.PI)) * steps + steps) % steps)]++;
    }
    const quiet = near.map((_, i) => near[i] + 0.5 * (near[(i + 1) % steps] + near[(i + steps - 1) % steps]));
    const seam = quiet.indexOf(Math.min(...quiet));
    return { lon: wrapped(((seam + 0.5) / steps) * 2 * Math.PI + Math.PI), lat: 0, zoom: 1, flat: true };
  }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const [width, height] = [window.innerWidth, window.innerHeight];
    this.names.width = Math.round(width * ratio);
    this.names.height = Math.round(height * ratio);
    const wide = width > 900;
    const timed = byId("time").hidden ? 8 : wide ? 70 : 118;
    // The map keeps clear of the panel: on the left of a wide window, at the bottom of a narrow one.
    const top = wide ? 8 : 152, sheet = this.panel.open ? byId("panel") : this.topicList.open ? byId("topics") : null;
    const bottom = !wide && sheet ? sheet.offsetHeight : timed, left = wide && sheet ? 376 : 0;
    const room = [Math.max(160, width - left), Math.max(160, height - top - bottom)];
    this.stage = { width, height, ratio, room, centre: [left + room[0] / 2, top + room[1] / 2] };
    byId("cross").style.left = `${this.stage.centre[0]}px`;
    byId("cross").style.top = `${this.stage.centre[1]}px`;
    // Names keep clear of what lies above the map.
    this.covered = ["top", "tools", "panel", "topics", "settings", "time", "legend"].map(byId).filter((part) => !part.hidden)
      .map((part) => part.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom]);
    this.settings.drawBars();
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const { view, stage } = this;
    const theme = themeOf(document.documentElement);
    const frame = frameOf(view), radius = radiusOf(view, ...stage.room);
    this.painter?.draw(view, stage, theme, this.filters.colourBy !== "topic", this.pace.detail);
    this.pace.drawn();
    const context = this.names.getContext("2d");
    context.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
    context.clearRect(0, 0, stage.width, stage.height);
    const shape = { view, frame, radius, stage, theme };
    this.marks.drawBelow(shape, this);
    const { topic } = this.filters;
    this.labels.place(view, frame, radius, stage, [...this.covered, ...this.marks.boxes(shape, this)], topic === null ? null : ({ kind, row }) => kind === "topic" && row === topic);
    this.labels.draw(theme);
    this.marks.drawAbove(shape, this);
  }

  #refilter() {
    this.filters.update();
    this.repaint();
    this.settings.legend();
    this.#relink();
    // What is open shows documents that pass the filter.
    clearTimeout(this.reopening);
    this.reopening = setTimeout(() => { if (this.open) this.#openFrom(this.open); }, 300);
  }

  repaint() {
    const dark = document.documentElement.dataset.theme === "dark";
    const { tints, growths } = this.filters.paint(dark);
    this.painter?.setPoints(tints, growths);
    this.redraw();
  }

  // --- moving -----------------------------------------------------------------------------------------------------

  turn(lon, lat) {
    this.view.lon += lon / Math.max(0.25, Math.cos(this.view.lat));
    this.view.lat += lat;
    this.#moved();
  }

  drag(dx, dy) {
    this.canvas.classList.add("turning");
    const radius = radiusOf(this.view, ...this.stage.room);
    this.turn(-dx / radius, dy / radius);
  }

  // Zooms; the place under the pixel `at` stays there.
  zoomBy(factor, at = null) {
    const { view } = this;
    const place = at ? this.#placeAt(at) : null;
    view.zoom *= factor;
    clampView(view);
    if (place && factor > 1) {
      const there = this.#placeAt(at);
      if (there) {
        const [lon, lat] = lonLat(place), [lon2, lat2] = lonLat(there);
        view.lon += Math.atan2(Math.sin(lon - lon2), Math.cos(lon - lon2));
        view.lat += lat - lat2;
      }
    }
    this.#moved();
  }

  #placeAt([x, y]) {
    const radius = radiusOf(this.view, ...this.stage.room);
    return unproject(frameOf(this.view), this.view.flat, (x - this.stage.centre[0]) / radius, (this.stage.centre[1] - y) / radius);
  }

  #moved() {
    clampView(this.view);
    this.pace.moved();
    this.redraw();
    this.#relink();
  }

  flyTo(place, zoom = this.view.zoom) {
    const [lon, lat] = lonLat(place);
    this.#fly({ lon, lat, zoom, flat: this.view.flat });
  }

  #fly(to) {
    this.stopFlight();
    clampView(to);
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      Object.assign(this.view, to);
      this.#moved();
      return;
    }
    const from = { ...this.view };
    const begun = performance.now();
    const step = (now) => {
      const t = Math.max(0, Math.min(1, (now - begun) / FLIGHT));
      Object.assign(this.view, t === 1 ? to : between(from, to, t * t * (3 - 2 * t)));
      this.pace.moved();
      this.draw();
      this.flight = t < 1 ? requestAnimationFrame(step) : null;
      if (t === 1) this.#relink();
    };
    this.flight = requestAnimationFrame(step);
  }

  stopFlight() {
    if (this.flight !== null) cancelAnimationFrame(this.flight);
    this.flight = null;
  }

  home() {
    this.#fly({ ...this.start(), flat: this.view.flat });
  }

  toggleFlat() {
    this.view.flat = !this.view.flat;
    this.view.zoom = Math.max(1, this.view.zoom);
    byId("globe").setAttribute("aria-pressed", String(!this.view.flat));
    this.#moved();
  }

  // --- pointing ---------------------------------------------------------------------------------------------------

  #documentAt([x, y], reach) {
    const { world, filters, view, stage } = this;
    return documentAt(world, filters.mask, view, frameOf(view), radiusOf(view, ...stage.room), stage, x, y, reach);
  }

  hover(at) {
    const tip = byId("tip");
    if (!at || this.drawing) { tip.hidden = true; this.marks.hovered = -1; this.redraw(); return; }
    this.hoverAt = at;
    if (this.hovering) return;
    this.hovering = true;
    requestAnimationFrame(() => { this.hovering = false; if (this.hoverAt) this.#showTip(this.hoverAt); });
  }

  #showTip([x, y]) {
    const { world, stage } = this;
    const tip = byId("tip");
    const label = this.labels.at(x, y);
    const row = label ? -1 : this.#documentAt([x, y], 9);
    this.canvas.classList.toggle("pointing", Boolean(label) || row >= 0);
    this.marks.hovered = row;
    tip.hidden = row < 0;
    if (row >= 0) {
      const snippet = world.snippet(row);
      tip.replaceChildren(
        quoted(world.title(row), "b"),
        element("small", {}, `${world.id(row) === world.title(row) ? "" : `${world.id(row)} · `}${world.topicName(world.docTopics[row])}`),
        snippet && snippet !== world.title(row) ? quoted(snippet.length > 180 ? `${snippet.slice(0, 179)}…` : snippet) : "",
      );
      const right = x + 16 + tip.offsetWidth > stage.width;
      tip.style.left = `${right ? Math.max(4, x - 14 - tip.offsetWidth) : x + 14}px`;
      tip.style.top = `${Math.max(4, Math.min(y + 14, stage.height - tip.offsetHeight - 8))}px`;
    }
    this.redraw();
  }

  click([x, y], touch) {
    const label = this.labels.at(x, y);
    if (label) {
      ({ broad: () => this.openBroadTopic(label.row), topic: () => this.openTopic(label.row), word: () => this.openWord(label.row) })[label.kind]();
      return;
    }
    const row = this.#documentAt([x, y], touch ? 22 : 9);
    if (row >= 0) { this.openDocument(row); return; }
    const place = this.#placeAt([x, y]);
    if (place) this.flyTo(place, this.view.zoom * 1.6);
  }

  lassoStart(at) { this.marks.line = [at]; }

  lassoMove(at) {
    this.marks.line?.push(at);
    this.redraw();
  }

  lassoEnd() {
    const line = this.marks.line ?? [];
    this.marks.line = null;
    this.toggleLasso();
    if (line.length > 2) this.#select((x, y) => insideLine(line, x, y));
    this.redraw();
  }

  // Everything that lies in the window and not behind the globe's edge.
  selectView() {
    const { width, height } = this.stage;
    this.#select((x, y) => x >= 0 && y >= 0 && x <= width && y <= height);
  }

  #select(test) {
    const { world, filters, view, stage } = this;
    this.selected = documentsWhere(world, filters.mask, view, frameOf(view), radiusOf(view, ...stage.room), stage, test);
    this.#opened({ selected: this.selected });
    this.panel.selection(this.selected);
    this.resize();
  }

  toggleLasso() {
    this.drawing = !this.drawing;
    byId("lasso").setAttribute("aria-pressed", String(this.drawing));
    this.canvas.classList.toggle("drawing", this.drawing);
    if (this.drawing) byId("news").textContent = "Draw around documents on the map.";
  }

  // --- opening ----------------------------------------------------------------------------------------------------

  #opened({ open = null, marked = -1, near = [], pin = null, selected = [] }) {
    Object.assign(this.marks, { marked, near, pin });
    this.selected = selected;
    this.open = open;
    this.#relink();
  }

  #closed() {
    this.#opened({});
    this.resize();
  }

  openDocument(row, fly = true) {
    const { world } = this;
    const near = this.#near(world.docVector(row), row);
    this.#opened({ open: { kind: "doc", value: world.ids ? world.ids[row] : String(row) }, marked: row, near });
    this.panel.document(row);
    this.resize();
    if (fly) this.flyTo(world.docPlace(row), Math.max(this.view.zoom, closeUp(world.count)));
  }

  openTopic(row, fly = true) {
    const { world } = this;
    this.#opened({ open: { kind: "topic", value: String(row) } });
    this.panel.topic(row);
    this.resize();
    if (fly) this.flyTo(world.topicPlaces.subarray(3 * row, 3 * row + 3), Math.max(this.view.zoom, Math.min(2, closeUp(world.count))));
  }

  openBroadTopic(row, fly = true) {
    const { place } = this.world.parents[row];
    this.#opened({ open: { kind: "broad", value: String(row) } });
    this.panel.broadTopic(row);
    this.resize();
    if (fly) this.flyTo(place, Math.max(this.view.zoom, 1.5));
  }

  openWord(row, fly = true) {
    const { world } = this;
    const place = world.placeOfWord.has(row) ? world.wordPlaces.slice(3 * world.placeOfWord.get(row), 3 * world.placeOfWord.get(row) + 3)
      : world.placeOfVector(world.wordVector(row));
    const near = this.#near(world.wordVector(row));
    this.#opened({ open: { kind: "word", value: world.words[row] }, pin: place && { place, text: world.words[row] }, near });
    this.panel.word(row);
    this.resize();
    if (fly && place) this.flyTo(place, Math.max(this.view.zoom, Math.min(3, closeUp(world.count))));
  }

  openCentre() {
    const { centre, room } = this.stage;
    const row = this.#documentAt(centre, Math.max(...room));
    if (row >= 0) this.openDocument(row);
  }

  // Places a typed sentence; returns its vector, or null where no word is known.
  place(text, fly = true) {
    const { world } = this;
    const { known, unknown } = readText(text, world.facts.tokenizer, world.wordIds);
    const vector = world.searchable ? fitText(known, world.wordVectors, world, world.facts.fit) : null;
    const place = vector && world.placeOfVector(vector);
    const near = vector ? this.#near(vector) : [];
    this.#opened({ open: { kind: "q", value: text }, pin: place && { place, text }, near });
    this.panel.sentence(text, { vector, unknown, note: this.#splitNote(text) });
    this.resize();
    if (place && fly) this.flyTo(place, Math.max(this.view.zoom, Math.min(2.2, closeUp(world.count))));
    return vector;
  }

  // The shown documents nearest to a vector.
  #near(vector, itself = -1) {
    const found = this.world.nearestDocs(vector, 10, (row) => row !== itself && this.filters.shows(row));
    return found.map(({ row }) => row);
  }

  // Where the page may split a text otherwise than the model.
  #splitNote(text) {
    const { tokenizer } = this.world.facts;
    if (!tokenizer.exact) {
      return "The model was trained with a tokenizer of its own that a page cannot run; the text was split at spaces and signs.";
    }
    return needsDictionary(text, tokenizer)
      ? "The words of this script were found with the browser's dictionary, which may differ from the model's." : "";
  }

  // The words of a text by some tokenizer, by default the model's.
  words(text, description = this.world.facts.tokenizer) {
    return tokenize(text, description, this.world.wordIds);
  }

  focusSearch() { byId("query").focus(); }

  openList() {
    this.before = document.activeElement; // where the focus goes back to
    this.list.show();
    byId("list-button").setAttribute("aria-expanded", "true");
  }

  closeList() {
    this.list.hide();
    byId("list-button").setAttribute("aria-expanded", "false");
    (this.before?.matches("#map, button") ? this.before : byId("list-button")).focus();
  }

  escape() {
    if (this.list.open) this.closeList();
    else if (this.drawing) { this.marks.line = null; this.toggleLasso(); this.redraw(); }
    else if (this.panel.open) { this.panel.close(); this.canvas.focus(); }
  }

  // --- the link ---------------------------------------------------------------------------------------------------

  #relink() {
    clearTimeout(this.linking);
    this.linking = setTimeout(() => {
      const link = `#${writeLink(this)}`;
      try { history.replaceState(null, "", link); } catch { /* a page inside a notebook has no address */ }
    }, 250);
  }

  followLink(hash) {
    const found = readLink(hash, this.world);
    if (found.theme) this.setTheme(found.theme);
    Object.assign(this.filters, found.filters);
    this.settings.refresh();
    this.#refilter();
    if (found.open) this.#openFrom(found.open);
    else if (this.panel.open) this.panel.close();
    if (found.view) Object.assign(this.view, found.view);
    if (found.flat !== undefined && found.flat !== this.view.flat) this.toggleFlat();
    this.#moved();
  }

  #openFrom({ kind, value }) {
    const { world } = this;
    if (kind === "q") { byId("query").value = value; this.place(value, false); }
    if (kind === "topic" && world.topics[Number(value)]) this.openTopic(Number(value), false);
    if (kind === "broad" && world.parents[Number(value)]) this.openBroadTopic(Number(value), false);
    if (kind === "word" && world.wordIds.has(value)) this.openWord(world.wordIds.get(value), false);
    if (kind === "doc") {
      const row = world.ids ? world.ids.indexOf(value) : Number(value);
      if (row >= 0 && row < world.count) this.openDocument(row, false);
    }
  }

  setTheme(theme) {
    this.theme = theme;
    const dark = theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    byId("theme").textContent = dark ? "Light" : "Dark";
    this.settings.drawBars();
    this.repaint();
  }
}
