// The box for colour, size and filters, the legend, and the slider over time.

import { byId, counted, element, quoted, whole } from "./elements.js";
import { shownValue } from "./filters.js";
import { css, scaleColour } from "./palette.js";
import { plain } from "./world.js";

const STEPS = 400; // of the time slider

function options(select, entries, chosen) {
  for (const [value, label] of entries) {
    select.append(element("option", { value, selected: String(value) === String(chosen) }, label));
  }
  return select;
}

function labelled(text, control) {
  return element("label", { class: "field" }, element("span", {}, text), control);
}

export class Settings {
  constructor(world, filters, changed) {
    Object.assign(this, { world, filters, changed });
    this.root = byId("settings");
    this.dateField = world.fields.findIndex((field, i) => field.kind === "date" && filters.ranges[i] && filters.ranges[i][0] < filters.ranges[i][1]);
    this.build();
    if (this.dateField >= 0) this.#buildTime();
  }

  build() {
    const { world, filters } = this;
    const named = world.fields.map((field, i) => [i, plain(field.name), field.kind]);
    const coloured = named.filter(([, , kind]) => kind !== "text");
    const sized = named.filter(([i]) => filters.ranges[i]);
    const colour = options(element("select", { id: "colour-by" }), [["topic", "Topic"], ...coloured], filters.colourBy);
    colour.onchange = () => {
      filters.colourBy = colour.value === "topic" ? "topic" : Number(colour.value);
      this.changed();
    };
    this.root.replaceChildren(labelled("Colour by", colour));
    if (sized.length) {
      const size = options(element("select", { id: "size-by" }), [["", "Same for all"], ...sized], filters.sizeBy ?? "");
      size.onchange = () => { filters.sizeBy = size.value === "" ? null : Number(size.value); this.changed(); };
      this.root.append(labelled("Size by", size));
    }
    if (world.topics.length > 1) {
      const topic = options(element("select", { id: "filter-topic" }),
        [["", "All topics"], ...world.topics.map((_, i) => [i, world.topicName(i)])], filters.topic ?? "");
      topic.onchange = () => { filters.topic = topic.value === "" ? null : Number(topic.value); this.changed(); };
      this.root.append(labelled("Topic", topic));
    }
    world.fields.forEach((field, i) => this.#filterOf(field, i));
    const text = element("input", { id: "filter-text", type: "text", value: filters.title, autocomplete: "off" });
    text.oninput = () => { filters.title = text.value.trim(); this.changed(); };
    if (world.titles || world.ids) this.root.append(labelled("Title or text contains", text));
    this.count = element("p", { class: "note", id: "shown" });
    const clear = element("button", { type: "button", id: "clear", onclick: () => this.clear() }, "Show all");
    this.root.append(this.count, clear);
    this.say();
  }

  #filterOf(field, i) {
    const { filters } = this;
    const rule = filters.chosen.get(i);
    if (field.kind === "category") {
      const { order, times, none } = filters.categoryColours(field);
      const select = options(element("select", { "data-field": i }), [
        ["", "All"], ...order.map((value) => [value, `${plain(field.labels[value])} (${whole(times[value])})`]),
        ...(none ? [[-1, `none (${whole(none)})`]] : []),
      ], rule ? rule.value : "");
      select.onchange = () => {
        if (select.value === "") filters.chosen.delete(i);
        else filters.chosen.set(i, { value: Number(select.value) });
        this.changed();
      };
      this.root.append(labelled(plain(field.name), select));
    } else if (field.kind === "text") {
      const text = element("input", { type: "text", "data-field": i, value: rule?.text ?? "", autocomplete: "off" });
      text.oninput = () => {
        if (text.value.trim() === "") filters.chosen.delete(i);
        else filters.chosen.set(i, { text: text.value.trim() });
        this.changed();
      };
      this.root.append(labelled(`${plain(field.name)} contains`, text));
    } else if (filters.ranges[i] && i !== this.dateField) this.#rangeOf(field, i, rule);
  }

