// The panel of details: a placed sentence, a document, a word, a topic, or a selection.

import { byId, counted, download, element, quoted, whole } from "./elements.js";
import { exactValue, shownValue } from "./filters.js";
import { css } from "./palette.js";
import { plain } from "./world.js";

const NEAR = 10;

// A cell of a CSV file; what a spreadsheet would run as a formula is made text, as `guarded` of csv_file.py does.
export function csvCell(value) {
  const text = String(value ?? "");
  const safe = text.replace(/(?:^|[,;|\t\r\n])[,;|"\s\x00-\x20\x7f\u200b\ufeff]*/g, (run, at) => {
    const rest = text.slice(at + run.length, at + run.length + 40);
    return /^[=+\-@＝＋－＠]/.test(rest) && !/^[+-]\d+(\.\d+)?(?![^,;|])/.test(rest) ? `${run}'` : run;
  });
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export class Panel {
  // actions: {openDocument, openWord, openTopic, onClose, …}
  constructor(world, filters, actions) {
    Object.assign(this, { world, filters, actions });
    this.root = byId("panel");
    this.body = byId("panel-body");
    byId("panel-close").onclick = () => this.close();
  }

  get open() {
    return !this.root.hidden;
  }

  close() {
    this.root.hidden = true;
    this.actions.onClose();
  }

  #show(news, ...children) {
    this.body.replaceChildren(...children.filter((child) => child));
    this.root.hidden = false;
    this.root.scrollTop = 0;
    byId("news").textContent = news;
  }

  #rows(heading, rows, make) {
    if (!rows.length) return null;
    return element("section", {}, element("h3", {}, heading), element("ol", {}, ...rows.map((entry) => element("li", {}, make(entry)))));
  }

  // The shown documents nearest to a vector.
  #near(vector, allowed = () => true) {
    return this.world.nearestDocs(vector, NEAR, (row) => this.filters.shows(row) && allowed(row));
  }

  #documents(heading, found) {
    const { world } = this;
    return this.#rows(heading, found, ({ row, cosine }) => element(
      "button", { class: "plain", type: "button", "data-doc": row, onclick: () => this.actions.openDocument(row) },
      element("span", { class: "dot", colour: css(world.topicColour(world.docTopics[row])) }),
      element("span", { class: "what" }, quoted(world.title(row)), this.#beginning(row)),
      cosine === undefined ? null : element("span", { class: "score" }, cosine.toFixed(2)),
    ));
  }

  // One line of the text, where it says more than the title.
  #beginning(row) {
    const snippet = this.world.snippet(row), title = this.world.title(row), cut = title.replace(/\s*…$/, "");
    const same = snippet === title || (cut !== title && snippet.startsWith(cut));
    return snippet && !same ? quoted(snippet.slice(0, 90), "small") : null;
  }

  #topics(heading, found) {
    const { world } = this;
    return this.#rows(heading, found, ({ row, cosine }) => element(
      "button", { class: "plain", type: "button", "data-topic": row, onclick: () => this.actions.openTopic(row) },
      element("span", { class: "dot", colour: css(world.topicColour(row)) }),
      quoted(world.topicName(row), "span", { class: "what" }),
      cosine === undefined ? null : element("span", { class: "score" }, cosine.toFixed(2)),
    ));
  }

  #words(heading, found) {
    if (!found.length) return null;
    const buttons = found.map(({ row, name }) => quoted(plain(name ?? this.world.words[row]), "button", {
      type: "button", "data-word": row, onclick: row === undefined ? null : () => this.actions.openWord(row),
    }));
    return element("section", {}, element("h3", {}, heading), element("div", { class: "words" }, ...buttons));
  }

  // note: where the page may have split the text otherwise than the model.
  sentence(text, { vector, unknown, note }) {
    const { world } = this;
    const all = world.words.length === world.facts.vocabulary;
    if (!vector) {
      const said = `No word of this text is ${all ? "known to the model" : "in this page"}.`;
      this.#show(said, quoted(plain(text), "h2"), element("p", { class: "note" }, `${said} Try other words.`));
      return;
    }
    const notes = [];
    if (unknown.length) {
      const some = [...new Set(unknown)].slice(0, 6).map(plain).join(", ");
      notes.push(quoted(`Not ${all ? "known to the model" : "in this page"}: ${some}${unknown.length > 6 ? " …" : ""}`, "p", { class: "note" }));
    }
    if (note) notes.push(element("p", { class: "note" }, note));
    const docs = this.#near(vector);
    this.#show(
      docs.length ? `Placed. Nearest document: ${world.title(docs[0].row)}` : "Placed.",
      quoted(plain(text), "h2"), ...notes,
      this.#topics("Nearest topics", world.nearestTopics(vector, 3)),
      this.#documents("Nearest documents", docs),
      this.#words("Nearest words", world.nearestWords(vector, 14)),
    );
  }

  document(row) {
    const { world } = this;
    const vector = world.docVector(row);
    const kept = world.fields.map((field) => [plain(field.name), plain(shownValue(field, field.values[row]))])
      .filter(([, value]) => value !== "");
    const list = kept.length ? element("dl", {}, ...kept.flatMap(([name, value]) => [element("dt", {}, name), quoted(value, "dd")])) : null;
    const topics = world.nearestTopics(vector, 3);
    const own = world.docTopics[row];
    if (own >= 0) topics.sort((a, b) => (b.row === own) - (a.row === own));
    this.#show(
      `Document ${world.title(row)}`,
      quoted(world.title(row), "h2"),
      world.title(row) === world.id(row) ? null : quoted(world.id(row), "p", { class: "id" }),
      world.snippet(row) ? quoted(world.snippet(row), "p", { class: "snippet" }) : null,
      list,
      this.#topics("Topics", topics),
      this.#documents("Nearest documents", this.#near(vector, (other) => other !== row)),
      this.#words("Its words", world.nearestWords(vector, 14)),
    );
  }

  word(row) {
    const { world } = this;
    const name = plain(world.words[row]);
    const vector = world.wordVector(row);
    const count = world.wordCounts?.[row];
    this.#show(
      `Word ${name}`, quoted(name, "h2"),
      count ? element("p", { class: "note" }, `occurs ${whole(count)} times`) : null,
      this.#topics("Nearest topics", world.nearestTopics(vector, 3)),
      this.#words("Nearest words", world.nearestWords(vector, 15).filter((found) => found.row !== row)),
      this.#documents("Nearest documents", this.#near(vector)),
    );
  }

  topic(row) {
    const { world } = this;
    const topic = world.topics[row];
    const words = topic.words.map((name) => ({ name, row: world.wordIds.get(name) }));
    const docs = this.#near(world.topicVector(row), (doc) => world.docTopics[doc] === row);
    this.#show(
      `Topic ${world.topicName(row)}`, quoted(world.topicName(row), "h2"),
      element("p", { class: "note" }, `${counted(topic.size)}, ${((100 * topic.size) / Math.max(1, world.count)).toFixed(1)} %`),
      this.#words("Its words", words),
      this.#documents("Most typical documents", docs),
    );
  }

  broadTopic(row) {
    const { world } = this;
    const { name, size, words, topics } = world.parents[row];
    this.#show(
      `Broad topic ${name}`, quoted(name, "h2"),
      element("p", { class: "note" }, `${counted(size)}, ${((100 * size) / Math.max(1, world.count)).toFixed(1)} %`),
      this.#words("Its words", words.map((word) => ({ name: word, row: world.wordIds.get(word) }))),
      this.#topics("Its topics", topics.map((topic) => ({ row: topic }))),
    );
  }

  selection(rows) {
    const { world } = this;
    if (!rows.length) {
      this.#show("No document selected.", element("h2", {}, "Nothing selected"),
        element("p", { class: "note" }, "No document lies inside. Draw around some points, or zoom in first."));
      return;
    }
    const times = new Map();
    for (const row of rows) times.set(world.docTopics[row], (times.get(world.docTopics[row]) ?? 0) + 1);
    const topics = [...times].filter(([topic]) => topic >= 0).sort((a, b) => b[1] - a[1]).slice(0, 5);
    const save = element("button", { type: "button", id: "save-csv", onclick: () => download("selection.csv", this.csv(rows), "text/csv") },
      "Save as CSV");
    this.#show(
      `${counted(rows.length)} selected`,
      element("h2", {}, `${counted(rows.length)} selected`),
      element("div", { class: "actions" }, save),
      this.#words("Words that set them apart", world.distinctiveWords(rows, 16)),
      this.#topics("Topics", topics.map(([row]) => ({ row }))),
      this.#documents(rows.length > 60 ? "The first 60 documents" : "Documents", rows.slice(0, 60).map((row) => ({ row }))),
    );
  }

  csv(rows) {
    const { world } = this;
    const head = ["id", "title", "topic", ...world.fields.map((field) => field.name)];
    const lines = rows.map((row) => [
      world.ids ? world.ids[row] : row, world.titles?.[row] ?? "", world.topicName(world.docTopics[row]),
      ...world.fields.map((field) => exactValue(field, field.values[row])),
    ]);
    return [head, ...lines].map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n";
  }
}
