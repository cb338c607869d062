// The list of topics beside the map, broad ones with the finer ones below them; a click flies there.

import { byId, counted, element, quoted, whole } from "./elements.js";
import { css } from "./palette.js";

const WIDE = 900; // pixels from which the list is open at first

export class TopicList {
  // actions: {openTopic, openBroadTopic, resize}
  constructor(world, actions) {
    Object.assign(this, { world, actions });
    this.root = byId("topics");
    this.button = byId("topics-button");
    this.button.hidden = !world.topics.length;
    const rows = world.parents.length ? world.parents.map((_, row) => this.#broad(row)) : world.topics.map((_, row) => this.#topic(row));
    const outside = world.docTopics.reduce((sum, topic) => sum + (topic < 0), 0);
    this.root.replaceChildren(element("h2", {}, "Topics"), element("ul", {}, ...rows),
      outside ? element("p", { class: "note" }, `${counted(outside)} without a topic`) : "");
  }

  #entry(name, size, attributes, dot) {
    return element("button", { class: "plain", type: "button", ...attributes }, dot,
      quoted(name, "span", { class: "what" }), element("span", { class: "score" }, whole(size)));
  }

  #topic(row) {
    const { world } = this;
    const dot = element("span", { class: "dot", colour: css(world.topicColour(row)) });
    const attributes = { "data-topic": row, onclick: () => this.actions.openTopic(row) };
    return element("li", {}, this.#entry(world.topicName(row), world.topics[row].size, attributes, dot));
  }

  #broad(row) {
    const { world } = this;
    const { name, size, topics } = world.parents[row];
    if (topics.length === 1) return this.#topic(topics[0]);
    const attributes = { class: "plain broad", "data-broad": row, onclick: () => this.actions.openBroadTopic(row) };
    return element("li", {}, this.#entry(name, size, attributes, null), element("ul", {}, ...topics.map((topic) => this.#topic(topic))));
  }

  get open() {
    return !this.root.hidden;
  }

  // Details are shown in the same place and cover it (page.css).
  show(shown) {
    this.root.hidden = !shown || !this.world.topics.length;
    this.button.setAttribute("aria-expanded", String(this.open));
    this.actions.resize();
  }

  toggle() {
    this.show(!this.open);
    if (this.open) this.root.focus();
  }

  openIfWide() {
    if (window.innerWidth > WIDE) this.show(true);
  }
}