  // From and to, of a number or of a date that has no slider.
  #rangeOf(field, i, rule) {
    const { filters } = this;
    const [low, high] = filters.ranges[i];
    const dated = field.kind === "date";
    const inputs = [["low", "from", low], ["high", "to", high]].map(([end, said, bound]) => element("input", {
      type: dated ? "date" : "number", step: dated ? null : "any", "data-field": i, "data-end": end,
      "aria-label": `${plain(field.name)}, ${said}`, placeholder: shownValue(field, bound),
      value: !rule || rule[end] === bound ? "" : dated ? shownValue(field, rule[end]) : rule[end],
    }));
    const read = (text) => dated ? Date.parse(`${text}T00:00:00Z`) / 1000 : Number(text);
    const change = () => {
      const [from, to] = inputs.map((input) => input.value.trim());
      // A day lasts until its end.
      if (from === "" && to === "") filters.chosen.delete(i);
      else filters.chosen.set(i, { low: from === "" ? low : read(from), high: to === "" ? high : read(to) + (dated ? 86399 : 0) });
      this.changed();
    };
    for (const input of inputs) input.onchange = change;
    this.root.append(element("fieldset", { class: "field" }, element("legend", {}, plain(field.name)), ...inputs));
  }

  clear() {
    const { filters } = this;
    filters.chosen.clear();
    filters.topic = null;
    filters.title = "";
    this.build();
    this.#showTime();
    this.changed();
  }

  say() {
    const { filters, world } = this;
    const all = world.count ? counted(world.count) : `${whole(world.placeNames.length)} words`;
    const what = filters.active ? `${whole(filters.shown)} of ${all} shown` : all;
    this.count.textContent = filters.shown === 0 && world.count ? `No document matches. ${what}.` : what;
    return this.count.textContent;
  }

  legend() {
    const root = byId("legend");
    const { legend, range, field } = this.filters.colouring();
    const rows = [];
    if (field) rows.push(element("span", {}, plain(field.name)));
    if (legend) {
      rows.push(element("span", { class: "keys" }, ...legend.map(({ label, colour }) =>
        element("span", { class: "key" }, quoted(plain(label)), element("span", { class: "dot", colour: css(colour) })))));
    } else if (range) {
      const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css(scaleColour(share))).join(", ");
      rows.push(
        element("span", { class: "bar", colour: `linear-gradient(to right, ${stops})` }),
        element("span", { class: "ends" }, ...range.map((value) => element("span", {}, shownValue(field, value)))),
      );
    }
    root.replaceChildren(...rows, element("span", {}, this.say()));
  }

  #buildTime() {
    const field = this.world.fields[this.dateField];
    const root = byId("time");
    document.body.classList.add("timed");
    const slider = (end, value) => element("input", {
      type: "range", min: 0, max: STEPS, value, id: `time-${end}`, "aria-label": `${plain(field.name)}, ${end}`,
    });
    this.from = slider("from", 0);
    this.to = slider("to", STEPS);
    this.span = element("output", { for: "time-from time-to" });
    this.bars = element("canvas", { "aria-hidden": "true" });
    const all = element("button", { type: "button" }, "All");
    all.onclick = () => { this.filters.chosen.delete(this.dateField); this.#showTime(); this.changed(); };
    root.replaceChildren(
      element("div", { class: "row" }, quoted(plain(field.name)), this.span, all),
      element("div", { class: "track" }, this.bars, this.from, this.to),
    );
    root.hidden = false;
    this.from.oninput = this.to.oninput = (event) => this.#moved(event.target);
    this.#showTime();
  }

  #moved(target) {
    const [low, high] = this.filters.ranges[this.dateField];
    let [from, to] = [Number(this.from.value), Number(this.to.value)];
    if (from > to) [from, to] = target === this.from ? [to, to] : [from, from];
    this.from.value = from;
    this.to.value = to;
    const at = (step) => low + ((high - low) * step) / STEPS;
    if (from === 0 && to === STEPS) this.filters.chosen.delete(this.dateField);
    else this.filters.chosen.set(this.dateField, { low: at(from), high: at(to) });
    this.#showTime();
    this.changed();
  }

  // Puts the slider where the filter is.
  #showTime() {
    if (this.dateField < 0) return;
    const field = this.world.fields[this.dateField];
    const [low, high] = this.filters.ranges[this.dateField];
    const rule = this.filters.chosen.get(this.dateField) ?? { low, high };
    const step = (value) => Math.round(((value - low) / (high - low || 1)) * STEPS);
    this.from.value = step(rule.low);
    this.to.value = high > low ? step(rule.high) : STEPS;
    for (const [input, value] of [[this.from, rule.low], [this.to, rule.high]]) {
      input.setAttribute("aria-valuetext", shownValue(field, value));
    }
    this.span.textContent = `${shownValue(field, rule.low)} to ${shownValue(field, rule.high)}`;
    this.drawBars();
  }

  refresh() {
    this.build();
    this.#showTime();
  }

  drawBars() {
    if (this.dateField < 0) return;
    const { values } = this.world.fields[this.dateField];
    const [low, high] = this.filters.ranges[this.dateField];
    const bins = new Array(80).fill(0);
    for (const value of values) {
      if (Number.isFinite(value)) bins[Math.min(79, Math.floor(((value - low) / (high - low || 1)) * 80))]++;
    }
    const most = Math.max(...bins);
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.bars.clientWidth * ratio, this.bars.clientHeight * ratio];
    this.bars.width = width;
    this.bars.height = height;
    const context = this.bars.getContext("2d");
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--soft");
    const [from, to] = [Number(this.from.value) / STEPS, Number(this.to.value) / STEPS];
    bins.forEach((count, i) => {
      const tall = (count / most) * (height - 2);
      context.globalAlpha = (i + 1) / 80 >= from && i / 80 <= to ? 0.8 : 0.25;
      context.fillRect((i * width) / 80, height - tall, width / 80 - ratio, tall);
    });
  }
}
