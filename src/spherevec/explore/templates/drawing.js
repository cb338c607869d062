// The graphics card draws land, sea and documents; labels and marks lie on a second canvas above.

import { frameOf, radiusOf } from "./geometry.js";
import { HEIGHT, WIDTH } from "./land.js";
import { LAND_FRAGMENT, LAND_VERTEX, POINT_FRAGMENT, POINT_VERTEX } from "./shaders.js";

function compile(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "no program");
  const uniforms = new Map();
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
  for (let i = 0; i < count; i++) {
    const { name } = gl.getActiveUniform(program, i);
    uniforms.set(name, gl.getUniformLocation(program, name));
  }
  return { program, uniforms };
}

function attribute(gl, program, name, size, type, normalise, buffer) {
  const location = gl.getAttribLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(location);
  gl.vertexAttribPointer(location, size, type, normalise, 0, 0);
}

const FEWEST = 30000; // points that are drawn while the map moves, however slow the machine

// The numbers below `count` in an order without pattern, the same each time: any beginning is a fair sample.
function shuffled(count) {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  let state = 1;
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// The rows of a table in another order, `size` numbers a row.
function reordered(rows, size, order) {
  const result = new rows.constructor(rows.length);
  order.forEach((row, i) => { for (let d = 0; d < size; d++) result[size * i + d] = rows[size * row + d]; });
  return result;
}

export class Painter {
  // Throws where the browser has no WebGL 2.
  constructor(canvas, places) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: false });
    if (!gl) throw new Error("this browser has no WebGL 2");
    this.gl = gl;
    this.canvas = canvas;
    this.count = places.length / 3;
    this.order = shuffled(this.count);
    this.land = compile(gl, LAND_VERTEX, LAND_FRAGMENT);
    this.points = compile(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.landArray = gl.createVertexArray();
    gl.bindVertexArray(this.landArray);
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
    attribute(gl, this.land.program, "corner", 2, gl.FLOAT, false, corners);
    this.pointArray = gl.createVertexArray();
    gl.bindVertexArray(this.pointArray);
    this.buffers = { place: gl.createBuffer(), tint: gl.createBuffer(), growth: gl.createBuffer() };
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.place);
    gl.bufferData(gl.ARRAY_BUFFER, reordered(places, 3, this.order), gl.STATIC_DRAW);
    attribute(gl, this.points.program, "place", 3, gl.FLOAT, false, this.buffers.place);
    attribute(gl, this.points.program, "tint", 4, gl.UNSIGNED_BYTE, true, this.buffers.tint);
    attribute(gl, this.points.program, "growth", 1, gl.FLOAT, false, this.buffers.growth);
    this.texture = gl.createTexture();
  }

  setLand(pixels) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, WIDTH, HEIGHT, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.REPEAT);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }

  // tints: (n, 4) bytes; growths: (n,) sizes.
  setPoints(tints, growths) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.tint);
    gl.bufferData(gl.ARRAY_BUFFER, reordered(tints, 4, this.order), gl.DYNAMIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.growth);
    gl.bufferData(gl.ARRAY_BUFFER, reordered(growths, 1, this.order), gl.DYNAMIC_DRAW);
  }

  // The size of a point in CSS pixels: smaller where there are many, growing slowly with the zoom.
  pointSize(view) {
    const usual = Math.max(1.3, Math.min(5, 2.4 * (20000 / Math.max(this.count, 1)) ** 0.25));
    return Math.min(9, usual * view.zoom ** 0.35);
  }

  // stage: {width, height, ratio, centre, room} in CSS pixels; theme: colours as numbers from 0 to 1; faded: the land
  // steps back, where points have other colours than topics; detail: share of the resolution, 1 for all of it.
  draw(view, stage, theme, faded, detail) {
    const { gl, canvas } = this;
    const { width, height } = stage;
    const ratio = stage.ratio * detail;
    const frame = frameOf(view);
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
    gl.viewport(0, 0, across, down);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    const share = ({ program, uniforms }) => {
      gl.useProgram(program);
      gl.uniform3fv(uniforms.get("east"), frame.east);
      gl.uniform3fv(uniforms.get("north"), frame.north);
      gl.uniform3fv(uniforms.get("outward"), frame.out);
      gl.uniform2f(uniforms.get("centre"), stage.centre[0] * ratio, (height - stage.centre[1]) * ratio);
      gl.uniform1f(uniforms.get("radius"), radiusOf(view, stage.room[0], stage.room[1]) * ratio);
      gl.uniform1i(uniforms.get("flat_map"), view.flat ? 1 : 0);
      if (uniforms.has("size")) gl.uniform2f(uniforms.get("size"), width * ratio, height * ratio);
    };
    share(this.land);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    for (const name of ["sky", "sea", "ink"]) gl.uniform3fv(this.land.uniforms.get(name), theme[name]);
    gl.uniform1f(this.land.uniforms.get("strength"), faded ? theme.strength * 0.3 : theme.strength);
    gl.uniform1f(this.land.uniforms.get("dark"), theme.dark ? 1 : 0);
    gl.bindVertexArray(this.landArray);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    share(this.points);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform1f(this.points.uniforms.get("point_size"), this.pointSize(view) * ratio);
    const crowd = Math.min(1, Math.max(0, Math.log10(this.count / 3000)));
    gl.uniform1f(this.points.uniforms.get("opacity"), Math.min(0.95, (0.9 - (faded ? 0.15 : 0.35) * crowd) * view.zoom ** 0.15));
    gl.bindVertexArray(this.pointArray);
    gl.drawArrays(gl.POINTS, 0, Math.min(this.count, Math.max(FEWEST, Math.round(this.count * detail ** 2))));
  }
}
