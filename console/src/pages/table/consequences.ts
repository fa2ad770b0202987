/** What a new query of a dynamic table would change for others: columns, contracts, cost. Nothing is altered. */
import { query, run, type Row } from "../../api";
import { fullName, qualified, type Named } from "../../graph/actions";
import { optional } from "./shared";

export interface ColumnChange { name: string; what: string; breaks: boolean }
export interface Consequences { columns: ColumnChange[]; readers: string[]; contracts: { name: string; consumers: string }[]; cost: { now: number; full: number | null } | null }

/** A column that is gone or has another type breaks who reads it; a new one breaks nobody. */
export function comparedColumns(before: { name: string; type: string }[], after: { name: string; type: string }[]): ColumnChange[] {
  const now = new Map(after.map((one) => [one.name, one.type]));
  const was = new Map(before.map((one) => [one.name, one.type]));
  return [
    ...before.filter((one) => !now.has(one.name)).map((one) => ({ name: one.name, what: "is gone", breaks: true })),
    ...before.filter((one) => now.has(one.name) && now.get(one.name) !== one.type).map((one) => ({ name: one.name, what: `${one.type} becomes ${now.get(one.name) ?? ""}`, breaks: true })),
    ...after.filter((one) => !was.has(one.name)).map((one) => ({ name: one.name, what: "is new", breaks: false })),
  ];
}

/** The query in the text of CREATE DYNAMIC TABLE; null where there is none, as in that of a dimension. */
export function queryOf(ddl: string): string | null {
  return /\bAS\b\s*((?:\(\s*)*(?:SELECT|WITH)\b[\s\S]*?);?\s*$/i.exec(ddl)?.[1] ?? null;
}

const columnsOf = async (sql: string): Promise<{ name: string; type: string }[]> => ((await run(sql)).columns ?? []).map(({ name, type }) => ({ name, type }));

export async function consequences(node: Named, definition: string): Promise<Consequences> {
  const full = fullName(node);
  const [before, after, lineage, contracts, costs] = await Promise.all([
    columnsOf(`SELECT * FROM ${qualified(node)} LIMIT 0`),
    columnsOf(`SELECT * FROM (\n${definition}\n) LIMIT 0`),
    optional("SELECT * FROM TABLE(SNOWFLAKE.CORE.GET_LINEAGE(?, 'TABLE', 'DOWNSTREAM', 5))", [qualified(node)]),
    optional("SHOW CONTRACTS IN ACCOUNT"),
    query("SELECT SYSTEM$COST_REPORT(1, ?) AS report", [full]).catch((): Row[] => []),
  ]);
  const report = JSON.parse(String(costs[0]?.["report"] ?? "{}")) as { tables?: { cost_per_day: number; full_cost_per_day: number | null }[] };
  const cost = report.tables?.[0];
  return {
    columns: comparedColumns(before, after),
    readers: [...new Set(lineage.map((row) => `${String(row["target_object_schema"])}.${String(row["target_object_name"])}`))],
    contracts: contracts.filter((row) => String(row["attached_to"] ?? "").split(", ").includes(full)).map((row) => ({ name: String(row["name"]), consumers: String(row["consumers"] ?? "") })),
    cost: cost ? { now: cost.cost_per_day, full: cost.full_cost_per_day } : null,
  };
}
