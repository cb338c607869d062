// The model's tokenizers: the same words as training sees.

import { withoutMarkup } from "./markup.js";
import { scan } from "./scanner.js";

const WORD_CHARACTER = /[\p{L}\p{N}\p{M}_]/u;
const APOSTROPHES = "'’";

// For a tokenizer of the user's own, which the page cannot call: a run of letters, digits, `_` and combining marks, each
// lower-cased by itself; an apostrophe between two of these belongs to the word.
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

// Ideographs that the dictionary leaves alone, function words apart, are parts of words of two, or of three at the end.
function withoutLoneIdeographs(words, functionWords) {
  const found = [];
  let alone = "";
  for (const word of [...words, ""]) {
    if (word.length === 1 && word >= "\u3400" && word <= "\u9fff" && !functionWords.includes(word)) {
      alone += word;
      continue;
    }
    for (; alone; alone = alone.slice(found.at(-1).length)) found.push(alone.slice(0, alone.length === 3 ? 3 : 2));
    found.push(word);
  }
  return found;
}

// Where a dictionary cuts a word of Katakana that it lacks: before or behind a lone letter, and before a letter that
// begins no word. Behind a lone one of these, another word may begin.
const KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff", NEVER_FIRST = "ァィゥェォッャュョヮンヵヶーヽヾ\u31f0-\u31ff", CUT = "\u200b";
const WRONG_CUT = new RegExp(`(?<=[${KATAKANA}])${CUT}(?=[${KATAKANA}]${CUT}|[${NEVER_FIRST}])|(?<=${CUT}(?![${NEVER_FIRST}])[${KATAKANA}])${CUT}(?=[${KATAKANA}])`, "g");

// Scripts without spaces: a zero-width space around each word that the browser's dictionary finds.
function segmented(text, { ranges, particles }) {
  const codes = ranges.unspaced.map(([low, high]) => `\\u{${low.toString(16)}}-\\u{${high.toString(16)}}`).join("");
  const words = new Intl.Segmenter("en", { granularity: "word" });
  return text.replace(new RegExp(`[${codes}]+`, "gu"), (run) => {
    const cut = ["", ...[...words.segment(run)].map(({ segment }) => segment), ""].join(CUT);
    return ["", ...withoutLoneIdeographs(cut.replace(WRONG_CUT, "").split(CUT).slice(1, -1), particles)].join(CUT);
  });
}

// Whether a text has words that only a dictionary finds: the browser's need not be the model's.
export function needsDictionary(text, { options, ranges }) {
  if (options?.unspaced !== "segment") return false;
  return [...text].some((character) => ranges.unspaced.some(([low, high]) => low <= character.codePointAt(0) && character.codePointAt(0) <= high));
}

// The tokens of a text: [{word, broken}], broken where punctuation stands before the word.
function tokensOf(text, description) {
  const { name, options, tags } = description;
  if (options) {
    const clean = (options.html ? withoutMarkup(text, tags) : text).normalize("NFC");
    return scan(options.unspaced === "segment" && Intl.Segmenter ? segmented(clean, description) : clean, description);
  }
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
