/**
 * Where the nodes of a graph stand: in layers from left to right, with few crossings.
 *
 * Layers by the longest way from a source; invisible nodes where an edge passes a layer; order by the mean position of
 * neighbours, forth and back; heights by the neighbours' heights where there is room. A thousand nodes take milliseconds.
 */
import type { GraphEdge } from "./model";

export interface Box { id: string; group: string }
export interface Placed { x: number; y: number; layer: number }
export interface Layout { nodes: Map<string, Placed>; paths: Map<string, string>; width: number; height: number }

export const NODE = { width: 208, height: 60 };
const GAP = { x: 48, y: 20, thin: 10 };
/** From one node to the next, to the right and down. */
export const STEP = { x: NODE.width + GAP.x, y: NODE.height + GAP.y };
const SWEEPS = 8;

interface Cell { id: string; real: boolean; group: string; layer: number; order: number; y: number; before: Cell[]; after: Cell[] }

export const edgeKey = (edge: { source: string; target: string }): string => `${edge.source}\u0000${edge.target}`;

/** The layer of each node. Edges that close a circle are left out. */
export function layers(ids: string[], edges: GraphEdge[]): Map<string, number> {
  const out = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const edge of edges) if (out.has(edge.target)) out.get(edge.source)?.push(edge.target);
  const state = new Map<string, number>();
  const order: string[] = [];
  const back = new Set<string>();
  for (const root of ids) {
    if (state.has(root)) continue;
    const stack: [string, number][] = [[root, 0]];
    state.set(root, 1);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const [id, at] = top;
      const next = out.get(id)?.[at];
      if (next === undefined) {
        state.set(id, 2);
        order.push(id);
        stack.pop();
        continue;
      }
      top[1] += 1;
      const seen = state.get(next);
      if (seen === 1) back.add(edgeKey({ source: id, target: next }));
      else if (seen === undefined) {
        state.set(next, 1);
        stack.push([next, 0]);
      }
    }
  }
  const found = new Map<string, number>(ids.map((id) => [id, 0]));
  for (const id of order.reverse()) {
    for (const next of out.get(id) ?? []) {
      if (!back.has(edgeKey({ source: id, target: next }))) found.set(next, Math.max(found.get(next) ?? 0, (found.get(id) ?? 0) + 1));
    }
  }
  // A source stands beside what it feeds, not at the far left.
  const fed = new Set(edges.map((edge) => edge.target));
  for (const id of ids) {
    const next = (out.get(id) ?? []).map((one) => found.get(one) ?? 0);
    if (!fed.has(id) && next.length) found.set(id, Math.max(0, Math.min(...next) - 1));
  }
  return found;
}

function cellsOf(boxes: Box[], edges: GraphEdge[], layerOf: Map<string, number>): { rows: Cell[][]; chains: Map<string, Cell[]> } {
  const rows: Cell[][] = [];
  const byId = new Map<string, Cell>();
  const add = (id: string, real: boolean, group: string, layer: number): Cell => {
    const row = (rows[layer] ??= []);
    const cell: Cell = { id, real, group, layer, order: row.length, y: 0, before: [], after: [] };
    row.push(cell);
    return cell;
  };
  for (const box of [...boxes].sort((a, b) => a.group.localeCompare(b.group) || a.id.localeCompare(b.id))) byId.set(box.id, add(box.id, true, box.group, layerOf.get(box.id) ?? 0));
  const chains = new Map<string, Cell[]>();
  for (const edge of edges) {
    const from = byId.get(edge.source);
    const to = byId.get(edge.target);
    if (!from || !to) continue;
    const chain = [from];
    for (let layer = from.layer + 1; layer < to.layer; layer += 1) chain.push(add(edgeKey(edge), false, to.group, layer));
    chain.push(to);
    chains.set(edgeKey(edge), chain);
    if (to.layer <= from.layer) continue;
    chain.slice(1).forEach((cell, index) => {
      const before = chain[index];
      if (before) { before.after.push(cell); cell.before.push(before); }
    });
  }
  for (let layer = 0; layer < rows.length; layer += 1) rows[layer] ??= [];
  return { rows, chains };
}

function sorted(row: Cell[], near: (cell: Cell) => Cell[]): void {
  const want = new Map(row.map((cell) => {
    const around = near(cell);
    return [cell, around.length ? around.reduce((total, other) => total + other.order, 0) / around.length : cell.order] as const;
  }));
  row.sort((a, b) => (want.get(a) ?? 0) - (want.get(b) ?? 0) || a.order - b.order);
  row.forEach((cell, index) => { cell.order = index; });
}

const tall = (cell: Cell): number => (cell.real ? NODE.height + GAP.y : GAP.thin);

/** Each cell as near to its neighbours as those above it let it be; then the whole row back by the mean of what was moved. */
function settle(row: Cell[], near: (cell: Cell) => Cell[]): void {
  let top = Number.NEGATIVE_INFINITY;
  let moved = 0;
  let counted = 0;
  for (const cell of row) {
    const around = near(cell);
    const middle = around.length ? around.reduce((total, other) => total + other.y + tall(other) / 2, 0) / around.length : null;
    const want = middle === null ? cell.y : middle - tall(cell) / 2;
    cell.y = Math.max(want, top);
    moved += cell.y - want;
    counted += 1;
    top = cell.y + tall(cell);
  }
  const shift = counted ? moved / counted : 0;
  for (const cell of row) cell.y -= shift;
}

export function arrange(boxes: Box[], edges: GraphEdge[]): Layout {
  const layerOf = layers(boxes.map((box) => box.id), edges);
  const { rows, chains } = cellsOf(boxes, edges, layerOf);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    if (sweep % 2 === 0) for (const row of rows) sorted(row, (cell) => cell.before);
    else for (const row of [...rows].reverse()) sorted(row, (cell) => cell.after);
  }
  for (const row of rows) {
    let y = 0;
    for (const cell of row) { cell.y = y; y += tall(cell); }
  }
  for (let pass = 0; pass < 4; pass += 1) {
    for (const row of rows) settle(row, (cell) => cell.before);
    for (const row of [...rows].reverse()) settle(row, (cell) => (cell.after.length ? cell.after : cell.before));
  }
  const least = Math.min(0, ...rows.flat().map((cell) => cell.y));
  const nodes = new Map<string, Placed>();
  let height = 0;
  for (const cell of rows.flat()) {
    cell.y -= least;
    if (cell.real) nodes.set(cell.id, { x: cell.layer * (NODE.width + GAP.x), y: Math.round(cell.y), layer: cell.layer });
    height = Math.max(height, cell.y + tall(cell));
  }
  const paths = new Map<string, string>();
  for (const [key, chain] of chains) paths.set(key, pathOf(chain));
  return { nodes, paths, width: rows.length * (NODE.width + GAP.x) - GAP.x, height };
}

function pathOf(chain: Cell[]): string {
  const points = chain.map((cell, index) => {
    const left = cell.layer * (NODE.width + GAP.x);
    const y = cell.y + (cell.real ? NODE.height / 2 : GAP.thin / 2);
    return { enter: left, leave: left + NODE.width, y, last: index === chain.length - 1 };
  });
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.leave} ${Math.round(first.y)}`;
  let from = first;
  for (const point of rest) {
    const bend = Math.max(24, Math.abs(point.enter - from.leave) / 2);
    path += ` C${from.leave + bend} ${Math.round(from.y)} ${point.enter - bend} ${Math.round(point.y)} ${point.enter} ${Math.round(point.y)}`;
    if (!point.last) path += ` H${point.leave}`;
    from = point;
  }
  return path;
}
