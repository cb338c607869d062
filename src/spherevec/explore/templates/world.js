// The page's data in the shape that the rest works with.

import { inBasis, nearest, normalized, outOfBasis, table, unitRow } from "./fit.js";
import { landOf } from "./land.js";
import { colourRegions, NO_COLOUR } from "./palette.js";

// Text that can be shown in one line: control and direction-changing characters become spaces.
export function plain(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, " ").trim();
}

export class World {
  constructor(data) {
    const { facts } = data;
    this.facts = facts;
    this.dim = facts.dim;
    this.count = data.doc_places.length / 3;
    this.places = data.doc_places;
    this.ids = data.documents.ids;
    this.titles = data.documents.titles;
    this.snippets = data.documents.snippets;
    this.docTopics = data.doc_topics;
    this.fields = data.fields.map((field, i) => ({ ...field, values: field.values ?? data[`field_${i}`] }));
    this.topics = data.topics;
    this.topicPlaces = data.topic_places;
    this.parents = this.#broadTopics(data.parents);
    this.land = landOf(this.places, this.docTopics);
    this.topicColours = colourRegions(this.topicPlaces, this.land.borders);
    this.words = data.words.names;
    this.wordCounts = data.words.counts;
    this.placeNames = data.words.place_names; // rows of `words` that lie on the map, most telling first
    this.wordPlaces = data.word_places;
    this.wordIds = new Map(this.words.map((word, row) => [word, row]));
    this.wordVectors = table(data.word_vectors, this.dim);
    this.negatives = table(data.negatives, this.dim);
    this.weights = data.weights;
    this.moments = data.moments;
    this.basis = data.basis?.length ? data.basis : null;
    this.docVectors = table(data.doc_vectors, this.basis ? this.basis.length / this.dim : this.dim);
    this.topicVectors = table(data.topic_vectors, this.dim);
    this.placeOfWord = new Map(this.placeNames.map((row, place) => [row, place]));
    this.searchable = facts.fit !== null && this.words.length > 0;
  }

  title(row) {
    return plain(this.titles?.[row] ?? "") || this.id(row);
  }

  id(row) {
    return plain(this.ids ? this.ids[row] : `document ${row + 1}`);
  }

  snippet(row) {
    return plain(this.snippets?.[row] ?? "");
  }

  topicName(topic) {
    return topic < 0 || !this.topics[topic] ? "no topic" : plain(this.topics[topic].name);
  }

  // Broad topics with the rows of their finer ones, and the place of the finer one nearest to their middle.
  #broadTopics(parents) {
    return parents.map((parent, row) => {
      const topics = this.topics.flatMap((topic, i) => (topic.parent === row ? [i] : []));
      const middle = [0, 0, 0];
      for (const i of topics) for (let d = 0; d < 3; d++) middle[d] += this.topics[i].size * this.topicPlaces[3 * i + d];
      const near = (i) => middle.reduce((sum, value, d) => sum + value * this.topicPlaces[3 * i + d], 0);
      const central = topics.reduce((best, i) => (near(i) > near(best) ? i : best), topics[0]);
      return { ...parent, name: plain(parent.name), topics, place: this.topicPlaces.subarray(3 * central, 3 * central + 3) };
    });
  }

  parentName(topic) {
    return this.parents[this.topics[topic].parent]?.name ?? "";
  }

  topicColour(topic) {
    return topic < 0 ? NO_COLOUR : this.topicColours[topic];
  }

  docPlace(row) {
    return this.places.subarray(3 * row, 3 * row + 3);
  }

  docVector(row) {
    return outOfBasis(unitRow(this.docVectors, row), this.basis, this.dim);
  }

  wordVector(row) {
    return unitRow(this.wordVectors, row);
  }

  topicVector(row) {
    return unitRow(this.topicVectors, row);
  }

  nearestDocs(vector, count, allowed) {
    return nearest(this.docVectors, inBasis(vector, this.basis), count, allowed);
  }

  nearestWords(vector, count) {
    return nearest(this.wordVectors, vector, count, (row) => this.words[row].length > 2);
  }

  nearestTopics(vector, count) {
    return nearest(this.topicVectors, vector, count);
  }

  // Where a vector belongs on the globe: the middle of its nearest documents, weighted towards the nearest.
  placeOfVector(vector) {
    const near = this.count ? this.nearestDocs(vector, 12) : [];
    const rows = near.length ? near : this.nearestWords(vector, 12).filter(({ row }) => this.placeOfWord.has(row));
    if (!rows.length) return null;
    const at = (row) => near.length ? this.docPlace(row) : this.wordPlaces.subarray(3 * this.placeOfWord.get(row));
    const anchor = at(rows[0].row);
    const sum = [0, 0, 0];
    for (const { row, cosine } of rows) {
      const place = at(row);
      const together = place[0] * anchor[0] + place[1] * anchor[1] + place[2] * anchor[2];
      const weight = Math.exp(12 * (cosine - rows[0].cosine)) * Math.exp(6 * (together - 1));
      for (let i = 0; i < 3; i++) sum[i] += weight * place[i];
    }
    return normalized(sum);
  }

  // The words that set some documents apart: nearest to how their mean differs from the mean of all.
  distinctiveWords(rows, count) {
    const width = this.docVectors.dim;
    const mean = (chosen) => {
      const sum = new Float64Array(width);
      for (const row of chosen) unitRow(this.docVectors, row).forEach((value, d) => { sum[d] += value / chosen.length; });
      return sum;
    };
    this.mean ??= mean(Array.from({ length: Math.min(this.count, 20000) },
      (_, i) => Math.floor((i * this.count) / Math.min(this.count, 20000))));
    const inside = mean(rows.length > 20000 ? rows.filter((_, i) => i % Math.ceil(rows.length / 20000) === 0) : rows);
    const apart = normalized(inside.map((value, d) => value - (rows.length < this.count ? this.mean[d] : 0)));
    return apart ? this.nearestWords(outOfBasis(apart, this.basis, this.dim), count) : [];
  }
}
