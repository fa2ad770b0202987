/**
 * The same layers from left to right, with what belongs together in one frame: a schema is one rectangle.
 *
 * Where groups follow on each other (raw, staging, marts) each begins behind those it reads. Where they go in circles, or that
 * would become too wide, nodes keep the layers of the whole graph. A group takes the layers that its nodes stand in, and as
 * much height as its fullest one; groups that share a layer stand below each other, each as near to what it reads as there is room.
 */
import { arrange, edgeKey, layers, NODE, STEP, type Box, type Layout, type Placed } from "./layout";
import type { GraphEdge } from "./model";

export interface Frame { name: string; x: number; y: number; width: number; height: number }
export interface GroupedLayout extends Layout { frames: Frame[] }

const PAD = 16;
const HEAD = 32;
const GAP = 32;
const SWEEPS = 4;
/** How far from a node an edge passes: the middle of the gap between two. */
const ASIDE = (STEP.y - NODE.height) / 2;
/** What names of groups begin with that have no frame. */
export const LOOSE = "\u0000";

interface Group { name: string; columns: Map<number, string[]>; first: number; last: number; y: number; height: number }

const mean = (values: number[]): number => values.reduce((total, value) => total + value, 0) / values.length;
const heightOf = (group: Group): number => Math.max(...[...group.columns.values()].map((column) => column.length)) * STEP.y - (STEP.y - NODE.height) + HEAD + PAD;

/** The layer of each node when groups follow on each other; null where they do not, or not within twice the width. */
function followingLayers(boxes: Box[], edges: GraphEdge[], most: number): Map<string, number> | null {
  const groupOf = new Map(boxes.map((box) => [box.id, box.group]));
  const members = new Map<string, string[]>();
  for (const box of boxes) members.set(box.group, [...(members.get(box.group) ?? []), box.id]);
  const inside = new Map<string, GraphEdge[]>();
  const between: GraphEdge[] = [];
  for (const edge of edges) {
    const [from, to] = [groupOf.get(edge.source), groupOf.get(edge.target)];
    if (from === undefined || to === undefined) continue;
    if (from === to) inside.set(from, [...(inside.get(from) ?? []), edge]);
    else between.push({ source: from, target: to, kind: "" });
  }
  const rank = layers([...members.keys()], between);
  if (between.some((edge) => (rank.get(edge.source) ?? 0) >= (rank.get(edge.target) ?? 0))) return null;
  const found = new Map<string, number>();
  const ends = new Map<string, number>();
  for (const name of [...members.keys()].sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0))) {
    const begin = Math.max(0, ...between.filter((edge) => edge.target === name).map((edge) => ends.get(edge.source) ?? 0));
    const own = layers(members.get(name) ?? [], inside.get(name) ?? []);
    for (const [id, layer] of own) found.set(id, begin + layer);
    ends.set(name, begin + Math.max(...own.values()) + 1);
  }
  return Math.max(0, ...ends.values()) <= most ? found : null;
}

function groupsOf(boxes: Box[], layerOf: Map<string, number>, base: Layout): Group[] {
  const groups = new Map<string, Group>();
  for (const box of boxes) {
    const layer = layerOf.get(box.id) ?? 0;
    let group = groups.get(box.group);
    if (!group) groups.set(box.group, group = { name: box.group, columns: new Map(), first: layer, last: layer, y: 0, height: 0 });
    group.first = Math.min(group.first, layer);
    group.last = Math.max(group.last, layer);
    const column = group.columns.get(layer);
    if (column) column.push(box.id);
    else group.columns.set(layer, [box.id]);
  }
  const found = [...groups.values()];
  for (const group of found) {
    for (const column of group.columns.values()) column.sort((a, b) => (base.nodes.get(a)?.y ?? 0) - (base.nodes.get(b)?.y ?? 0));
    group.height = heightOf(group);
  }
  return found.sort((a, b) => a.first - b.first || a.last - b.last || a.name.localeCompare(b.name));
}

/** The free height that is nearest to the wanted one. */
function place(group: Group, placed: Group[], wanted: number): void {
  const beside = placed.filter((other) => other.first <= group.last && group.first <= other.last);
  const free = (y: number): boolean => beside.every((other) => y + group.height + GAP <= other.y || other.y + other.height + GAP <= y);
  const tried = [wanted, ...beside.flatMap((other) => [other.y + other.height + GAP, other.y - group.height - GAP])].filter(free);
  group.y = tried.reduce((best, y) => (Math.abs(y - wanted) < Math.abs(best - wanted) ? y : best), tried[0] ?? wanted);
}

