// The two programs of the graphics card: land and sea, and the documents on them.

const FRAME = `
uniform vec3 east, north, outward;
uniform vec2 size;      // of the canvas, in pixels
uniform vec2 centre;    // of the map, in pixels from the lower left
uniform float radius;   // pixels of one radian at the centre
uniform bool flat_map;
`;

export const LAND_VERTEX = `#version 300 es
in vec2 corner;
void main() { gl_Position = vec4(corner, 0.0, 1.0); }
`;

export const LAND_FRAGMENT = `#version 300 es
precision highp float;
${FRAME}
uniform sampler2D land;
uniform vec3 sky, sea, ink;
uniform float strength;  // of the land's colour over the sea
uniform float dark;
out vec4 colour;

void main() {
  vec2 place = (gl_FragCoord.xy - centre) / radius;
  float inside, depth = 1.0;
  vec3 camera;
  if (flat_map) {
    float square = 1.0 - place.x * place.x / 16.0 - place.y * place.y / 4.0;
    inside = clamp((square - 0.5) * radius * 1.4, 0.0, 1.0);
    float root = sqrt(max(square, 0.5));
    float turn = 2.0 * atan(root * place.x, 2.0 * (2.0 * root * root - 1.0) + 1e-9);
    float up = clamp(root * place.y, -1.0, 1.0);
    float level = sqrt(1.0 - up * up);
    camera = vec3(level * sin(turn), up, level * cos(turn));
  } else {
    float length_ = length(place);
    inside = clamp((1.0 - length_) * radius, 0.0, 1.0);
    depth = sqrt(max(0.0, 1.0 - length_ * length_));
    camera = vec3(place, depth);
  }
  vec3 world = camera.x * east + camera.y * north + camera.z * outward;
  vec2 where = vec2(atan(world.y, world.x) / 6.28318530718 + 0.5, asin(clamp(world.z, -1.0, 1.0)) / 3.14159265359 + 0.5);
  vec4 ground = texture(land, where);
  float coast = smoothstep(0.34, 0.40, ground.a);
  float high = smoothstep(0.40, 0.95, ground.a);
  vec3 field = mix(sea, ground.rgb, strength * (0.55 + 0.45 * high));
  vec3 shown = mix(sea, field, coast);
  float line = smoothstep(0.03, 0.0, abs(ground.a - 0.36));
  shown = mix(shown, mix(ground.rgb, ink, 0.35), 0.35 * line);
  // The globe's edge is a little darker, and a thin glow lies around it.
  if (!flat_map) {
    shown *= mix(mix(0.93, 0.80, dark), 1.0, smoothstep(0.0, 0.75, depth));
    float glow = exp(-max(0.0, (length(place) - 1.0) * 9.0)) * mix(0.10, 0.22, dark);
    colour = vec4(mix(mix(sky, vec3(0.42, 0.60, 0.85), glow), shown, inside), 1.0);
  } else {
    colour = vec4(mix(sky, shown, inside), 1.0);
  }
}
`;

export const POINT_VERTEX = `#version 300 es
precision highp float;
${FRAME}
uniform float point_size;
in vec3 place;
in vec4 tint;     // colour, and whether the point is shown (1), behind a filter (0)
in float growth;  // size, 1 = usual
out vec4 shade;
out float pixels;

void main() {
  float e = dot(place, east), n = dot(place, north), f = dot(place, outward);
  vec2 at;
  float visible = 1.0;
  if (flat_map) {
    float half_turn = atan(e, f) / 2.0;
    float level = sqrt(max(0.0, 1.0 - n * n));
    float divisor = sqrt(max(1e-6, 1.0 + level * cos(half_turn)));
    at = vec2(2.82842712475 * level * sin(half_turn), 1.41421356237 * n) / divisor;
  } else {
    at = vec2(e, n);
    visible = smoothstep(0.0, 0.18, f);
  }
  vec2 pixel = centre + at * radius;
  bool shown = visible > 0.0 && tint.a > 0.0;
  gl_Position = shown ? vec4(pixel / size * 2.0 - 1.0, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  pixels = max(1.0, point_size * growth);
  gl_PointSize = pixels + 1.0;
  shade = vec4(tint.rgb, tint.a * visible);
}
`;

export const POINT_FRAGMENT = `#version 300 es
precision highp float;
uniform float opacity;
in vec4 shade;
in float pixels;
out vec4 colour;

void main() {
  float away = length(gl_PointCoord - 0.5) * (pixels + 1.0);
  float cover = clamp(pixels / 2.0 + 0.5 - away, 0.0, 1.0);
  if (cover <= 0.0) discard;
  colour = vec4(shade.rgb, shade.a * cover * opacity);
}
`;
