"use strict";
const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);

// Keeps what is chosen in these inputs in the address, so that a link or a return to the page shows the same.
// change(): shows what is chosen. Returns what to call after each change.
function kept(ids, change) {
  const own = Object.fromEntries(ids.map((id) => [id, at(id).value]));  // as the page opens
  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const id of ids) at(id).value = given.get(id) ?? own[id];
    change();
  };
  window.addEventListener("hashchange", () => { if (!location.hash || location.hash.includes("=")) read(); });
  if (location.hash.includes("=")) read();
  return () => {
    const chosen = new URLSearchParams(ids.filter((id) => at(id).value !== own[id]).map((id) => [id, at(id).value]));
    history.replaceState(null, "", `#${chosen}`);
  };
}

// Trees as SVG. The page decides how a word or node is written: `write(x, y, text, number)`.
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "12px system-ui, sans-serif";
const widthOf = (text) => ruler.measureText(text).width;
const LINE = 18, GAP = 14;

// Whether most words with letters are written from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam …
const FROM_THE_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
function isFromTheRight(words) {
  const letters = words.filter((word) => /\p{L}/u.test(word));
  return 2 * letters.filter((word) => FROM_THE_RIGHT.test(word)).length > letters.length;
}

function add(parent, name, attributes, text) {
  const node = document.createElementNS(parent.namespaceURI, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function size(svg, width, height) {
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", Math.ceil(height));
  svg.setAttribute("viewBox", `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`);  // so that print scales it
}

function drawTree(svg, { nodes, parents }, write) {
  const depth = [], children = nodes.map(() => []), x = [];
  parents.forEach((parent, node) => {
    depth[node] = parent < 0 ? 0 : depth[parent] + 1;
    if (parent >= 0) children[parent].push(node);
  });
  let right = 10;
  nodes.forEach((text, node) => {
    if (children[node].length) return;
    let widest = 0;  // of the words and labels that stand in this column alone
    for (let above = node; above >= 0; above = parents[above]) {
      widest = Math.max(widest, widthOf(nodes[above]));
      if (parents[above] >= 0 && children[parents[above]].length > 1) break;
    }
    x[node] = right + widest / 2;
    right += widest + GAP;
  });
  for (let node = nodes.length - 1; node >= 0; node--) {
    const below = children[node];
    if (below.length) x[node] = (x[below[0]] + x[below[below.length - 1]]) / 2;
  }
  if (isFromTheRight(nodes.filter((_, node) => !children[node].length))) x.forEach((place, node) => { x[node] = right - place; });
  const y = (node) => 20 + depth[node] * 36;
  parents.forEach((parent, node) => {
    if (parent >= 0) add(svg, "line", { x1: x[parent], y1: y(parent) + 6, x2: x[node], y2: y(node) - 14, class: "edge" });
  });
  nodes.forEach((text, node) => write(x[node], y(node), text, node));
  size(svg, right, 30 + 36 * Math.max(...depth));
}

// heads: from 1, 0 for a root, -1 for none. off: words whose head is marked; other: words whose relation is.
function drawDependencies(svg, { words, heads, deprels, off = [], other = [] }, write) {
  const x = [];
  let right = 10;
  words.forEach((word, number) => {
    const width = Math.max(widthOf(word), widthOf(deprels[number] || "") * 0.85);
    x[number] = right + width / 2;
    right += width + GAP;
  });
  if (isFromTheRight(words)) x.forEach((place, word) => { x[word] = right - place; });
  const arcs = heads.map((head, word) => [Math.min(word, head - 1), Math.max(word, head - 1), word, head]);
  const level = heads.map(() => 0);
  arcs.map((arc, number) => number).filter((number) => arcs[number][3] > 0)
    .sort((a, b) => arcs[a][1] - arcs[a][0] - (arcs[b][1] - arcs[b][0]))
    .forEach((number, done, order) => {
      const [first, last] = arcs[number];
      for (const other of order.slice(0, done)) {
        if (first < arcs[other][1] && arcs[other][0] < last) level[number] = Math.max(level[number], level[other] + 1);
      }
    });
  const ground = 40 + 22 * Math.max(0, ...level);
  arcs.forEach(([, , word, head], number) => {
    const top = ground - 18 - 22 * level[number], side = x[word] < x[head - 1] ? 4 : -4;
    const name = deprels[number] || "", kind = off.includes(word) ? "edge off" : "edge";
    const of = off.includes(word) || other.includes(word) ? "relation off" : "relation";
    if (head < 0) return;
    if (!head) {
      add(svg, "text", { x: x[word], y: 10, "text-anchor": "middle", class: of }, name);
      add(svg, "path", { d: `M${x[word]} 14V${ground - 14}`, class: kind });
      return;
    }
    const [from, to] = [x[head - 1] - side, x[word] + side];
    add(svg, "path", { d: `M${from} ${ground - 14}V${top}H${to}V${ground - 14}`, class: kind });
    add(svg, "path", { d: `M${to - 3} ${ground - 18}l3 5l3 -5`, class: kind });
    add(svg, "text", { x: (from + to) / 2, y: top - 2, "text-anchor": "middle", class: of }, name);
  });
  words.forEach((word, number) => write(x[number], ground, word, number));
  size(svg, right, ground + 12);
}