/** Where a way passes a layer: as near to the height it has as the nodes there let it. */
function passing(y: number, tops: number[]): number {
  const free = (at: number): boolean => tops.every((top) => at <= top - ASIDE || at >= top + NODE.height + ASIDE);
  const tried = [y, ...tops.flatMap((top) => [top - ASIDE, top + NODE.height + ASIDE])].filter(free);
  return tried.reduce((best, at) => (Math.abs(at - y) < Math.abs(best - y) ? at : best), tried[0] ?? y);
}

/** From node to node, in each layer on the way between the nodes that stand there, and not behind them: it bends in the gaps. */
function wayOf(from: Placed, to: Placed, columns: Map<number, number[]>): string {
  let [x, y] = [from.x + NODE.width, from.y + NODE.height / 2];
  let path = `M${x} ${y}`;
  const end = to.y + NODE.height / 2;
  const bendTo = (nextX: number, nextY: number): void => {
    const bend = Math.max(24, Math.abs(nextX - x) / 2);
    path += ` C${x + bend} ${y} ${nextX - bend} ${nextY} ${nextX} ${nextY}`;
    [x, y] = [nextX, nextY];
  };
  for (let layer = from.layer + 1; layer < to.layer; layer += 1) {
    const next = passing(y, columns.get(layer) ?? []);
    const left = layer * STEP.x + PAD;
    if (next !== y) bendTo(left, next);
    x = left + NODE.width;
    path += ` H${x}`;
  }
  bendTo(to.x, end);
  return path;
}

export function arrangeInGroups(boxes: Box[], edges: GraphEdge[]): GroupedLayout {
  const base = arrange(boxes, edges);
  const wide = 1 + Math.max(0, ...[...base.nodes.values()].map((node) => node.layer));
  const layerOf = followingLayers(boxes, edges, 2 * wide + 2) ?? new Map([...base.nodes].map(([id, node]) => [id, node.layer]));
  const groups = groupsOf(boxes, layerOf, base);
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const { source, target } of edges) {
    if (!base.nodes.has(source) || !base.nodes.has(target)) continue;
    before.set(target, [...(before.get(target) ?? []), source]);
    after.set(source, [...(after.get(source) ?? []), target]);
  }
  const at = new Map<string, number>();
  const stand = (group: Group): void => {
    for (const column of group.columns.values()) {
      const slack = group.height - HEAD - PAD - (column.length * STEP.y - (STEP.y - NODE.height));
      column.forEach((id, index) => at.set(id, group.y + HEAD + slack / 2 + index * STEP.y));
    }
  };
  const placed: Group[] = [];
  for (const group of groups) {
    const near = [...group.columns.values()].flat().flatMap((id) => before.get(id) ?? []).flatMap((id) => at.get(id) ?? []);
    place(group, placed, near.length ? mean(near) + NODE.height / 2 - (group.height + HEAD - PAD) / 2 : 0);
    stand(group);
    placed.push(group);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const around = sweep % 2 ? after : before;
    for (const group of sweep % 2 ? [...groups].reverse() : groups) {
      for (const column of group.columns.values()) {
        const want = new Map(column.map((id) => {
          const near = (around.get(id) ?? []).map((other) => at.get(other) ?? 0);
          return [id, near.length ? mean(near) : (at.get(id) ?? 0)] as const;
        }));
        column.sort((a, b) => (want.get(a) ?? 0) - (want.get(b) ?? 0));
      }
      stand(group);
    }
  }
  const top = Math.min(0, ...groups.map((group) => group.y));
  const nodes = new Map([...base.nodes].map(([id, one]): [string, Placed] => {
    const layer = layerOf.get(id) ?? one.layer;
    return [id, { layer, x: layer * STEP.x + PAD, y: Math.round((at.get(id) ?? 0) - top) }];
  }));
  const frames = groups.filter((group) => !group.name.startsWith(LOOSE)).map((group) => ({
    name: group.name, x: group.first * STEP.x, y: Math.round(group.y - top), width: (group.last - group.first) * STEP.x + NODE.width + 2 * PAD, height: Math.round(group.height),
  }));
  const columns = new Map<number, number[]>();
  for (const node of nodes.values()) columns.set(node.layer, [...(columns.get(node.layer) ?? []), node.y]);
  const paths = new Map<string, string>();
  for (const edge of edges) {
    const [from, to] = [nodes.get(edge.source), nodes.get(edge.target)];
    if (from && to) paths.set(edgeKey(edge), wayOf(from, to, columns));
  }
  const layersInUse = 1 + Math.max(0, ...groups.map((group) => group.last));
  return { nodes, paths, frames, width: layersInUse * STEP.x - (STEP.x - NODE.width) + 2 * PAD, height: Math.max(0, ...groups.map((group) => group.y - top + group.height)) };
}
