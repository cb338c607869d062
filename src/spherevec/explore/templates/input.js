// Pointer, wheel, fingers and keys.

const CLICK_DISTANCE = 5; // pixels that a click may wander
const TURN = 0.12; // radians of one arrow key, at zoom 1

function keyActions(app) {
  const turn = (lon, lat) => app.turn((lon * TURN) / app.view.zoom, (lat * TURN) / app.view.zoom);
  return {
    ArrowLeft: () => turn(-1, 0), ArrowRight: () => turn(1, 0), ArrowUp: () => turn(0, 1), ArrowDown: () => turn(0, -1),
    "+": () => app.zoomBy(1.35), "=": () => app.zoomBy(1.35), "-": () => app.zoomBy(1 / 1.35), 0: () => app.home(),
    Enter: () => app.openCentre(), s: () => app.selectView(), m: () => app.toggleFlat(), l: () => app.openList(),
    t: () => app.topicList.toggle(),
    "/": () => app.focusSearch(),
  };
}

// Keys work on the map, and where nothing else has the focus.
function listenToKeys(app, canvas) {
  const actions = keyActions(app);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { app.escape(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const onMap = event.target === canvas || event.target === document.body;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || app.list.open || !onMap) return;
    event.preventDefault();
    action();
  });
}

export function listen(app, canvas) {
  const fingers = new Map();
  let start = null, pinch = 0, moved = false;
  const at = (event) => [event.clientX, event.clientY];
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return { distance: Math.hypot(a[0] - b[0], a[1] - b[1]), middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] };
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    moved = fingers.size > 1;
    start = at(event);
    app.stopFlight();
    app.hover(null);
    if (fingers.size === 2) pinch = spread().distance;
    if (app.drawing && fingers.size === 1) app.lassoStart(start);
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) {
      if (event.pointerType !== "touch") app.hover(at(event));
      return;
    }
    const before = fingers.get(event.pointerId);
    fingers.set(event.pointerId, at(event));
    if (fingers.size === 2) {
      const { distance, middle } = spread();
      if (pinch > 0) app.zoomBy(distance / pinch, middle);
      pinch = distance;
      return;
    }
    if (start && Math.hypot(event.clientX - start[0], event.clientY - start[1]) > CLICK_DISTANCE) moved = true;
    if (app.drawing) app.lassoMove(at(event));
    else if (moved) app.drag(event.clientX - before[0], event.clientY - before[1]);
  });

  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    canvas.classList.remove("turning");
    if (app.drawing && fingers.size === 0) app.lassoEnd();
    else if (!moved && event.type === "pointerup") app.click(at(event), event.pointerType === "touch");
    if (fingers.size === 0) moved = false;
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => app.hover(null));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    app.stopFlight();
    app.zoomBy(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.0022), at(event));
  }, { passive: false });
  listenToKeys(app, canvas);
}
