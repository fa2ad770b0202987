/** Worksheets and what was run in them: kept in this browser, for each user apart, and never with a secret. */
import { useEffect, useRef, useState } from "preact/hooks";
import { who } from "../../state";

export interface Sheet { id: string; title: string; text: string }
export interface Past { sql: string; at: number; status: string; ms: number; rows: number | null }

const MOST = 20;
const MOST_HISTORY = 200;
const FIRST = "-- Ctrl-Enter runs the statement under the cursor.\nSHOW DYNAMIC TABLES IN ACCOUNT;\n";

const keyOf = (what: string): string => `snowmelt.${what}.${who.value?.user ?? ""}`;

function stored<T>(what: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(keyOf(what)) ?? "null") as T | null) ?? fallback;
  } catch {
    return fallback;
  }
}

function store(what: string, value: unknown): void {
  try {
    localStorage.setItem(keyOf(what), JSON.stringify(value));
  } catch {
    // A full store keeps what it has: worksheets work without.
  }
}

/** What the server calls secret in statements of this page, and what stands for it where texts are kept. */
const secrets = new Map<string, string>();

export function hide(statement: string, redacted: string): void {
  secrets.set(statement, redacted);
}

export function withoutSecrets(text: string): string {
  let shown = text;
  for (const [statement, redacted] of secrets) shown = shown.replaceAll(statement, redacted);
  return shown;
}

/** The next number that no worksheet has. */
export function fresh(sheets: Sheet[], text = FIRST): Sheet {
  let number = 1;
  while (sheets.some((sheet) => sheet.title === `Worksheet ${number}`)) number += 1;
  return { id: `w${Date.now().toString(36)}${Math.round(Math.random() * 1e6)}`, title: `Worksheet ${number}`, text };
}

export const isUntouched = (sheet: Sheet): boolean => sheet.text.trim() === "" || sheet.text === FIRST;

export interface Sheets {
  all: Sheet[];
  current: Sheet;
  choose: (id: string) => void;
  add: (text?: string) => void;
  close: (id: string) => void;
  change: (id: string, part: Partial<Sheet>) => void;
}

export function useSheets(): Sheets {
  const [all, setAll] = useState<Sheet[]>(() => { const found = stored<Sheet[]>("worksheets", []); return found.length ? found : [fresh([])]; });
  const [id, setId] = useState(() => stored<string>("worksheet", ""));
  const current = all.find((sheet) => sheet.id === id) ?? (all[0] as Sheet);
  const latest = useRef(all);
  latest.current = all;
  useEffect(() => store("worksheets", all.slice(-MOST).map((sheet) => ({ ...sheet, text: withoutSecrets(sheet.text) }))), [all]);
  useEffect(() => store("worksheet", current.id), [current.id]);
  useEffect(() => {
    // Another window of this browser made a worksheet, or closed one.
    const listen = (event: StorageEvent): void => {
      if (event.key !== keyOf("worksheets")) return;
      const own = new Map(latest.current.map((sheet) => [sheet.id, sheet]));
      const theirs = stored<Sheet[]>("worksheets", []).map((sheet) => own.get(sheet.id) ?? sheet);
      if (theirs.length && theirs.some((sheet, index) => sheet.id !== latest.current[index]?.id)) setAll(theirs);
    };
    window.addEventListener("storage", listen);
    return () => window.removeEventListener("storage", listen);
  }, []);
  return {
    all, current, choose: setId,
    add: (text) => { const made = fresh(all, text); setAll((before) => [...before, made]); setId(made.id); },
    close: (closed) => {
      const at = all.findIndex((sheet) => sheet.id === closed);
      const left = all.filter((sheet) => sheet.id !== closed);
      if (closed === current.id) setId(left[Math.max(0, at - 1)]?.id ?? "");
      setAll(left.length ? left : [fresh([])]);
    },
    change: (changed, part) => setAll((before) => before.map((sheet) => (sheet.id === changed ? { ...sheet, ...part } : sheet))),
  };
}

export const pastStatements = (): Past[] => stored<Past[]>("history", []);

export function remember(one: Past): Past[] {
  const next = [one, ...pastStatements()].slice(0, MOST_HISTORY);
  store("history", next);
  return next;
}

const SPLIT = "snowmelt.split";

/** How much of the height the text has; the result has the rest. */
export function useSplit(): [number, (share: number) => void] {
  const [share, setShare] = useState(() => Number(localStorage.getItem(SPLIT)) || 0.42);
  return [share, (wanted) => {
    const next = Math.min(Math.max(wanted, 0.12), 0.85);
    setShare(next);
    localStorage.setItem(SPLIT, String(next));
  }];
}
