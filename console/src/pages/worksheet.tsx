import "./worksheet.css";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, query, statements, type Context, type Piece, type Statement } from "../api";
import { ago, count, duration, plural } from "../format";
import { useLive } from "../live";
import { place } from "../router";
import { who } from "../state";
import { completer, type Known } from "../sql/complete";
import { Editor, type EditorHandle } from "../sql/editor";
import { errorPosition } from "../sql/errors";
import { chosenPieces } from "../sql/pieces";
import { ResultGrid, type Source } from "../ui/grid";
import { Badge, Empty, Failure, Icon, say, useAnswer } from "../ui/parts";
import { QuickChart } from "./quickchart";

interface Sheet { id: string; title: string; text: string }
interface Past { sql: string; at: number; status: string; ms: number; rows: number | null }
interface Shown { piece: Piece; statement: Statement | null; error: unknown }

const SHEETS = "snowmelt.worksheets";
const HISTORY = "snowmelt.history";
const MOST_HISTORY = 200;
const FIRST = "-- Ctrl-Enter runs the statement under the cursor.\nSHOW DYNAMIC TABLES IN ACCOUNT;\n";

function stored<T>(key: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? fallback;
  } catch {
    return fallback;
  }
}

const fresh = (number: number, text = FIRST): Sheet => ({ id: `w${Date.now().toString(36)}${Math.round(Math.random() * 1e6)}`, title: `Worksheet ${number}`, text });

async function loadKnown(): Promise<Pick<Known, "objects" | "columns">> {
  const objects = new Map<string, string>();
  for (const row of await query("SHOW OBJECTS IN ACCOUNT")) {
    objects.set(`${row["database_name"]}.${row["schema_name"]}.${row["name"]}`, row["is_dynamic"] === "Y" ? "DYNAMIC TABLE" : String(row["kind"]));
  }
  const columns = new Map<string, { name: string; type: string }[]>();
  for (const row of await query("SHOW COLUMNS IN ACCOUNT")) {
    const full = `${row["database_name"]}.${row["schema_name"]}.${row["table_name"]}`;
    let type = String(row["data_type"] ?? "");
    try { type = String((JSON.parse(type) as { type?: string }).type ?? type); } catch { /* It is a plain name already. */ }
    const known = columns.get(full);
    const column = { name: String(row["column_name"]), type };
    if (known) known.push(column);
    else columns.set(full, [column]);
  }
  return { objects, columns };
}

function sourceOf(statement: Statement): Source | null {
  if (!statement.columns) return null;
  return {
    columns: statement.columns, count: statement.row_count ?? 0, first: statement.rows ?? [],
    fetch: (offset, limit) => statements.rows(statement.id, offset, limit),
  };
}

/** What runs, and how far it is: Spark's stages, once it has some. */
function Running({ text, statement }: { text: string; statement: Statement | null }): JSX.Element {
  const progress = statement?.progress;
  return (
    <Empty title={statement?.waits ? "Waiting for its turn" : "Running"}>
      <code>{text.slice(0, 120)}</code>
      {progress ? (
        <div class="progress">
          <div class="bar" role="progressbar" aria-label="Tasks" aria-valuemin={0} aria-valuemax={progress.tasks} aria-valuenow={progress.tasks_done}>
            <i style={{ width: `${(100 * progress.tasks_done) / Math.max(progress.tasks, 1)}%` }} />
          </div>
          <span data-testid="progress">{progress.text}</span>
        </div>
      ) : <div class="spinner" role="status" aria-label="Running" />}
    </Empty>
  );
}

