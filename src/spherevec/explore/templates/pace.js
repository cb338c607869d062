// How much is drawn while the map moves, so that slow machines keep up; at rest everything is drawn.

const LEVELS = [1, 0.6, 0.35, 0.2]; // of the resolution; the share of points is its square
const SLOW = 45, CRAWLING = 180; // milliseconds of a frame
const WATCHED = 4; // frames
const REST = 220; // milliseconds without a movement

export class Pace {
  // rest: called when a movement has ended.
  constructor(rest) {
    Object.assign(this, { rest, level: 0, taken: [], moving: false, watching: false });
  }

  moved() {
    this.moving = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#rested(), REST);
  }

  #rested() {
    // While a frame is late, the next movement may be waiting behind it.
    if (this.watching && !document.hidden) { this.moved(); return; }
    this.moving = false;
    if (this.level > 0) this.rest();
  }

  get detail() {
    return this.moving ? LEVELS[this.level] : 1;
  }

  // A picture was drawn; how late the next frame comes tells how long it took.
  drawn() {
    if (!this.moving || this.watching) return;
    this.watching = true;
    const begun = performance.now();
    requestAnimationFrame(() => {
      this.watching = false;
      if (!document.hidden) this.#note(performance.now() - begun);
    });
  }

  #note(milliseconds) {
    this.taken.push(milliseconds);
    if (this.taken.length < WATCHED) return;
    // The second slowest: one late frame says nothing, and browsers let every other one come early.
    const late = this.taken.sort((a, b) => a - b)[WATCHED - 2];
    this.taken = [];
    if (late > SLOW) this.level = Math.min(LEVELS.length - 1, this.level + (late > CRAWLING ? 2 : 1));
  }
}
