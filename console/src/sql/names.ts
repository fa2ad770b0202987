/** What completion knows of the account: asked when it is first needed, and again when something was made or dropped. */
import { query } from "../api";
import type { Known } from "./complete";

export type Names = Pick<Known, "objects" | "columns" | "functions">;

let kept: Promise<Names> | null = null;

export function forgetNames(): void {
  kept = null;
}

export function names(): Promise<Names> {
  const asked = kept ??= load();
  asked.catch(() => { if (kept === asked) kept = null; });
  return asked;
}

const typeOf = (text: string): string => {
  try {
    return String((JSON.parse(text) as { type?: string }).type ?? text);
  } catch {
    return text;
  }
};

async function load(): Promise<Names> {
  const [found, described, builtin, own] = await Promise.all([
    query("SHOW OBJECTS IN ACCOUNT"), query("SHOW COLUMNS IN ACCOUNT"), query("SHOW BUILTIN FUNCTIONS"), query("SHOW USER FUNCTIONS IN ACCOUNT").catch(() => []),
  ]);
  const objects = new Map<string, string>();
  for (const row of found) objects.set(`${row["database_name"]}.${row["schema_name"]}.${row["name"]}`, row["is_dynamic"] === "Y" ? "DYNAMIC TABLE" : String(row["kind"]));
  const columns = new Map<string, { name: string; type: string }[]>();
  for (const row of described) {
    const full = `${row["database_name"]}.${row["schema_name"]}.${row["table_name"]}`;
    const column = { name: String(row["column_name"]), type: typeOf(String(row["data_type"] ?? "")) };
    const known = columns.get(full);
    if (known) known.push(column);
    else columns.set(full, [column]);
  }
  const functions = new Map([...builtin, ...own].map((row) => [String(row["name"]), String(row["description"] ?? "")] as const));
  return { objects, columns, functions };
}
