// What the page carries: each section is a data block of gzip in base64, so that no text of the corpus is ever HTML.

const KINDS = { float32: Float32Array, float64: Float64Array, int8: Int8Array, int32: Int32Array };

// The bytes behind a base64 string.
function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// One section: an object for "json", else a flat typed array.
async function unpackSection(element) {
  const buffer = await inflate(bytesOf(element.textContent.trim()));
  const kind = element.dataset.kind;
  if (kind === "json") return JSON.parse(new TextDecoder().decode(buffer));
  return new KINDS[kind](buffer);
}

// All sections by name; each block is emptied once it is read, to give its memory back.
export async function unpack(root) {
  const data = {};
  for (const element of root.querySelectorAll("script[data-name]")) {
    data[element.dataset.name] = await unpackSection(element);
    element.textContent = "";
  }
  return data;
}
