// Everything on the map as tables, for screen readers and for people who prefer them.

import { byId, element, quoted, whole } from "./elements.js";
import { shownValue } from "./filters.js";
import { plain } from "./world.js";

const ROWS = 100; // at a time

export class ListView {
  // actions: as of the panel.
  constructor(world, filters, actions) {
    Object.assign(this, { world, filters, actions });
    this.root = byId("list");
  }

  get open() {
    return !this.root.hidden;
  }

  show() {
    this.root.replaceChildren(
      element("header", {}, element("h2", {}, "Everything on the map"),
        element("button", { type: "button", id: "list-close", onclick: () => this.actions.closeList() }, "Back to the map")),
      this.#topics(), this.#documents(), this.#words(),
    );
    this.root.hidden = false;
    this.root.scrollTop = 0;
    this.root.focus();
  }

  hide() {
    this.root.hidden = true;
    this.root.replaceChildren();
  }

  #open(text, action) {
    return quoted(text, "button", { type: "button", onclick: () => { this.actions.closeList(); action(); } });
  }

  // A table that shows its first rows, and more when asked.
  #table(caption, heads, count, rowOf) {
    const body = element("tbody");
    const cells = heads.map(([name, number]) => element("th", { scope: "col", class: number ? "number" : null }, name));
    const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...cells)), body);
    const said = element("span", { class: "note", role: "status" });
    const more = element("button", { type: "button" }, "Show more");
    let shown = 0;
    const add = () => {
      const until = Math.min(count, shown + ROWS);
      for (; shown < until; shown++) {
        const values = rowOf(shown);
        body.append(element("tr", {}, ...values.map((value, i) => {
          const tag = i === 0 ? "th" : "td";
          return element(tag, { scope: i === 0 ? "row" : null, class: heads[i][1] ? "number" : null, dir: "auto" }, value);
        })));
      }
      said.textContent = `${whole(shown)} of ${whole(count)} shown`;
      more.hidden = shown >= count;
    };
    more.onclick = add;
    add();
    return element("section", {}, table, element("p", { class: "more" }, more, said));
  }

  #topics() {
    const { world } = this;
    if (!world.topics.length) return element("p", { class: "note" }, "This page has no topics.");
    return this.#table(`Topics (${whole(world.topics.length)})`, [["Topic"], ...(world.parents.length ? [["Part of"]] : []), ["Words"], ["Documents", true]], world.topics.length,
      (row) => [
        this.#open(world.topicName(row), () => this.actions.openTopic(row)),
        ...(world.parents.length ? [world.parentName(row)] : []),
        world.topics[row].words.map(plain).join(", "), whole(world.topics[row].size),
      ]);
  }

  #documents() {
    const { world, filters } = this;
    if (!world.count) return element("p", { class: "note" }, "This model has no documents.");
    const rows = [];
    filters.mask.forEach((shown, row) => { if (shown) rows.push(row); });
    const heads = [["Document"], ["Id"], ["Topic"], ...world.fields.map((field) => [plain(field.name), field.kind === "number"])];
    return this.#table(`Documents (${whole(rows.length)}${filters.active ? " that match the filter" : ""})`, heads, rows.length, (i) => [
      this.#open(world.title(rows[i]), () => this.actions.openDocument(rows[i])), world.id(rows[i]),
      world.topicName(world.docTopics[rows[i]]),
      ...world.fields.map((field) => plain(shownValue(field, field.values[rows[i]]))),
    ]);
  }

  #words() {
    const { world } = this;
    return this.#table(`Words on the map (${whole(world.placeNames.length)})`, [["Word"], ["Occurrences", true]], world.placeNames.length,
      (i) => {
        const row = world.placeNames[i];
        return [this.#open(plain(world.words[row]), () => this.actions.openWord(row)), world.wordCounts ? whole(world.wordCounts[row]) : ""];
      });
  }
}