function Result({ shown, chart }: { shown: Shown | undefined; chart: boolean }): JSX.Element {
  const source = useMemo(() => (shown?.statement ? sourceOf(shown.statement) : null), [shown?.statement]);
  if (!shown) return <Empty icon="worksheet" title="Results show here">Ctrl-Enter runs the statement under the cursor.</Empty>;
  if (shown.error) return <div class="pad"><Failure error={shown.error} /></div>;
  if (!shown.statement || shown.statement.status === "running") {
    return <Running text={shown.piece.text} statement={shown.statement} />;
  }
  if (!source) return <Empty icon="check" title="Done" />;
  if (source.count === 0) return <Empty icon="table" title="No rows">The statement succeeded and gave none.</Empty>;
  return chart ? <QuickChart columns={source.columns} rows={source.first} key={shown.statement.id} /> : <ResultGrid source={source} />;
}

function History({ past, take }: { past: Past[]; take: (sql: string) => void }): JSX.Element {
  if (past.length === 0) return <Empty icon="history" title="Nothing was run here yet" />;
  return (
    <ul class="history pad" style={{ padding: 0 }}>
      {past.map((one, index) => (
        <li key={index} tabIndex={0} onClick={() => take(one.sql)} onKeyDown={(event) => { if (event.key === "Enter") take(one.sql); }}>
          <code class="ellipsis">{one.sql.replaceAll(/\s+/g, " ")}</code>
          <Badge state={one.status} />
          <span class="faint number">{one.rows === null ? "" : `${plural(one.rows, "row")} · `}{duration(one.ms / 1000)} · {ago(new Date(one.at).toISOString())}</span>
        </li>
      ))}
    </ul>
  );
}

export function Worksheet(): JSX.Element {
  const [sheets, setSheets] = useState<Sheet[]>(() => stored<Sheet[]>(SHEETS, []));
  const [current, setCurrent] = useState("");
  const given = place.value.query.get("sql");
  useEffect(() => {
    if (given !== null) {
      const made = fresh(sheets.length + 1, given);
      setSheets([...sheets, made]);
      setCurrent(made.id);
      history.replaceState(null, "", "#/worksheet");
    } else if (sheets.length === 0) setSheets([fresh(1)]);
  }, [given]);
  useEffect(() => localStorage.setItem(SHEETS, JSON.stringify(sheets.slice(-20))), [sheets]);
  const sheet = sheets.find((one) => one.id === current) ?? sheets[0];
  if (!sheet) return <Empty title="" />;
  const close = (id: string): void => {
    void statements.closeWorksheet(id).catch(() => undefined);
    setSheets((before) => before.filter((one) => one.id !== id));
  };
  const tabs = (
    <div class="sheets">
      <div role="tablist" aria-label="Worksheets" style={{ display: "flex", gap: "2px" }}>
      {sheets.map((one) => (
        <button type="button" role="tab" key={one.id} aria-selected={one.id === sheet.id} onClick={() => setCurrent(one.id)}
          onAuxClick={(event) => { if (event.button === 1) close(one.id); }}>{one.title}</button>
      ))}
      </div>
      <button type="button" aria-label="New worksheet" onClick={() => { const made = fresh(sheets.length + 1); setSheets([...sheets, made]); setCurrent(made.id); }}><Icon name="plus" size={14} /></button>
      {sheets.length > 1 ? <button type="button" aria-label={`Close ${sheet.title}`} onClick={() => close(sheet.id)}><Icon name="close" size={14} /></button> : null}
    </div>
  );
  return <OneSheet key={sheet.id} sheet={sheet} tabs={tabs} changed={(text) => setSheets((before) => before.map((one) => (one.id === sheet.id ? { ...one, text } : one)))} />;
}

