// The tokenizer "words-0.2", rule by rule as in Python.

const SPACE = "space", IGNORED = "ignored", UNSPACED = "unspaced", EMOJI = "emoji", REGIONAL = "regional";
const JOINER = "joiner", MARK = "mark", APOSTROPHE = "apostrophe", HYPHEN = "hyphen", WORD = "word", OTHER = "other";

const SCHEME = /(?:(?:https?|ftp):\/\/|www\.)(?=[A-Za-z0-9])/iy;
const EMAIL = /[A-Za-z0-9_][A-Za-z0-9_.%+-]{0,63}@([A-Za-z0-9][A-Za-z0-9.-]*)/y;
const NOT_IN_URLS = '<>"`{}|\\^', AFTER_URLS = ".,;:!?'/*_~-";
const POINTED = ["net", "js"]; // as in .NET and node.js
const DIGIT = /^[0-9]$/, LETTER = /^[A-Za-z]$/;

// `ranges` are those of the model's own tables: unspaced, emoji, symbols.
function kindOf(character, ranges) {
  const code = character.codePointAt(0);
  const within = (name) => ranges[name].some(([low, high]) => low <= code && code <= high);
  if (code === 0x27 || code === 0x2019) return APOSTROPHE;
  if (code === 0x2d || code === 0x2010 || code === 0x2011) return HYPHEN;
  if (code === 0x200c || code === 0x200d) return JOINER;
  if (code === 0x200b || /[\p{Zs}\p{Zl}\p{Zp}\t\n\r\f\v\u0085]/u.test(character)) return SPACE;
  if (/\p{Cf}/u.test(character) || within("variation")) return IGNORED;
  if (/\p{M}/u.test(character)) return MARK;
  if (/[\p{L}\p{N}_]/u.test(character)) return within("unspaced") ? UNSPACED : WORD;
  if (code >= 0x1f1e6 && code <= 0x1f1ff) return REGIONAL;
  if (within("emoji") || (/\p{So}/u.test(character) && within("symbols"))) return EMOJI;
  return OTHER;
}

class Scanner {
  constructor(text, options, ranges) {
    Object.assign(this, { options, ranges });
    this.text = [...text];
    this.i = 0;
    this.wordEnd = -1; // where the last word ended
    this.broken = true; // whether punctuation stands before the next word
    this.tokens = [];
  }

  at(i) { return this.text[i] ?? ""; }

  kind(i) {
    const kind = i >= 0 && i < this.text.length ? kindOf(this.text[i], this.ranges) : OTHER;
    if ((kind === EMOJI || kind === REGIONAL) && !this.options.emoji) return OTHER;
    return kind === UNSPACED && this.options.unspaced !== "bigrams" ? WORD : kind;
  }

  wordlike(i) { return [WORD, MARK].includes(this.kind(i)); }

  lower(character) {
    if (!this.options.lowercase) return character;
    const [first, ...rest] = character.toLowerCase();
    return rest.length ? first : character.toLowerCase();
  }

  emit(word, end) {
    this.tokens.push({ word, broken: this.broken });
    this.broken = false;
    this.i = end;
    return true;
  }

  scan() {
    while (this.i < this.text.length) {
      const kind = this.kind(this.i);
      if (kind === WORD) { if (!this.special()) this.word(""); }
      else if (kind === UNSPACED) this.bigrams();
      else if (kind === EMOJI) this.emoji();
      else if (kind === REGIONAL) this.flag();
      else if (!this.prefixed()) {
        const joins = kind === HYPHEN && this.i === this.wordEnd && this.kind(this.i + 1) === WORD;
        if ([OTHER, APOSTROPHE, HYPHEN].includes(kind) && !joins) this.broken = true;
        this.i++;
      }
    }
    return this.tokens;
  }

  // A match of a pattern at this place, in characters rather than code units.
  matchHere(pattern) {
    pattern.lastIndex = 0;
    return pattern.exec(this.text.slice(this.i, this.i + 400).join(""));
  }

