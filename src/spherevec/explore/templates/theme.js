// The colours of the canvases, read from the style sheet so that both themes are described once.

function numbers(hex) {
  const digits = hex.trim().replace("#", "");
  return [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
}

const known = new Map();

export function themeOf(root) {
  const name = root.dataset.theme;
  if (!known.has(name)) {
    const style = getComputedStyle(root);
    const read = (variable) => style.getPropertyValue(variable).trim();
    const dark = name === "dark";
    known.set(name, {
      dark, sky: numbers(read("--sky")), sea: numbers(read("--sea")), ink: numbers(read("--ink")),
      strength: dark ? 0.42 : 0.46, accent: read("--accent"), inkText: read("--ink"),
      halo: dark ? "#0b1016e6" : "#ffffffe6", topicInk: read("--ink"), wordInk: dark ? "#c9d4df" : "#37434f",
    });
  }
  return known.get(name);
}
