// The tokenizer "words-0.2". Its rules come with the model: they are the patterns of `corpus/tokenize/words.py`, over a
// text written in kinds of characters.

const IGNORED = /[IT]|[JZ](?![a-z0-9_WM])/y;

// ASCII stands for itself, in lower case, and a capital for the kind of any other character. `ranges` are those of the
// model's own tables: unspaced, emoji, symbols, variation.
function kindOf(character, { options, ranges }) {
  const code = character.codePointAt(0);
  const within = (name) => ranges[name].some(([low, high]) => low <= code && code <= high);
  if (code < 0x80) return character.toLowerCase();
  if (code === 0x2019) return "Q";
  if (code === 0x2010 || code === 0x2011) return "H";
  if (code === 0x200c || code === 0x200d) return code === 0x200c ? "J" : "Z";
  if (code === 0x200b || /[\p{Zs}\p{Zl}\p{Zp}\u0085]/u.test(character)) return " ";
  if (code >= 0xe0020 && code <= 0xe007f) return "T";
  if (/\p{Cf}/u.test(character) || within("variation")) return "I";
  if (/\p{M}/u.test(character)) return "M";
  if (/[\p{L}\p{N}]/u.test(character)) return within("unspaced") && options.unspaced === "bigrams" ? "U" : "W";
  if (!options.emoji) return "O";
  if (code >= 0x1f1e6 && code <= 0x1f1ff) return "R";
  if (code >= 0x1f3fb && code <= 0x1f3ff) return "K";
  return within("emoji") || (/\p{So}/u.test(character) && within("symbols")) ? "E" : "O";
}

// One character for each: İ becomes i.
function lower(characters, { lowercase }) {
  return characters.map((one) => (lowercase ? [...one.toLowerCase()][0] : one)).join("");
}

// The letters of a word, without what is ignored inside it.
function written(characters, kinds, begin, end, options) {
  const kept = [];
  for (let i = begin; i < end; i++) {
    IGNORED.lastIndex = i;
    if (!IGNORED.test(kinds)) kept.push({ Q: "'", H: "-" }[kinds[i]] ?? characters[i]);
  }
  const word = lower(kept, options);
  return options.lowercase && kept.length > 1 && kept.at(-1) === "Σ" ? `${word.slice(0, -1)}ς` : word;
}

// What stands for an e-mail address or a URL, and where that ends.
function address(characters, kinds, { index, groups }, options) {
  let how = options.emails, end = index + (groups.email ?? groups.url).length, host, hostEnd;
  if (groups.email !== undefined) {
    [host, hostEnd] = [end - groups.mail_host.length, end];
  } else {
    how = options.urls;
    host = index + groups.url.match(/^(?:www\.|[a-z]+:\/\/)/)[0].length;
    const trimmed = /[([]/.test(groups.url) ? /[.,;:!?'/*_~-]+$/ : /[.,;:!?'/*_~)\]-]+$/; // the sentence's punctuation
    end = index + groups.url.replace(trimmed, "").length;
    hostEnd = host + groups.host.slice(0, end - host).replace(/[.-]+$/, "").length;
    if (groups.host.startsWith("www.") && hostEnd > host + 4) host += 4;
  }
  if (how === "drop") return [[], end];
  return [[lower(how === "keep" ? characters.slice(index, end) : characters.slice(host, hostEnd), options)], end];
}

// The tokens of a text: [{word, broken}], broken where punctuation stands before the word.
export function scan(text, description) {
  const { options } = description;
  const characters = [...text];
  const kinds = characters.map((character) => kindOf(character, description)).join("");
  const rules = new RegExp(description.rules, "sy");
  const elision = description.elision && new RegExp(`^${description.elision}`, "iu"); // the l' of l'erreur
  const tokens = [];
  let wordEnd = -1, broken = true;
  for (let i = 0, end; i < kinds.length; i = end) {
    rules.lastIndex = i;
    const match = rules.exec(kinds);
    let name = Object.keys(match.groups).find((one) => match.groups[one] !== undefined);
    end = rules.lastIndex;
    if (name === "prefixed" && i === wordEnd) [name, end] = ["other", i + 1];
    let words = [];
    if (name === "email" || name === "url") [words, end] = address(characters, kinds, match, options);
    else if (name === "word" || name === "prefixed") {
      const begin = i + (name === "prefixed");
      let word = characters.slice(i, begin).join("") + written(characters, kinds, begin, end, options);
      if (options.abbreviations && /^(?:[A-Za-z]\.)+[A-Za-z]$/.test(word)) {
        word += ".";
        end += kinds[end] === ".";
      }
      words = [word];
    } else if (name === "pairs") {
      const clusters = [...match[0].matchAll(/U[MIT]*/g)].map((one) =>
        written(characters, kinds, i + one.index, i + one.index + one[0].length, options));
      words = clusters.length > 1 ? clusters.slice(1).map((right, k) => clusters[k] + right) : clusters;
    } else if (name === "emoji" || name === "flag") {
      words = [characters.slice(i, end).filter((_, k) => kinds[i + k] !== "I").join("")];
    }
    for (const word of words) {
      tokens.push({ word: elision ? word.replace(elision, "") : word, broken });
      broken = false;
    }
    if (words.length && name !== "emoji" && name !== "flag") wordEnd = end;
    else if (!words.length && name !== "passed" && !(name === "hyphen" && i === wordEnd)) broken = true;
  }
  return tokens;
}
