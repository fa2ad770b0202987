/** What can be done with an object, and the statements that do it. */
import { quoted, run } from "../api";

export interface Named { kind: string; database: string | null; schema: string | null; name: string; state?: string }
export interface Deed { label: string; icon: string; sql: string }

export const qualified = (node: Named): string => [node.database, node.schema, node.name].map((part) => quoted(part ?? "")).join(".");

/** The name as the server writes it: quoted where SQL needs that. */
export const fullName = (node: Pick<Named, "database" | "schema" | "name">): string =>
  [node.database, node.schema, node.name].map((part) => (/^[A-Z_][A-Z0-9_$]*$/.test(part ?? "") ? part : quoted(part ?? ""))).join(".");

const WORDS: Record<string, string> = { DYNAMIC_TABLE: "DYNAMIC TABLE", TASK: "TASK", ALERT: "ALERT", CONNECTOR: "CONNECTOR" };
const RESTS = new Set(["suspended", "paused"]);

/** What makes sense for it as it stands: what rests is resumed, what works is suspended; both where that is not known. */
export function deeds(node: Named): Deed[] {
  const word = WORDS[node.kind];
  if (!word) return [];
  const name = qualified(node);
  const alter = (verb: string, label: string, icon: string): Deed => ({ label, icon, sql: `ALTER ${word} ${name} ${verb}` });
  const state = (node.state ?? "").toLowerCase();
  const pause = node.kind === "CONNECTOR" ? alter("PAUSE", "Pause", "pause") : alter("SUSPEND", "Suspend", "pause");
  const resume = alter("RESUME", "Resume", "play");
  const change = state === "" ? [resume, pause] : RESTS.has(state) ? [resume] : node.kind === "CONNECTOR" && state === "failed" ? [resume, pause] : [pause];
  if (node.kind === "CONNECTOR") return change;
  const now = node.kind === "DYNAMIC_TABLE" ? alter("REFRESH", "Refresh", "refresh") : { label: "Run now", icon: "refresh", sql: `EXECUTE ${word} ${name}` };
  return [now, ...change];
}

export const perform = (deed: Deed): Promise<unknown> => run(deed.sql);
