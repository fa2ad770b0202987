/** What can be done with an object, and the statements that do it. */
import { quoted, run } from "../api";

export interface Named { kind: string; database: string | null; schema: string | null; name: string }
export interface Deed { label: string; icon: string; sql: string }

export const qualified = (node: Named): string => [node.database, node.schema, node.name].map((part) => quoted(part ?? "")).join(".");

const WORDS: Record<string, string> = { DYNAMIC_TABLE: "DYNAMIC TABLE", TASK: "TASK", ALERT: "ALERT", CONNECTOR: "CONNECTOR" };

export function deeds(node: Named): Deed[] {
  const word = WORDS[node.kind];
  if (!word) return [];
  const name = qualified(node);
  const alter = (verb: string, label: string, icon: string): Deed => ({ label, icon, sql: `ALTER ${word} ${name} ${verb}` });
  if (node.kind === "CONNECTOR") return [alter("RESUME", "Resume", "play"), alter("PAUSE", "Pause", "pause")];
  const both = [alter("RESUME", "Resume", "play"), alter("SUSPEND", "Suspend", "pause")];
  if (node.kind === "DYNAMIC_TABLE") return [alter("REFRESH", "Refresh", "refresh"), ...both];
  return [{ label: "Run now", icon: "refresh", sql: `EXECUTE ${word} ${name}` }, ...both];
}

export const perform = (deed: Deed): Promise<unknown> => run(deed.sql);
