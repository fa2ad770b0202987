import "./home.css";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { getJson } from "../api";
import { ago, count, duration, instant, money, nameParts, plural, short } from "../format";
import { pageOf } from "../graph/model";
import { useLive } from "../live";
import { href } from "../router";
import { Chart } from "../ui/chart";
import { Badge, Card, Empty, Failure, Head, Spinner, useAnswer } from "../ui/parts";

interface Problem {
  severity: string; kind: string; name: string; title: string; detail: string | null; since: string | null;
  behind?: number; limit?: number;
}
interface Refresh {
  name: string; state: string; action: string | null; trigger: string; started_at: string | null; ended_at: string | null;
  data_timestamp: string; inserted: number; deleted: number; message: string;
}
interface HomeData {
  now: string;
  counts: Record<string, number>;
  freshness: { within: number; late: number; with_limit: number };
  problems: Problem[];
  rates: { start: string; refreshes: number[]; failed: number[]; rows: number[] };
  ingest: { rows: number[]; tables: { name: string; rows: number }[] };
  recent: Refresh[];
  costs: { tables: { name: string; cost_per_day: number; full_cost_per_day: number | null; advice: unknown[] }[] } | null;
  queries_running: number;
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

function address(kind: string, full: string): string {
  const [database = null, schema = null, name = ""] = nameParts(full);
  return pageOf({ id: `${kind}:${full}`, kind, database, schema, name });
}

/** The part of a table's page that shows the cause. */
const CAUSES: Record<string, string> = { failed: "refreshes", late: "refreshes", quarantined: "quality", warning: "quality", costly: "cost" };

function causeOf({ severity, kind, name }: Problem): string {
  const page = address(kind, name);
  const part = kind === "DYNAMIC_TABLE" || (kind === "TABLE" && CAUSES[severity] === "quality") ? CAUSES[severity] : undefined;
  return part ? `${page}/${part}` : page;
}

function Problems({ problems }: { problems: Problem[] }): JSX.Element {
  if (problems.length === 0) {
    return <Empty icon="check" title="Nothing needs you">Every table is within its target lag, and nothing has failed.</Empty>;
  }
  return (
    <ul class="problems">
      {problems.slice(0, 50).map((problem) => (
        <li key={`${problem.kind}${problem.name}${problem.title}`}>
          <span><Badge state={problem.severity} /></span>
          <div class="what">
            <a href={causeOf(problem)} title={problem.name}>{nameParts(problem.name).at(-1)}</a>
            <span class="detail">
              {problem.title}
              {problem.limit !== undefined ? ` (${duration(problem.behind)} behind, ${duration(problem.limit)} promised)` : ""}
              {problem.detail ? `: ${problem.detail}` : ""}
            </span>
          </div>
          <span class="faint">{problem.since ? ago(problem.since) : ""}</span>
        </li>
      ))}
    </ul>
  );
}

function Arrived({ tables }: { tables: { name: string; rows: number }[] }): JSX.Element {
  if (tables.length === 0) return <p class="faint">Rows from channels, connectors, loads and statements show here. They are counted since the server started.</p>;
  const most = Math.max(...tables.map((table) => table.rows), 1);
  return (
    <ul class="arrived">
      {tables.map((table) => (
        <li key={table.name}>
          <a class="link ellipsis" href={address("TABLE", table.name)} title={table.name}>{nameParts(table.name).at(-1)}</a>
          <div class="bar"><i style={{ width: `${(100 * table.rows) / most}%` }} /></div>
          <span class="number">{plural(table.rows, "row")}</span>
        </li>
      ))}
    </ul>
  );
}

function Recent({ rows }: { rows: Refresh[] }): JSX.Element {
  if (rows.length === 0) return <Empty icon="refresh" title="No refresh changed anything in the last hour" />;
  return (
    <div class="scroll-x">
      <table class="list">
        <thead><tr><th>Table</th><th>Refresh</th><th class="number">Rows</th><th class="number">Took</th><th class="number">Ended</th></tr></thead>
        <tbody>
          {rows.slice(0, 12).map((row) => (
            <tr key={`${row.name}${row.started_at}${row.data_timestamp}`}>
              <td class="clip ellipsis"><a class="link" href={address("DYNAMIC_TABLE", row.name)}>{nameParts(row.name).at(-1)}</a></td>
              <td><Badge state={row.state}>{row.state === "SUCCEEDED" ? (row.action ?? "").toLowerCase().replace("_", " ") : row.state.toLowerCase().replaceAll("_", " ")}</Badge></td>
              <td class="number">{row.inserted || row.deleted ? <span class="changes"><span class="in">+{short(row.inserted)}</span><span class="out">−{short(row.deleted)}</span></span> : <span class="faint">–</span>}</td>
              <td class="number">{row.started_at && row.ended_at ? duration(((instant(row.ended_at)?.getTime() ?? 0) - (instant(row.started_at)?.getTime() ?? 0)) / 1000) : "–"}</td>
              <td class="number muted">{ago(row.ended_at ?? row.data_timestamp)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Home(): JSX.Element {
  const { value, error, again } = useAnswer(() => getJson<HomeData>("/home"), []);
  useLive(["rows", "refreshes", "tasks", "quality", "objects", "time"], again, 3000);
  const rates = value?.rates;
  const arrived = value?.ingest.rows;
  const series = useMemo(() => {
    if (!rates) return null;
    const start = (instant(rates.start)?.getTime() ?? 0) / 1000;
    return {
      times: rates.refreshes.map((_, index) => start + index * 60),
      refreshes: [
        { label: "Refreshes", values: rates.refreshes, color: "--accent", bars: true },
        { label: "Failed", values: rates.failed.map((n) => n || null), color: "--failed", bars: true },
      ],
      rows: [{ label: "Rows", values: rates.rows, color: "--accent", bars: true }],
      arrived: [{ label: "Rows", values: arrived ?? [], color: "--flow", bars: true }],
    };
  }, [rates, arrived]);
  if (!value || !series) return error ? <div class="content"><Failure error={error} /></div> : <Spinner />;
  const { freshness, counts, problems } = value;
  const most = Math.max(...(value.costs?.tables ?? []).map((table) => table.cost_per_day), 1e-9);
  return (
    <>
      <Head title="Home" badge={<Badge state={problems.length ? "late" : "ok"}>{problems.length ? plural(problems.length, "problem") : "all well"}</Badge>} />
      <div class="content">
        {error ? <Failure error={error} /> : null}
        <div class="grid-4">
          <div class="card figure">
            <div class="label">Within target lag</div>
            <div class="value">{freshness.with_limit ? `${freshness.within} / ${freshness.with_limit}` : "–"}</div>
            <div class="note">{freshness.late ? plural(freshness.late, "table is", "tables are") + " late" : "dynamic tables and products"}</div>
          </div>
          <div class="card figure">
            <div class="label">Refreshes in the last hour</div>
            <div class="value">{count(sum(value.rates.refreshes))}</div>
            <div class="note">{sum(value.rates.failed) ? `${count(sum(value.rates.failed))} failed` : "none failed"}</div>
          </div>
          <div class="card figure">
            <div class="label">Rows that came in the last hour</div>
            <div class="value">{short(sum(value.ingest.rows))}</div>
            <div class="note">{short(value.ingest.rows.at(-2) ?? 0)} in the last whole minute; {short(sum(value.rates.rows))} changed by refreshes</div>
          </div>
          <div class="card figure">
            <div class="label">Statements running</div>
            <div class="value">{count(value.queries_running)}</div>
            <div class="note"><a class="link" href={href("queries")}>See queries</a></div>
          </div>
        </div>
        <Card title="Needs attention" body={false}><Problems problems={problems} /></Card>
        <div class="grid-2">
          <Card title="Rows that came in, by minute"><Chart times={series.times} lines={series.arrived} format={short} label="Rows that came in by minute in the last hour" /></Card>
          <Card title="Into which tables"><Arrived tables={value.ingest.tables} /></Card>
        </div>
        <div class="grid-2">
          <Card title="Refreshes by minute"><Chart times={series.times} lines={series.refreshes} label="Refreshes by minute in the last hour" /></Card>
          <Card title="Rows changed by refreshes, by minute"><Chart times={series.times} lines={series.rows} format={short} label="Rows changed by minute in the last hour" /></Card>
        </div>
        <div class="grid-2">
          <Card title="Latest refreshes that changed something" body={false}><Recent rows={value.recent} /></Card>
          <Card title="Cost by table in the last day" more={<span class="faint">in credits</span>} body={false}>
            {value.costs?.tables.length ? (
              <div class="scroll-x"><table class="list">
                <thead><tr><th>Table</th><th class="number">Cost</th><th class="number">As full refreshes</th><th><span class="visually-hidden">Share</span></th></tr></thead>
                <tbody>
                  {value.costs.tables.map((table) => (
                    <tr key={table.name}>
                      <td class="clip ellipsis"><a class="link" href={address("DYNAMIC_TABLE", table.name)}>{nameParts(table.name).at(-1)}</a></td>
                      <td class="number">{money(table.cost_per_day)}</td>
                      <td class="number muted">{table.full_cost_per_day === null ? "–" : money(table.full_cost_per_day)}</td>
                      <td><div class="bar"><i style={{ width: `${(100 * table.cost_per_day) / most}%` }} /></div></td>
                    </tr>
                  ))}
                </tbody>
              </table></div>
            ) : <Empty icon="dynamic" title="No costs yet">Refreshes of dynamic tables show here.</Empty>}
          </Card>
        </div>
        <p class="faint">
          {Object.entries(counts).filter(([kind]) => ["TABLE", "VIEW", "DYNAMIC_TABLE", "STREAM", "TASK", "CONNECTOR"].includes(kind))
            .map(([kind, n]) => plural(n, kind.toLowerCase().replace("_", " "))).join(" · ")}
        </p>
      </div>
    </>
  );
}