function OneSheet({ sheet, tabs, changed }: { sheet: Sheet; tabs: JSX.Element; changed: (text: string) => void }): JSX.Element {
  const editor = useRef<EditorHandle | null>(null);
  const [runs, setRuns] = useState<Shown[]>([]);
  const [at, setAt] = useState(0);
  const [busy, setBusy] = useState<string | null>(null);
  const [view, setView] = useState<"table" | "chart" | "history">("table");
  const [context, setContext] = useState<Partial<Context>>({ ...(who.value ?? {}) });
  const [past, setPast] = useState<Past[]>(() => stored<Past[]>(HISTORY, []));
  const stopped = useRef(false);
  const known = useAnswer(loadKnown, []);
  useLive(["objects"], known.again, 10_000);
  const warehouses = useAnswer(() => query("SHOW WAREHOUSES"), []);
  const schemas = useAnswer(() => query("SHOW SCHEMAS IN ACCOUNT"), []);
  const facts = useRef<Known>({ objects: new Map(), columns: new Map(), database: null, schema: null });
  facts.current = {
    objects: known.value?.objects ?? new Map<string, string>(), columns: known.value?.columns ?? new Map<string, { name: string; type: string }[]>(),
    database: context.database ?? null, schema: context.schema ?? null,
  };
  const loaded = useMemo(() => {
    let resolve: () => void = () => undefined;
    return { done: new Promise<void>((end) => { resolve = end; }), end: () => resolve() };
  }, []);
  useEffect(() => { if (known.value ?? known.error) loaded.end(); }, [known.value, known.error]);
  const complete = useMemo(() => completer(() => loaded.done.then(() => facts.current)), []);

  const remember = (sql: string, statement: Statement): void => {
    setPast((before) => {
      const next = [{ sql, at: Date.now(), status: statement.status, ms: statement.elapsed_ms, rows: statement.row_count ?? null }, ...before].slice(0, MOST_HISTORY);
      localStorage.setItem(HISTORY, JSON.stringify(next));
      return next;
    });
  };

  /** Runs one statement to its end. False when it failed. */
  const runOne = async (piece: Piece, index: number): Promise<boolean> => {
    const show = (statement: Statement | null, error: unknown): void =>
      setRuns((before) => { const next = [...before]; next[index] = { piece, statement, error }; return next; });
    let found: Statement;
    try {
      found = await statements.start(piece.text, { worksheet: sheet.id, line: piece.line, column: piece.column, wait: 1 });
      setBusy(found.id);
      show(found, null);
      while (found.status === "running") {
        found = await statements.get(found.id, 20, found.progress?.text ?? "");
        show(found, null);
      }
    } catch (error) {
      show(null, error);
      return false;
    }
    setContext(found.context);
    remember(piece.text, found);
    if (!found.error) {
      show(found, null);
      return true;
    }
    show(found, new ApiError(found.error, 200));
    const where = errorPosition(found.error.message);
    if (where) editor.current?.mark(where.line, where.column, found.error.message);
    return false;
  };

  const start = async (all: boolean): Promise<void> => {
    const one = editor.current;
    if (!one || busy !== null) return;
    one.clear();
    stopped.current = false;
    setBusy("");
    try {
      const pieces = chosenPieces(await statements.split(one.text()), one.text(), one.selected(), one.cursor(), all);
      if (pieces.length === 0) say("There is no statement here.");
      setRuns(pieces.map((piece) => ({ piece, statement: null, error: null })));
      if (view === "history") setView("table");
      for (const [index, piece] of pieces.entries()) {
        setAt(index);
        if (stopped.current || !(await runOne(piece, index))) break;
      }
    } catch (error) {
      setRuns([{ piece: { text: "", line: 1, column: 0 }, statement: null, error }]);
    }
    setBusy(null);
  };

  const stop = (): void => {
    stopped.current = true;
    if (busy) void statements.cancel(busy);
  };

  const use = async (sql: string): Promise<void> => {
    try {
      const found = await statements.start(sql, { worksheet: sheet.id });
      if (found.error) say(found.error.message, true);
      setContext(found.context);
    } catch (error) {
      say(String(error), true);
    }
  };

  const shown = runs[at];
  const statement = shown?.statement;
  const ended = statement && statement.status !== "running" ? statement : null;
  const names = (rows: Record<string, unknown>[] | undefined, name: string): string[] => (rows ?? []).map((row) => String(row[name]));
  const spaces = (schemas.value ?? []).filter((row) => row["name"] !== "INFORMATION_SCHEMA").map((row) => `${row["database_name"]}.${row["name"]}`);
  const here = context.database && context.schema ? `${context.database}.${context.schema}` : "";
  const quoted = (path: string): string => path.split(".").map((part) => `"${part}"`).join(".");
  return (
    <div class="worksheet">
      <h1 class="visually-hidden">Worksheet</h1>
      {tabs}
      <div class="bar-top">
        {busy === null ? (
          <button type="button" class="primary" onClick={() => void start(false)}><Icon name="play" size={14} />Run</button>
        ) : (
          <button type="button" onClick={stop}><Icon name="stop" size={14} />Cancel</button>
        )}
        <button type="button" disabled={busy !== null} onClick={() => void start(true)}>Run all</button>
        <span class="space" />
        <select aria-label="Role" value={context.role ?? ""} onChange={(event) => void use(`USE ROLE "${event.currentTarget.value}"`)}>
            {(who.value?.roles ?? []).map((role) => <option key={role}>{role}</option>)}
        </select>
        <select aria-label="Warehouse" value={context.warehouse ?? ""} onChange={(event) => void use(`USE WAREHOUSE "${event.currentTarget.value}"`)}>
            {context.warehouse ? null : <option value="">no warehouse</option>}
            {names(warehouses.value, "name").map((name) => <option key={name}>{name}</option>)}
        </select>
        <select aria-label="Schema" value={here} onChange={(event) => void use(`USE SCHEMA ${quoted(event.currentTarget.value)}`)}>
            {spaces.includes(here) ? null : <option value={here}>{here || "no schema"}</option>}
            {spaces.map((space) => <option key={space}>{space}</option>)}
        </select>
        {context.transaction ? <Badge state="running">transaction open</Badge> : null}
      </div>
      <div class="text">
        <Editor value={sheet.text} label="SQL" complete={complete} run={() => void start(false)} changed={changed} handle={(made) => { editor.current = made; }} />
      </div>
      <div class="bar-result">
        {runs.length > 1 ? (
          <div class="runs" role="group" aria-label="Statements">
            {runs.map((one, index) => (
              <button type="button" class="small plain" key={index} aria-pressed={index === at} onClick={() => setAt(index)}>
                {index + 1}{one.error ? " ✕" : one.statement?.status === "succeeded" ? " ✓" : ""}
              </button>
            ))}
          </div>
        ) : null}
        {ended ? <Badge state={ended.status} /> : statement ? <Badge state="running" /> : null}
        {ended ? <span class="muted" data-testid="summary">{ended.row_count === undefined ? "" : `${plural(ended.row_count, "row")} in `}{duration(ended.elapsed_ms / 1000)}</span> : null}
        {ended?.rows_affected !== null && ended?.rows_affected !== undefined ? <span class="muted">{count(ended.rows_affected)} changed</span> : null}
        <span class="space">
          {(["table", "chart", "history"] as const).map((one) => (
            <button type="button" class="small plain" key={one} aria-pressed={view === one} onClick={() => setView(one)}>{one[0]?.toUpperCase()}{one.slice(1)}</button>
          ))}
          {ended?.columns ? ["csv", "json", "parquet"].map((form) => (
            <a key={form} class="button plain" style={{ height: "24px", fontSize: "12px", padding: "0 6px" }} href={statements.downloadUrl(ended.id, form)} download>{form === "parquet" ? "Parquet" : form.toUpperCase()}</a>
          )) : null}
        </span>
      </div>
      <div class="shown">
        {view === "history" ? <History past={past} take={(sql) => { editor.current?.replace(`${sql};\n`); editor.current?.focus(); }} /> : <Result shown={shown} chart={view === "chart"} />}
      </div>
    </div>
  );
}

