/** The graph as the server gives it. */
import { href } from "../router";

export interface GraphNode {
  id: string;
  kind: string;
  name: string;
  database: string | null;
  schema: string | null;
  full_name: string;
  state: string;
  rows?: number | null;
  behind?: number | null;
  limit?: number | null;
  updated_at?: string | null;
  refreshed_at?: string | null;
  mode?: string;
  action?: string | null;
  inserted?: number;
  deleted?: number;
  running?: boolean;
  message?: string | null;
  last_run?: string;
  last_run_at?: string | null;
}

export interface GraphEdge {
  source: string;
  target: string;
  kind: string;
}

export interface GraphData {
  now: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
}

const RELATIONS = new Set(["TABLE", "VIEW", "DYNAMIC_TABLE", "STREAM"]);
const LISTS: Record<string, string> = { TASK: "tasks", ALERT: "alerts", CONNECTOR: "connectors", CHANNEL: "channels", DATA_PRODUCT: "products" };

/** How lists name a row: by its whole name, a channel with its table's. */
export const keyOfRow = (row: Record<string, unknown>): string => [row["database_name"], row["schema_name"], row["table_name"], row["name"]].filter((part) => part !== undefined && part !== null).join(".");

/** The address of the page that shows a node. */
export function pageOf(node: Pick<GraphNode, "kind" | "name" | "database" | "schema" | "id">): string {
  if (RELATIONS.has(node.kind) && node.database && node.schema) return href("table", node.database, node.schema, node.name);
  const list = LISTS[node.kind];
  const key = keyOfRow({ database_name: node.database, schema_name: node.schema, name: node.name });
  return list ? `${href(list)}?of=${encodeURIComponent(node.kind === "CHANNEL" ? node.id.replace(/^CHANNEL:/, "") : key)}` : `${href("graph")}?select=${encodeURIComponent(node.id)}`;
}

/** The newer graph, with the objects of the older one for nodes that stand as they stood: what is drawn of them stays. */
export function keepSame(before: GraphData | undefined, after: GraphData): GraphData {
  if (!before) return after;
  const known = new Map(before.nodes.map((node) => [node.id, node]));
  const nodes = after.nodes.map((node) => {
    const was = known.get(node.id);
    return was && JSON.stringify(was) === JSON.stringify(node) ? was : node;
  });
  return { ...after, nodes };
}

/** Everything that leads to a node, and everything that it leads to. */
export function related(edges: GraphEdge[], start: string): { up: Set<string>; down: Set<string> } {
  const walk = (from: (edge: GraphEdge) => string, to: (edge: GraphEdge) => string): Set<string> => {
    const next = new Map<string, string[]>();
    for (const edge of edges) {
      const known = next.get(from(edge));
      if (known) known.push(to(edge));
      else next.set(from(edge), [to(edge)]);
    }
    const seen = new Set<string>();
    const waiting = [start];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      for (const found of next.get(at) ?? []) {
        if (!seen.has(found)) {
          seen.add(found);
          waiting.push(found);
        }
      }
    }
    return seen;
  };
  return {
    up: walk((edge) => edge.target, (edge) => edge.source),
    down: walk((edge) => edge.source, (edge) => edge.target),
  };
}
