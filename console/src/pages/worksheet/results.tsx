/** What a statement gave: how far it is, its error, its rows as a table or a chart; and what was run before. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { statements, type Piece, type Statement } from "../../api";
import { ago, duration, plural } from "../../format";
import { ResultGrid, type Source } from "../../ui/grid";
import { Badge, Empty, Failure } from "../../ui/parts";
import { QuickChart } from "../quickchart";
import type { Past } from "./sheets";

export interface Shown { piece: Piece; statement: Statement | null; error: unknown; began: number }

function sourceOf(statement: Statement): Source | null {
  if (!statement.columns) return null;
  return {
    columns: statement.columns, count: statement.row_count ?? 0, first: statement.rows ?? [],
    fetch: (offset, limit) => statements.rows(statement.id, offset, limit),
  };
}

function Elapsed({ since }: { since: number }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return <span class="faint number" data-testid="elapsed">{duration(Math.round((now - since) / 1000))}</span>;
}

/** What runs, and how far it is: Spark's stages, once it has some. */
function Running({ shown }: { shown: Shown }): JSX.Element {
  const progress = shown.statement?.progress;
  return (
    <Empty title={shown.statement?.waits ? "Waiting for its turn" : "Running"}>
      <code>{shown.piece.text.slice(0, 120)}</code>
      <div class="progress">
        {progress ? (
          <>
            <div class="bar" role="progressbar" aria-label="Tasks" aria-valuemin={0} aria-valuemax={progress.tasks} aria-valuenow={progress.tasks_done}>
              <i style={{ width: `${(100 * progress.tasks_done) / Math.max(progress.tasks, 1)}%` }} />
            </div>
            <span data-testid="progress">{progress.text}</span>
          </>
        ) : <div class="spinner" role="status" aria-label="Running" />}
        <Elapsed since={shown.began} />
      </div>
    </Empty>
  );
}

export function Result({ shown, chart }: { shown: Shown | undefined; chart: boolean }): JSX.Element {
  const source = useMemo(() => (shown?.statement ? sourceOf(shown.statement) : null), [shown?.statement]);
  if (!shown) return <Empty icon="worksheet" title="Results show here">Ctrl-Enter runs the statement under the cursor, Ctrl-Shift-Enter all of them.</Empty>;
  if (shown.error) return <div class="pad"><Failure error={shown.error} /></div>;
  if (!shown.began) return <Empty title="It did not run">A statement before it failed or was cancelled.</Empty>;
  if (!shown.statement || shown.statement.status === "running") return <Running shown={shown} />;
  if (!source) return <Empty icon="check" title="Done" />;
  if (source.count === 0) return <Empty icon="table" title="No rows">The statement succeeded and gave none.</Empty>;
  return chart ? <QuickChart source={source} key={shown.statement.id} /> : <ResultGrid source={source} />;
}

export function History({ past, take }: { past: Past[]; take: (sql: string) => void }): JSX.Element {
  const [search, setSearch] = useState("");
  if (past.length === 0) return <Empty icon="history" title="Nothing was run here yet" />;
  const found = past.filter((one) => one.sql.toLowerCase().includes(search.toLowerCase()));
  return (
    <div class="history">
      <input type="search" aria-label="Search what was run" placeholder="Search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      <ul>
        {found.map((one, index) => (
          <li key={index}>
            <button type="button" class="name mono" title={one.sql} onClick={() => take(one.sql)}>{one.sql.replaceAll(/\s+/g, " ")}</button>
            <Badge state={one.status} />
            <span class="faint number">{one.rows === null ? "" : `${plural(one.rows, "row")} · `}{duration(one.ms / 1000)} · {ago(new Date(one.at).toISOString())}</span>
          </li>
        ))}
        {found.length ? null : <li class="muted">Nothing has that in it.</li>}
      </ul>
    </div>
  );
}
