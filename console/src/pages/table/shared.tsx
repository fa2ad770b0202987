/** What the parts of a table's page share. */
import type { ComponentChildren, JSX } from "preact";
import { ApiError, query, type Row, type Value } from "../../api";
import { Empty, Failure, Spinner } from "../../ui/parts";

/** Not there, or not for this role. Anything else is an error that somebody must see: no answer is not "none". */
const MAY_NOT = new Set(["002003", "002043", "003001", "090105", "000606"]);

export const mayNot = (error: unknown): boolean => error instanceof ApiError && MAY_NOT.has(error.error.code);

/** Rows, or none where the role may not ask. */
export async function optional(sql: string, binds?: Value[]): Promise<Row[]> {
  try {
    return await query(sql, binds);
  } catch (error) {
    if (mayNot(error)) return [];
    throw error;
  }
}

/** What a list is made of: an answer, with the error that came instead. */
export interface Asked { value: Row[] | undefined; error: unknown }

export function List({ of, columns, empty }: { of: Asked; columns: [string, string, ((value: Value, row: Row) => ComponentChildren)?][]; empty: string }): JSX.Element {
  const rows = of.value;
  if (of.error) return <div class="body"><Failure error={of.error} /></div>;
  if (!rows) return <Spinner />;
  if (rows.length === 0) return <Empty title={empty} />;
  return (
    <div class="scroll-x" tabIndex={0}><table class="list">
      <thead><tr>{columns.map(([key, label]) => <th key={key}>{label}</th>)}</tr></thead>
      <tbody>{rows.map((row, index) => <tr key={index}>{columns.map(([key, , show]) => <td key={key} class="clip ellipsis">{show ? show(row[key] ?? null, row) : String(row[key] ?? "")}</td>)}</tr>)}</tbody>
    </table></div>
  );
}