  // An e-mail address or a URL that begins here.
  special() {
    const email = this.options.emails === "split" ? null : this.matchHere(EMAIL);
    if (email) {
      const host = email[1].replace(/[.-]+$/, "");
      const end = this.i + email[0].length - email[1].length + host.length;
      if (host.includes(".")) return this.kept(this.options.emails, end, host);
    }
    const url = this.options.urls === "split" ? null : this.matchHere(SCHEME);
    if (!url) return false;
    const begin = this.i + url[0].length;
    let end = begin;
    while (end < this.text.length && this.inUrl(end)) end++;
    const bracketed = () => /[([]/.test(this.text.slice(this.i, end).join(""));
    while (end > begin + 1 && (AFTER_URLS.includes(this.at(end - 1)) || (")]".includes(this.at(end - 1)) && !bracketed()))) end--;
    let hostEnd = begin;
    while (hostEnd < end && (".-".includes(this.at(hostEnd)) || this.wordlike(hostEnd))) hostEnd++;
    let host = this.text.slice(begin, hostEnd).join("").replace(/[.-]+$/, "");
    if (/^www\../i.test(host)) host = host.slice(4);
    return this.kept(this.options.urls, end, host);
  }

  kept(how, end, host) {
    if (how === "drop") { this.broken = true; this.i = end; return true; }
    const word = how === "keep" ? this.text.slice(this.i, end) : [...host];
    this.wordEnd = end;
    return this.emit(word.map((character) => this.lower(character)).join(""), end);
  }

  inUrl(i) {
    const character = this.at(i);
    return character < "\u0080" ? character >= "!" && character <= "~" && !NOT_IN_URLS.includes(character) : this.wordlike(i);
  }

  // A hashtag, a mention, or a word such as .NET that begins here.
  prefixed() {
    const { i } = this;
    const character = this.at(i);
    if (i === this.wordEnd) return false;
    const tag = "#@".includes(character) && this.options.tags && this.kind(i + 1) === WORD && !DIGIT.test(this.at(i + 1));
    if (!tag && !(character === "." && this.options.symbols && this.pointed(i))) return false;
    this.i++;
    this.word(character);
    return true;
  }

  pointed(i) {
    return POINTED.some((word) => this.text.slice(i + 1, i + 1 + word.length).join("").toLowerCase() === word && !this.wordlike(i + 1 + word.length));
  }

  word(prefix) {
    const { options } = this;
    const start = this.i;
    let word = [...prefix];
    let letters = !prefix && LETTER.test(this.at(start)) && !this.wordlike(start + 1) ? 1 : 0;
    let sigma = false;
    for (; this.i < this.text.length; this.i++) {
      const { i } = this;
      const character = this.at(i), kind = this.kind(i);
      if (kind === WORD || kind === MARK) {
        sigma = character === "Σ" && options.lowercase && word.length > prefix.length;
        word.push(this.lower(character));
      } else if (kind === IGNORED) continue;
      else if (kind === JOINER) { if (this.wordlike(i + 1)) word.push(character); }
      else if (kind === APOSTROPHE && this.kind(i + 1) === WORD) word.push("'");
      else if (kind === HYPHEN && this.hyphenJoins(i)) word.push("-");
      else if (".,".includes(character) && options.numbers && DIGIT.test(this.at(i - 1)) && DIGIT.test(this.at(i + 1))) word.push(character);
      else if (character === "." && this.abbreviates(i, letters, word.length)) {
        word.push(".", this.lower(this.at(i + 1)));
        letters++;
        this.i++;
      } else if (character === "." && options.symbols && this.pointed(i)) word.push(".");
      else if (character === "+" && this.plusPlus(i)) { word.push("+", "+"); this.i++; }
      else if (character === "#" && this.sharp(i, start)) { word.push("#"); this.i++; break; }
      else break;
    }
    if (sigma) word[word.length - 1] = "ς";
    if (letters > 1 && word.length === 2 * letters - 1) {
      word.push(".");
      if (this.at(this.i) === ".") this.i++;
    }
    this.wordEnd = this.i;
    this.emit(word.join(""), this.i);
  }

  abbreviates(i, letters, length) {
    return this.options.abbreviations && letters > 0 && length === 2 * letters - 1 && LETTER.test(this.at(i + 1)) && !this.wordlike(i + 2);
  }

  hyphenJoins(i) {
    if (this.options.hyphens === "digits") return DIGIT.test(this.at(i + 1)) && !DIGIT.test(this.at(i - 1));
    return this.options.hyphens === "join" && this.kind(i + 1) === WORD;
  }

  // C++ and C++17, but not a++b.
  plusPlus(i) {
    const after = this.at(i + 2);
    if (!this.options.symbols || this.at(i + 1) !== "+" || after === "+") return false;
    return DIGIT.test(after) || !this.wordlike(i + 2);
  }

  // C# and F#: one letter before, nothing more behind.
  sharp(i, start) {
    const one = i === start + 1 && LETTER.test(this.at(start));
    return this.options.symbols && one && this.at(i + 1) !== "#" && !this.wordlike(i + 1);
  }

  // Overlapping pairs of the characters of a run without spaces, each with its marks.
  bigrams() {
    const clusters = [];
    for (; [UNSPACED, MARK, IGNORED].includes(this.kind(this.i)); this.i++) {
      const kind = this.kind(this.i);
      if (kind === UNSPACED) clusters.push(this.lower(this.at(this.i)));
      else if (kind === MARK) clusters[clusters.length - 1] += this.lower(this.at(this.i));
    }
    const pairs = clusters.slice(1).map((right, i) => clusters[i] + right);
    for (const pair of pairs.length ? pairs : clusters) this.emit(pair, this.i);
    this.wordEnd = this.i;
  }

  emoji() {
    let word = this.at(this.i), i = this.i + 1;
    for (; i < this.text.length; i++) {
      const code = this.at(i).codePointAt(0);
      if ((code >= 0x1f3fb && code <= 0x1f3ff) || (code >= 0xe0020 && code <= 0xe007f)) word += this.at(i);
      else if (code === 0x200d && this.kind(i + 1) === EMOJI) { word += this.at(i) + this.at(i + 1); i++; }
      else if (this.kind(i) !== IGNORED) break;
    }
    this.emit(word, i);
  }

  flag() {
    if (this.kind(this.i + 1) === REGIONAL) this.emit(this.at(this.i) + this.at(this.i + 1), this.i + 2);
    else { this.broken = true; this.i++; }
  }
}

// The tokens of a text: [{word, broken}].
export function scan(text, options, ranges) {
  return new Scanner(text, options, ranges).scan();
}
