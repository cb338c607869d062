// The model's tokenizers: the same words as training sees.

import { scan } from "./scanner.js";

const WORD_CHARACTER = /[\p{L}\p{N}\p{M}_]/u;
const APOSTROPHES = "'’";

// The tokenizer of release 0.1: a run of letters, digits, `_` and combining marks, each lower-cased by itself; an
// apostrophe between two of these belongs to the word.
function splitWords(text) {
  const characters = [...text];
  const words = [];
  let word = "";
  characters.forEach((character, i) => {
    const next = characters[i + 1];
    if (WORD_CHARACTER.test(character)) {
      word += character.toLowerCase();
    } else if (word && APOSTROPHES.includes(character) && next !== undefined && WORD_CHARACTER.test(next)) {
      word += "'";
    } else if (word) {
      words.push(word);
      word = "";
    }
  });
  if (word) words.push(word);
  return words;
}

// The tokens of a text: [{word, broken}], broken where punctuation stands before the word.
function tokensOf(text, { name, options, ranges }) {
  if (options) return scan(text, options, ranges);
  const words = name === "whitespace" ? text.split(/[ \t\n\r\f\v]+/).filter((word) => word) : splitWords(text);
  return words.map((word) => ({ word, broken: false }));
}

// The words of a text. Behind the words of each phrase that the model knows stands the phrase itself, the longest from
// each place on; no phrase goes over punctuation. `ids` holds what the model knows.
export function tokenize(text, description, ids) {
  const tokens = tokensOf(text, description);
  const words = [];
  for (let i = 0; i < tokens.length; ) {
    let size = Math.max(1, Math.min(description.longest ?? 1, tokens.length - i));
    const run = () => tokens.slice(i, i + size).map(({ word }) => word);
    while (size > 1 && (tokens.slice(i + 1, i + size).some(({ broken }) => broken) || !ids.has(run().join(" ")))) size--;
    words.push(...run());
    if (size > 1) words.push(run().join(" "));
    i += size;
  }
  return words;
}

// The numbers of the known words of a text, and the words that are not known.
export function readText(text, description, ids) {
  const words = tokenize(text, description, ids);
  const known = words.filter((word) => ids.has(word)).map((word) => ids.get(word));
  return { known, unknown: words.filter((word) => !ids.has(word)) };
}
