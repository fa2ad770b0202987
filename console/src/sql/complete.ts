/** What can stand at a place in SQL: objects, the columns of the tables that the statement names, functions, words. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import { KEYWORDS, TYPES } from "./words";

export interface Known {
  /** Columns by the table's full name. */
  columns: Map<string, { name: string; type: string }[]>;
  /** Kinds by full name. */
  objects: Map<string, string>;
  /** What each function takes, by its name. */
  functions: Map<string, string>;
  database: string | null;
  schema: string | null;
}

const SILENT = new Set(["String", "LineComment", "BlockComment"]);

const plain = (name: string): string => (/^[A-Z_][A-Z0-9_$]*$/.test(name) ? name.toLowerCase() : `"${name}"`);

/** The tables that a statement names, by the names and aliases under which their columns stand. */
export function tablesIn(text: string, known: Known): Map<string, string> {
  const found = new Map<string, string>();
  const pattern = /\b(?:from|join|into|update|table)\s+((?:"[^"]+"|[\w$]+)(?:\s*\.\s*(?:"[^"]+"|[\w$]+)){0,2})(?:\s+(?:as\s+)?((?!on\b|where\b|join\b|left\b|right\b|inner\b|full\b|cross\b|group\b|order\b|using\b|set\b|values\b|qualify\b|limit\b)[\w$]+))?/gi;
  for (const match of text.matchAll(pattern)) {
    const parts = (match[1] ?? "").split(".").map((part) => part.trim()).map((part) => (part.startsWith('"') ? part.slice(1, -1) : part.toUpperCase()));
    const full = resolved(parts, known);
    if (!full) continue;
    found.set((parts.at(-1) ?? "").toUpperCase(), full);
    if (match[2]) found.set(match[2].toUpperCase(), full);
  }
  return found;
}

export function resolved(parts: string[], known: Known): string | null {
  const whole = [known.database ?? "", known.schema ?? ""].slice(0, Math.max(0, 3 - parts.length)).concat(parts).join(".");
  return known.objects.has(whole) ? whole : null;
}

const PATIENCE_MS = 200;

/** The whole text as the language reads it. The editor reads on when there is time; who asks now needs it now. */
const read = (state: EditorState): ReturnType<typeof syntaxTree> => ensureSyntaxTree(state, state.doc.length, PATIENCE_MS) ?? syntaxTree(state);

/** The statement around a position, as the language reads it: a `;` within a string or a comment ends nothing. */
export function statementAround(state: EditorState, position: number): string {
  const tree = read(state);
  let node = tree.resolveInner(position, -1);
  while (node.parent && node.name !== "Statement") node = node.parent;
  if (node.name === "Statement") return state.sliceDoc(node.from, node.to);
  // Behind the last statement, or where none has begun.
  const before = tree.resolveInner(position, -1).childBefore(position);
  const text = before?.name === "Statement" ? state.sliceDoc(before.from, position) : "";
  return text.trimEnd().endsWith(";") ? "" : text;
}

/** Names that WITH gives to queries of the statement. */
export function namedQueries(statement: string): string[] {
  return [...statement.matchAll(/(?:\bwith\s+(?:recursive\s+)?|,\s*)([\w$]+|"[^"]+")\s*(?:\([^()]*\)\s*)?as\s*\(/gi)].map((match) => match[1] ?? "");
}

function columnsOf(full: string, known: Known, boost: number): Completion[] {
  return (known.columns.get(full) ?? []).map((column) => ({ label: plain(column.name), detail: column.type, type: "property", boost }));
}

function below(path: string[], known: Known): Completion[] {
  const prefix = `${path.join(".")}.`;
  const next = new Map<string, string>();
  for (const [full, kind] of known.objects) {
    if (!full.startsWith(prefix)) continue;
    const rest = full.slice(prefix.length).split(".");
    next.set(rest[0] ?? "", rest.length === 1 ? kind : "schema");
  }
  return [...next].map(([name, kind]) => ({ label: plain(name), detail: kind.toLowerCase().replace("_", " "), type: "class" }));
}

/** What may follow a dot: columns of a table or alias, what a schema or database has. */
function inside(names: string[], statement: string, facts: Known): Completion[] {
  const table = names.length === 1 ? tablesIn(statement, facts).get(names[0] ?? "") : resolved(names, facts);
  const here = names.length === 1 && facts.database ? below([facts.database, ...names], facts) : [];
  return [...(table ? columnsOf(table, facts, 2) : []), ...below(names, facts), ...here];
}

function anywhere(statement: string, facts: Known): Completion[] {
  const options: Completion[] = [];
  for (const full of new Set(tablesIn(statement, facts).values())) options.push(...columnsOf(full, facts, 3));
  for (const [full, kind] of facts.objects) {
    const [database = "", schema = "", name = ""] = full.split(".");
    const here = database === facts.database && schema === facts.schema;
    const label = here ? plain(name) : database === facts.database ? `${plain(schema)}.${plain(name)}` : [database, schema, name].map(plain).join(".");
    options.push({ label, detail: kind.toLowerCase().replace("_", " "), type: "class", boost: here ? 2 : 0 });
  }
  options.push(...namedQueries(statement).map((name) => ({ label: name, detail: "query", type: "class", boost: 2 })));
  options.push(...[...facts.functions].map(([name, takes]) => ({ label: name.toLowerCase(), apply: `${name.toLowerCase()}(`, detail: takes || "function", type: "function", boost: -1 })));
  options.push(...[...KEYWORDS, ...TYPES].map((name) => ({ label: name.toLowerCase(), type: "keyword", boost: -2 })));
  return options;
}

/** In capitals for who types capitals, where case means nothing. */
function spelled(option: Completion, typed: string): Completion {
  if (typed === "" || typed !== typed.toUpperCase() || typed === typed.toLowerCase() || option.label.includes('"')) return option;
  return { ...option, label: option.label.toUpperCase(), ...(typeof option.apply === "string" ? { apply: option.apply.toUpperCase() } : {}) };
}

/** Waits for what is known: a list that opens earlier would stay without tables and columns. */
export function completer(known: () => Promise<Known>): (context: CompletionContext) => Promise<CompletionResult | null> {
  return async (context) => {
    if (SILENT.has(read(context.state).resolveInner(context.pos, -1).name)) return null;
    const facts = await known();
    if (context.aborted) return null;
    const statement = statementAround(context.state, context.pos);
    const path = context.matchBefore(/(?:(?:"[^"]*"|[\w$]+)\.)+[\w$]*/);
    const parts = path?.text.split(".") ?? [];
    const word = path ? null : context.matchBefore(/[\w$]+/);
    if (!path && !word && !context.explicit) return null;
    const typed = path ? (parts.pop() ?? "") : (word?.text ?? "");
    const names = parts.map((part) => (part.startsWith('"') ? part.slice(1, -1) : part.toUpperCase()));
    const options = (path ? inside(names, statement, facts) : anywhere(statement, facts)).map((option) => spelled(option, typed));
    // What is whole needs no list, in which Enter would do something else than begin a line.
    if (!context.explicit && options.some((option) => option.label.toLowerCase() === typed.toLowerCase())) return null;
    return { from: context.pos - typed.length, options };
  };
}
