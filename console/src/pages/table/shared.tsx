/** What the parts of a table's page share. */
import type { ComponentChildren, JSX } from "preact";
import { query, type Row, type Value } from "../../api";
import { Empty, Spinner } from "../../ui/parts";

/** Rows, or none where the role may not ask. */
export async function optional(sql: string, binds?: Value[]): Promise<Row[]> {
  try {
    return await query(sql, binds);
  } catch {
    return [];
  }
}

export function List({ rows, columns, empty }: { rows: Row[] | undefined; columns: [string, string, ((value: Value, row: Row) => ComponentChildren)?][]; empty: string }): JSX.Element {
  if (!rows) return <Spinner />;
  if (rows.length === 0) return <Empty title={empty} />;
  return (
    <div class="scroll-x"><table class="list">
      <thead><tr>{columns.map(([key, label]) => <th key={key}>{label}</th>)}</tr></thead>
      <tbody>{rows.map((row, index) => <tr key={index}>{columns.map(([key, , show]) => <td key={key} class="clip ellipsis">{show ? show(row[key] ?? null, row) : String(row[key] ?? "")}</td>)}</tr>)}</tbody>
    </table></div>
  );
}
