// The start: read the data, build the page, listen.

import { App } from "./app.js";
import { byId } from "./elements.js";
import { listen } from "./input.js";
import { unpack } from "./unpack.js";
import { World } from "./world.js";

function wireButtons(app) {
  byId("zoom-in").onclick = () => app.zoomBy(1.5);
  byId("zoom-out").onclick = () => app.zoomBy(1 / 1.5);
  byId("home").onclick = () => app.home();
  byId("globe").onclick = () => app.toggleFlat();
  byId("topics-button").onclick = () => app.topicList.toggle();
  byId("lasso").onclick = () => app.toggleLasso();
  byId("list-button").onclick = () => app.openList();
  byId("skip").onclick = (event) => { event.preventDefault(); app.openList(); };
  byId("about-button").onclick = () => byId("about").showModal();
  byId("theme").onclick = () => app.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  byId("settings-button").onclick = () => {
    const shown = byId("settings").hidden;
    byId("settings").hidden = !shown;
    byId("settings-button").setAttribute("aria-expanded", String(shown));
    app.resize();
  };
}

function wireSearch(app) {
  const query = byId("query");
  let waiting = 0;
  const place = () => {
    const text = query.value.trim();
    if (text) app.place(text);
    else if (app.open?.kind === "q") app.panel.close();
  };
  query.oninput = () => { clearTimeout(waiting); waiting = setTimeout(place, 300); };
  byId("search").onsubmit = (event) => { event.preventDefault(); clearTimeout(waiting); place(); };
  if (!app.world.searchable) {
    query.disabled = true;
    query.placeholder = "This page was written without words to search by";
  }
}

async function main() {
  const wait = byId("wait");
  try {
    const app = new App(new World(await unpack(document)));
    wireButtons(app);
    wireSearch(app);
    listen(app, byId("map"));
    app.setTheme(null);
    app.settings.legend();
    app.topicList.openIfWide();
    app.resize();
    app.followLink(location.hash);
    byId("map").addEventListener("focus", () => { byId("cross").hidden = !byId("map").matches(":focus-visible"); });
    byId("map").addEventListener("blur", () => { byId("cross").hidden = true; });
    window.addEventListener("resize", () => app.resize());
    // The address may be another already: the page writes its own a moment after each change.
    window.addEventListener("hashchange", ({ newURL }) => app.followLink(new URL(newURL).hash));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (!app.theme) app.setTheme(null); });
    wait.hidden = true;
    window.spherevec = app; // for the curious, and for tests
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    wait.textContent = `This page cannot be shown: ${error.message}. A browser from 2023 or later is needed.`;
    throw error;
  }
}

main();
