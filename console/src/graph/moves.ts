/** Where an arrow key leads from a node: along its edges to the sides, up and down within its column. */
import type { Placed } from "./layout";
import type { GraphEdge } from "./model";

type Way = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";
const WAYS: ReadonlySet<string> = new Set<Way>(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

export const isWay = (key: string): key is Way => WAYS.has(key);

/** The nearest of some nodes, where a column away counts more than any height. */
function nearest(ids: string[], from: Placed, nodes: Map<string, Placed>): string | null {
  let found: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const id of ids) {
    const at = nodes.get(id);
    if (!at) continue;
    const far = Math.abs(at.layer - from.layer) * 1e6 + Math.abs(at.y - from.y);
    if (far < least) { found = id; least = far; }
  }
  return found;
}

export function neighbour(id: string, way: Way, nodes: Map<string, Placed>, edges: GraphEdge[]): string | null {
  const from = nodes.get(id);
  if (!from) return null;
  const others = [...nodes].filter(([other]) => other !== id);
  if (way === "ArrowUp" || way === "ArrowDown") {
    const down = way === "ArrowDown";
    return nearest(others.filter(([, at]) => at.layer === from.layer && (down ? at.y > from.y : at.y < from.y)).map(([other]) => other), from, nodes);
  }
  const right = way === "ArrowRight";
  const linked = edges.filter((edge) => (right ? edge.source : edge.target) === id).map((edge) => (right ? edge.target : edge.source));
  return nearest(linked, from, nodes) ?? nearest(others.filter(([, at]) => (right ? at.layer > from.layer : at.layer < from.layer)).map(([other]) => other), from, nodes);
}
