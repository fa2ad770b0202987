/** What a table is made from, or what is made from it: each object once, as near as it is, with what kind it really is. */
import type { JSX } from "preact";
import { getJson, type Row } from "../../api";
import { qualified, type Named } from "../../graph/actions";
import type { GraphData } from "../../graph/model";
import { href } from "../../router";
import { optional } from "./shared";

const STEPS = 5;
const key = (database: unknown, schema: unknown, name: unknown): string => JSON.stringify([database ?? null, schema ?? null, name]);

/** Lineage calls everything that has rows a table; the graph knows better. */
export function onceEach(rows: Row[], end: "source" | "target", kinds: Map<string, string>): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) {
    const [database, schema, name] = ["database", "schema", "name"].map((part) => row[`${end}_object_${part}`] ?? null);
    const id = key(database, schema, name);
    const before = found.get(id);
    if (before && Number(before["distance"]) <= Number(row["distance"])) continue;
    const kind = kinds.get(id) ?? String(row[`${end}_object_domain`] ?? "");
    found.set(id, { database: database ?? null, schema: schema ?? null, name: name ?? null, kind: kind.toLowerCase().replaceAll("_", " "), distance: row["distance"] ?? null });
  }
  return [...found.values()].sort((a, b) => Number(a["distance"]) - Number(b["distance"]) || String(a["name"]).localeCompare(String(b["name"])));
}

export async function relatives(node: Named, way: "UPSTREAM" | "DOWNSTREAM"): Promise<Row[]> {
  const [rows, graph] = await Promise.all([
    optional(`SELECT * FROM TABLE(SNOWFLAKE.CORE.GET_LINEAGE(?, 'TABLE', '${way}', ${STEPS}))`, [qualified(node)]), getJson<GraphData>("/graph"),
  ]);
  return onceEach(rows, way === "UPSTREAM" ? "source" : "target", new Map(graph.nodes.map((one) => [key(one.database, one.schema, one.name), one.kind])));
}

export function RelativeLink({ of }: { of: Row }): JSX.Element {
  const [database, schema, name] = ["database", "schema", "name"].map((part) => String(of[part] ?? ""));
  return of["schema"] ? <a class="link" href={href("table", database ?? "", schema ?? "", name ?? "")} title={`${database}.${schema}.${name}`}>{name}</a> : <span title={name}>{name}</span>;
}
