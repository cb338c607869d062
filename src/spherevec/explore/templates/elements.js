// Small helpers to build the page's elements; text is always text, never HTML.

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick" || name === "oninput" || name === "onchange") node.addEventListener(name.slice(2), value);
    else if (name === "colour") node.style.setProperty("background", value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Text of the corpus, isolated so that its direction does not turn its neighbours around.
export function quoted(text, tag = "span", attributes = {}) {
  return element(tag, { dir: "auto", ...attributes }, text);
}

export function byId(id) {
  return document.getElementById(id);
}

export const whole = (number) => number.toLocaleString("en");

export const counted = (documents) => `${whole(documents)} ${documents === 1 ? "document" : "documents"}`;

// Saves a text as a file, without a server.
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
