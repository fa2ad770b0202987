import "./worksheet.css";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, query, quoted, statements, type Context, type Piece, type Row, type Statement } from "../api";
import { count, duration, plural } from "../format";
import { useLive } from "../live";
import { place, replace } from "../router";
import { who } from "../state";
import { completer, type Known } from "../sql/complete";
import { Editor, type EditorHandle } from "../sql/editor";
import { errorPosition } from "../sql/errors";
import { forgetNames, names } from "../sql/names";
import { chosenPieces } from "../sql/pieces";
import { Badge, Icon, say, useAnswer, wordsOf } from "../ui/parts";
import { History, Result, type Shown } from "./worksheet/results";
import { hide, pastStatements, remember, useSheets, useSplit, withoutSecrets, type Sheet } from "./worksheet/sheets";
import { Tabs } from "./worksheet/tabs";

type View = "table" | "chart" | "history";
const VIEWS: [View, string][] = [["table", "Table"], ["chart", "Chart"], ["history", "History"]];
const FORMS: [string, string][] = [["csv", "CSV"], ["json", "JSON"], ["parquet", "Parquet"]];

/** All worksheets that were looked at stay as they are, with what runs in them; one is seen. */
export function Worksheet(): JSX.Element {
  const sheets = useSheets();
  const { current } = sheets;
  const here = place.value.page === "worksheet";
  const given = here ? place.value.query.get("sql") : null;
  const [opened, setOpened] = useState<string[]>([]);
  useEffect(() => {
    if (given === null) return;
    sheets.add(given);
    replace("#/worksheet");
  }, [given]);
  // Where a text was given, its own worksheet is about to be there: no other is looked at meanwhile.
  const looked = given === null ? current.id : null;
  useEffect(() => { if (looked) setOpened((before) => (before.includes(looked) ? before : [...before, looked])); }, [looked]);
  useEffect(forgetNames, [who.value?.user, who.value?.role]);
  useLive(["objects"], forgetNames, 1000);
  const close = (id: string): void => {
    void statements.closeWorksheet(id).catch(() => undefined);
    sheets.close(id);
  };
  return (
    <div class="worksheets">
      <h1 class="visually-hidden">Worksheet</h1>
      <Tabs sheets={sheets} close={close} />
      {sheets.all.filter((sheet) => sheet.id === looked || opened.includes(sheet.id)).map((sheet) => (
        <OneSheet key={sheet.id} sheet={sheet} seen={here && sheet.id === looked} changed={(text) => sheets.change(sheet.id, { text })} />
      ))}
    </div>
  );
}

interface Running { runs: Shown[]; at: number; busy: boolean }

/** Statements that run one after the other, in the session of a worksheet. */
function useRuns(sheet: Sheet, editor: { current: EditorHandle | null }, told: (context: Context) => void): Running & {
  start: (all: boolean) => Promise<void>; stop: () => void; choose: (at: number) => void;
} {
  const [runs, setRuns] = useState<Shown[]>([]);
  const [at, setAt] = useState(0);
  const [busy, setBusy] = useState(false);
  const stopped = useRef(false);
  const running = useRef<string | null>(null);

  const note = (piece: Piece, found: Statement): void => {
    if (found.redacted !== undefined) hide(piece.text, found.redacted);
    remember({ sql: withoutSecrets(piece.text), at: Date.now(), status: found.status, ms: found.elapsed_ms, rows: found.row_count ?? null });
  };

  /** Runs one statement to its end. False when it failed. */
  const runOne = async (piece: Piece, index: number): Promise<boolean> => {
    const began = Date.now();
    const show = (statement: Statement | null, error: unknown): void =>
      setRuns((before) => { const next = [...before]; next[index] = { piece, statement, error, began }; return next; });
    show(null, null);
    let found: Statement;
    try {
      found = await statements.start(piece.text, { worksheet: sheet.id, line: piece.line, column: piece.column, wait: 1 });
      running.current = found.id;
      // Cancelled while the server was told of it.
      if (stopped.current) await statements.cancel(found.id);
      while (found.status === "running") {
        show(found, null);
        found = await statements.get(found.id, 20, found.progress?.text ?? "");
      }
    } catch (error) {
      show(null, error);
      return false;
    } finally {
      running.current = null;
    }
    told(found.context);
    note(piece, found);
    show(found, found.error ? new ApiError(found.error, 200) : null);
    const where = found.error ? errorPosition(found.error.message) : null;
    if (where) editor.current?.mark(where.line, where.column, found.error?.message ?? "");
    return !found.error;
  };

  const start = async (all: boolean): Promise<void> => {
    const one = editor.current;
    if (!one || busy) return;
    one.clear();
    stopped.current = false;
    setBusy(true);
    try {
      const pieces = chosenPieces(await statements.split(one.text()), one.text(), one.selected(), one.cursor(), all);
      if (pieces.length === 0) say("There is no statement here.");
      setRuns(pieces.map((piece) => ({ piece, statement: null, error: null, began: 0 })));
      for (const [index, piece] of pieces.entries()) {
        setAt(index);
        if (stopped.current || !(await runOne(piece, index))) break;
      }
    } catch (error) {
      setAt(0);
      setRuns([{ piece: { text: "", line: 1, column: 0 }, statement: null, error, began: 0 }]);
    }
    setBusy(false);
  };

  const stop = (): void => {
    stopped.current = true;
    if (running.current) statements.cancel(running.current).catch((error: unknown) => say(wordsOf(error), true));
  };
  return { runs, at, busy, start, stop, choose: setAt };
}

