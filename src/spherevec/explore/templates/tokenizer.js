// The model's tokenizers: the same words as training sees.

const WORD_CHARACTER = /[\p{L}\p{N}\p{M}_]/u;
const APOSTROPHES = "'’";

// A word is a run of letters, digits, `_` and combining marks, each lower-cased by itself; an apostrophe between two
// of these belongs to the word.
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

const SPLITTERS = {
  words: splitWords,
  whitespace: (text) => text.split(/[ \t\n\r\f\v]+/).filter((word) => word),
};

// Pairs of words that the model knows as one ("new_york") are joined, longest first.
function joinPhrases(words, ids, joiner, longest) {
  const joined = [];
  for (let i = 0; i < words.length; ) {
    let size = Math.min(longest, words.length - i);
    while (size > 1 && !ids.has(words.slice(i, i + size).join(joiner))) size--;
    joined.push(words.slice(i, i + size).join(joiner));
    i += size;
  }
  return joined;
}

// The words of a text. `ids` holds the words that the model knows.
export function tokenize(text, description, ids) {
  const words = (SPLITTERS[description.name] ?? splitWords)(text);
  return description.longest > 1 ? joinPhrases(words, ids, description.joiner, description.longest) : words;
}

// The numbers of the known words of a text, and the words that are not known.
export function readText(text, description, ids) {
  const words = tokenize(text, description, ids);
  const known = words.filter((word) => ids.has(word)).map((word) => ids.get(word));
  return { known, unknown: words.filter((word) => !ids.has(word)) };
}
