// What the model is, and how to use the page.

import { byId, counted, element, quoted, whole } from "./elements.js";
import { plain } from "./world.js";

export function fillAbout(world) {
  const { facts } = world;
  const close = element("button", { class: "close", type: "button", "aria-label": "Close" }, "×");
  const dialog = byId("about");
  close.onclick = () => dialog.close();
  const rows = (entries) => element("dl", {}, ...entries.flatMap(([name, value]) => [element("dt", {}, plain(name)), quoted(plain(value), "dd")]));
  dialog.replaceChildren(
    close,
    quoted(plain(facts.title), "h2", { id: "about-title" }),
    element("p", { class: "note" }, `${counted(world.count)}, ${whole(world.placeNames.length)} words and ${whole(world.topics.length)} topics on one globe. Near on the map means near in the model, as far as a map can show that.`),
    element("h3", {}, "The model"), rows(facts.model),
    facts.settings.length ? element("h3", {}, "How it was trained") : "", facts.settings.length ? rows(facts.settings) : "",
    element("h3", {}, "This page"),
    rows([
      ["Words for search", `${whole(world.words.length)} of ${whole(facts.vocabulary)}`],
      ["Made with", facts.generator],
      ["Network", "none: everything is in this file, and a typed sentence stays in this browser"],
    ]),
    element("h3", {}, "Keys"),
    rows([
      ["Arrows, + − 0", "turn, zoom, back to the start"], ["Enter", "open the document at the centre"],
      ["S", "select what is in view"], ["M", "globe or flat map"], ["L", "list of everything"], ["/", "search box"],
      ["Esc", "close"],
    ]),
  );
}
