// HTML in a typed sentence, as training sees it: entities become characters, tags white space.

const MARKUP = new RegExp(
  "<(?:(?:/?([A-Za-z][A-Za-z0-9]*)(?=[ \\t\\r\\f\\v/>]))|!(?:--|[A-Za-z]))[^<>\\n]{0,1000}>"
  + "|&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{0,31}));", "g");

// What a numeric entity stands for; a space where that is no character.
function characterOf(code) {
  const meant = code >= 0x80 && code < 0xa0 ? new TextDecoder("windows-1252").decode(Uint8Array.of(code)).codePointAt(0) : code;
  const none = meant < 0x20 || (meant >= 0x7f && meant < 0xa0) || (meant >= 0xd800 && meant < 0xe000) || meant > 0x10ffff;
  return none ? " " : String.fromCodePoint(meant);
}

// What a named entity stands for: the browser knows them all. The name is of letters and digits only.
function entityOf(name) {
  const text = new DOMParser().parseFromString(`&${name};`, "text/html").body.textContent;
  if (text.endsWith(";") && text !== ";") return `&${name};`; // unknown, or the beginning of it is known
  return text.trim() === "" ? " " : text;
}

// tags: {name: what stands for it}, those of the model's tokenizer.
export function withoutMarkup(text, tags) {
  return text.replace(MARKUP, (found, tag, decimal, hexadecimal, entity) => {
    if (tag) return tags[tag.toLowerCase()] ?? found[0] + withoutMarkup(found.slice(1), tags); // unknown: no tag
    if (entity) return entityOf(entity);
    if (decimal || hexadecimal) return characterOf(parseInt(decimal ?? hexadecimal, decimal ? 10 : 16));
    return "\u001e";
  });
}
