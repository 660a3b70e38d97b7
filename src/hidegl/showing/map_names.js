// @ts-check
// The names of classes on a map of points, for Studio and for the report, which contains this module without `export`.

const MANY_NAMES = 20; // names of more classes are written smaller
const SPOTS = 12; // the number of places that are tried for a name
const NAME_REACH = 1 / 15; // of the width of the map: how far around a name rows count for it
const HEAVIEST = 1000; // points of a class that are compared

/**
 * For each class some points: those around which it has the most rows first, and the class with the most rows first.
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 * @param {ArrayLike<any>} classes the class of each point
 * @param {(i: number) => number} weightOf how much a point counts
 */
export function namePlaces(x, y, classes, weightOf) {
  const found = new Map();
  let [left, right] = [Infinity, -Infinity];
  for (let i = 0; i < classes.length; i += 1) {
    const own = found.get(classes[i]) ?? { of: classes[i], weight: 0, points: [] };
    const weight = weightOf(i);
    own.weight += weight;
    own.points.push([x[i], y[i], weight]);
    found.set(classes[i], own);
    [left, right] = [Math.min(left, x[i]), Math.max(right, x[i])];
  }
  const near = (right - left) * NAME_REACH || 1;
  return [...found.values()].sort((a, b) => b.weight - a.weight).map(({ of, points: all }) => {
    const points = all.sort((a, b) => b[2] - a[2]).slice(0, HEAVIEST);
    const around = ([px, py]) => points.reduce((sum, [qx, qy, weight]) => sum + weight * Math.exp(-((qx - px) ** 2 + (qy - py) ** 2) / near ** 2), 0);
    const spots = points.map((point) => [point, around(point)]).sort((a, b) => b[1] - a[1]).map(([point]) => point);
    return { of, spots: spots.filter((_, i) => i % Math.ceil(spots.length / SPOTS) === 0) };
  });
}

/**
 * Write names into a layer, each at the first of its spots that no other name covers. Earlier places choose first.
 * @param {HTMLElement} layer
 * @param {{ of: any, spots: number[][] }[]} places
 * @param {{ at: (x: number, y: number) => number[], width: number, height: number, top?: number, most?: number,
 *   isShown: (of: any) => boolean, nameOf: (of: any) => string, colourOf: (of: any) => string }} map
 */
export function writeNames(layer, places, { at, width, height, top = 0, most = Infinity, isShown, nameOf, colourOf }) {
  const many = places.length > MANY_NAMES;
  const tall = many ? 8 : 12;
  const taken = [];
  const names = [];
  for (const { of, spots } of places) {
    if (!isShown(of) || names.length >= most) continue;
    const text = nameOf(of);
    const half = Math.min(text.length, 35) * (many ? 3.3 : 3.8) + (many ? 6 : 9);
    const within = (/** @type {number} */ sx) => Math.min(Math.max(sx, half), width - half);
    const boxOf = (/** @type {number[]} */ [sx, sy]) => [within(sx) - half, sy - tall, within(sx) + half, sy + tall];
    const isFree = (/** @type {number[]} */ [sx, sy], box) => sx >= 0 && sy >= top && sx <= width && sy <= height
      && !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    const spot = spots.map(([x, y]) => at(x, y)).find((one) => isFree(one, boxOf(one)));
    if (!spot) continue;
    taken.push(boxOf(spot));
    const name = Object.assign(document.createElement("span"), { className: "place", textContent: text });
    name.style.left = `${within(spot[0])}px`;
    name.style.top = `${Math.min(Math.max(spot[1], top + 11), height - 11)}px`;
    name.style.setProperty("--colour", colourOf(of));
    names.push(name);
  }
  layer.classList.toggle("many", many);
  layer.replaceChildren(...names);
}