function Contexts({ context, seen, use }: { context: Partial<Context>; seen: boolean; use: (sql: string) => void }): JSX.Element {
  const warehouses = useAnswer(() => query("SHOW WAREHOUSES"), []);
  const schemas = useAnswer(() => query("SHOW SCHEMAS IN ACCOUNT"), []);
  useLive(["objects"], () => { if (seen) { warehouses.again(); schemas.again(); } }, 10_000);
  const spaces = (schemas.value ?? []).filter((row) => row["name"] !== "INFORMATION_SCHEMA");
  const isHere = (row: Row): boolean => row["database_name"] === context.database && row["name"] === context.schema;
  const at = spaces.findIndex(isHere);
  return (
    <>
      <select aria-label="Role" title="Role" value={context.role ?? ""} onChange={(event) => use(`USE ROLE ${quoted(event.currentTarget.value)}`)}>
        {(who.value?.roles ?? []).map((role) => <option key={role}>{role}</option>)}
      </select>
      <select aria-label="Warehouse" title="Warehouse" value={context.warehouse ?? ""} onChange={(event) => use(`USE WAREHOUSE ${quoted(event.currentTarget.value)}`)}>
        {context.warehouse ? null : <option value="">no warehouse</option>}
        {(warehouses.value ?? []).map((row) => <option key={String(row["name"])}>{row["name"]}</option>)}
      </select>
      <select aria-label="Schema" title="Database and schema" value={String(at)} onChange={(event) => {
        const row = spaces[Number(event.currentTarget.value)];
        if (row) use(`USE SCHEMA ${quoted(String(row["database_name"]))}.${quoted(String(row["name"]))}`);
      }}>
        {at < 0 ? <option value="-1">{context.schema ? `${context.database}.${context.schema}` : "no schema"}</option> : null}
        {spaces.map((row, index) => <option key={index} value={String(index)}>{row["database_name"]}.{row["name"]}</option>)}
      </select>
    </>
  );
}

/** What is dragged, or moved by arrow keys, to give the text or the result more room. */
function Splitter({ share, set }: { share: number; set: (share: number) => void }): JSX.Element {
  const drag = (event: PointerEvent): void => {
    const box = (event.currentTarget as HTMLElement).parentElement?.getBoundingClientRect();
    if (box && event.buttons) set((event.clientY - box.top) / box.height);
  };
  return (
    <div class="splitter" role="separator" aria-label="Height of the text" aria-orientation="horizontal" tabIndex={0}
      aria-valuemin={12} aria-valuemax={85} aria-valuenow={Math.round(share * 100)}
      onPointerDown={(event) => { event.currentTarget.setPointerCapture(event.pointerId); event.preventDefault(); }} onPointerMove={drag}
      onKeyDown={(event) => { const by = event.key === "ArrowUp" ? -0.04 : event.key === "ArrowDown" ? 0.04 : 0; if (by) { set(share + by); event.preventDefault(); } }} />
  );
}

function OneSheet({ sheet, seen, changed }: { sheet: Sheet; seen: boolean; changed: (text: string) => void }): JSX.Element {
  const editor = useRef<EditorHandle | null>(null);
  const [view, setView] = useState<View>("table");
  const [context, setContext] = useState<Partial<Context>>({ ...(who.value ?? {}) });
  const [share, setShare] = useSplit();
  const running = useRuns(sheet, editor, setContext);
  const { runs, at, busy } = running;
  const where = useRef(context);
  where.current = context;
  const complete = useMemo(() => completer(async (): Promise<Known> => ({ ...await names(), database: where.current.database ?? null, schema: where.current.schema ?? null })), []);
  useEffect(() => { void names().catch(() => undefined); }, []);
  const start = (all: boolean): void => {
    if (view === "history") setView("table");
    void running.start(all);
  };
  const use = async (sql: string): Promise<void> => {
    try {
      const found = await statements.start(sql, { worksheet: sheet.id });
      if (found.error) say(found.error.message, true);
      setContext({ ...found.context });
    } catch (error) {
      say(wordsOf(error), true);
    }
  };
  const shown = runs[at];
  const statement = shown?.statement;
  const ended = statement && statement.status !== "running" ? statement : null;
  return (
    <div class="worksheet" hidden={!seen} style={{ "--share": `${share * 100}%` }}>
      <div class="bar-top">
        {busy ? <button type="button" onClick={running.stop}><Icon name="stop" size={14} />Cancel</button>
          : <button type="button" class="primary" title="Ctrl-Enter" onClick={() => start(false)}><Icon name="play" size={14} />Run</button>}
        <button type="button" disabled={busy} title="Ctrl-Shift-Enter" onClick={() => start(true)}>Run all</button>
        <span class="space" />
        <Contexts context={context} seen={seen} use={(sql) => void use(sql)} />
        {context.transaction ? <Badge state="running">transaction open</Badge> : null}
      </div>
      <div class="halves">
        <div class="text">
          <Editor value={sheet.text} label="SQL" complete={complete} run={() => start(false)} runAll={() => start(true)} changed={changed} handle={(made) => { editor.current = made; }} />
        </div>
        <Splitter share={share} set={setShare} />
        <div class="bar-result">
          {runs.length > 1 ? (
            <div class="runs" role="group" aria-label="Statements">
              {runs.map((one, index) => (
                <button type="button" class="small plain" key={index} aria-pressed={index === at} title={one.piece.text.slice(0, 200)} onClick={() => running.choose(index)}>
                  {index + 1}{one.error ? " ✕" : one.statement?.status === "succeeded" ? " ✓" : ""}
                </button>
              ))}
            </div>
          ) : null}
          {ended ? <Badge state={ended.status} /> : statement ? <Badge state="running" /> : null}
          {ended ? <span class="muted" data-testid="summary">{ended.row_count === undefined ? "" : `${plural(ended.row_count, "row")} in `}{duration(ended.elapsed_ms / 1000)}</span> : null}
          {ended?.rows_affected !== null && ended?.rows_affected !== undefined ? <span class="muted">{count(ended.rows_affected)} changed</span> : null}
          <span class="space">
            {VIEWS.map(([key, label]) => <button type="button" class="small plain" key={key} aria-pressed={view === key} onClick={() => setView(key)}>{label}</button>)}
            {ended?.columns ? <span class="downloads"><Icon name="download" size={14} />{FORMS.map(([form, label]) => <a key={form} class="button plain small" href={statements.downloadUrl(ended.id, form)} download>{label}</a>)}</span> : null}
          </span>
        </div>
        <div class="shown">
          {view === "history" ? <History past={pastStatements()} take={(sql) => { editor.current?.insert(`${sql};\n`); editor.current?.focus(); }} /> : <Result shown={shown} chart={view === "chart"} />}
        </div>
      </div>
    </div>
  );
}
