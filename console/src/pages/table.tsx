import "./table.css";
import "./home.css";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { query, quoted, run, statements, type Row, type Value } from "../api";
import { ago, bytes, count, dayAndClock, duration, instant, plural, short, typeName } from "../format";
import { deeds, fullName, perform, qualified, type Named } from "../graph/actions";
import { useLive } from "../live";
import { href, place } from "../router";
import { Sql } from "../sql/shown";
import { Chart } from "../ui/chart";
import { ResultGrid } from "../ui/grid";
import { Action, Badge, Card, Empty, Failure, Head, Icon, KIND_WORD, Spinner, useAnswer } from "../ui/parts";
import { Changes } from "./changes";
import { Prove } from "./prove";
import { Lineage } from "./table/lineage";
import { Plan, WhatIf } from "./table/plan";
import { ranPlan } from "./table/planpicture";
import { Quality } from "./table/quality";
import { List, optional } from "./table/shared";
import { Travel } from "./table/travel";

const number = (value: Value | undefined): number | null => (value === null || value === undefined || value === "" ? null : Number(value));
const parsed = (value: Value | undefined): Record<string, unknown> => {
  try {
    return (JSON.parse(String(value ?? "{}")) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
};

const KINDS: [string, string][] = [["DYNAMIC_TABLE", "DYNAMIC TABLES"], ["TABLE", "TABLES"], ["VIEW", "VIEWS"], ["STREAM", "STREAMS"]];

/** What a page of a table begins with: what kind it is, and how it stands. LIKE is for any case: the name decides. */
async function loadHead(node: Named): Promise<{ kind: string; row: Row }> {
  const pattern = node.name.replaceAll("'", "''").replaceAll("_", "\\\\_").replaceAll("%", "\\\\%");
  for (const [kind, plural] of KINDS) {
    const found = await optional(`SHOW ${plural} LIKE '${pattern}' IN SCHEMA ${quoted(node.database ?? "")}.${quoted(node.schema ?? "")}`);
    const row = found.find((one) => one["name"] === node.name);
    if (row) return { kind, row };
  }
  return { kind: "NONE", row: {} };
}

interface Refresh {
  state: string; action: string; trigger: string; start: string; end: string; at: string; ms: number; inserted: number; deleted: number;
  message: string; reason: string; query_id: string; details: Record<string, unknown>; statistics: Record<string, unknown>; inputs: Value;
}

async function loadRefreshes(node: Named): Promise<Refresh[]> {
  const rows = await query(
    `SELECT * FROM TABLE(${quotedDatabase(node)}.INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => ?, RESULT_LIMIT => 200))`, [qualified(node)],
  );
  return rows.map((row) => {
    const statistics = parsed(row["statistics"]);
    const start = String(row["refresh_start_time"] ?? row["data_timestamp"] ?? "");
    const end = String(row["refresh_end_time"] ?? row["data_timestamp"] ?? "");
    return {
      state: String(row["state"]), action: String(row["refresh_action"] ?? ""), trigger: String(row["refresh_trigger"] ?? ""), start, end,
      at: String(row["data_timestamp"] ?? ""), ms: Math.max(0, (instant(end)?.getTime() ?? 0) - (instant(start)?.getTime() ?? 0)),
      inserted: Number(statistics["numInsertedRows"] ?? 0), deleted: Number(statistics["numDeletedRows"] ?? 0),
      message: String(row["state_message"] ?? ""), reason: String(row["reinit_reason"] ?? ""), query_id: String(row["query_id"] ?? ""),
      details: parsed(row["details"]), statistics, inputs: row["inputs_with_changed_data"] ?? null,
    };
  });
}

const quotedDatabase = (node: Named): string => quoted(node.database ?? "");
const toneOf = (refresh: Refresh): string => (refresh.state === "SUCCEEDED" ? refresh.action.toLowerCase() : "failed");

const STAGES: [string, string][] = [["queuedTimeMs", "Waited"], ["compilationTimeMs", "Compiled"], ["readTimeMs", "Read changes"], ["computeTimeMs", "Computed"], ["applyTimeMs", "Applied"], ["commitTimeMs", "Committed"]];

function OneRefresh({ refresh }: { refresh: Refresh }): JSX.Element {
  const times = STAGES.map(([key, label]) => [label, Number(refresh.details[key] ?? refresh.statistics[key] ?? Number.NaN)] as const).filter(([, ms]) => !Number.isNaN(ms));
  const most = Math.max(...times.map(([, ms]) => ms), 1);
  const inputs = (() => { try { return (JSON.parse(String(refresh.inputs ?? "[]")) as { name?: string }[]).map((one) => one.name ?? ""); } catch { return []; } })();
  const why = refresh.details["reason"] ?? refresh.details["method_reason"] ?? refresh.reason;
  return (
    <div style={{ display: "grid", gap: "16px" }}>
      <dl class="meta">
        <dt>State</dt><dd><Badge state={refresh.state} /></dd>
        <dt>Action</dt><dd>{refresh.action.toLowerCase().replace("_", " ") || "–"}{refresh.details["apply"] ? `, applied by ${String(refresh.details["apply"]).toLowerCase()}` : ""}</dd>
        {why ? <><dt>Reason</dt><dd>{String(why)}</dd></> : null}
        <dt>Trigger</dt><dd>{refresh.trigger.toLowerCase()}</dd>
        <dt>Rows</dt><dd><span class="changes"><span class="in">+{count(refresh.inserted)}</span><span class="out">−{count(refresh.deleted)}</span></span>{refresh.details["changed_rows"] !== undefined ? ` from ${plural(Number(refresh.details["changed_rows"]), "changed row")} of its sources` : ""}</dd>
        {inputs.length ? <><dt>Changed inputs</dt><dd>{inputs.map((one) => one.split(".").at(-1)).join(", ")}</dd></> : null}
        <dt>Data timestamp</dt><dd>{dayAndClock(refresh.at)}</dd>
        {refresh.details["estimatedFullMs"] !== undefined ? <><dt>Expected</dt><dd>{duration(Number(refresh.details["estimatedIncrementalMs"] ?? 0) / 1000)} by changes, {duration(Number(refresh.details["estimatedFullMs"]) / 1000)} in full</dd></> : null}
        {refresh.message ? <><dt>Message</dt><dd>{refresh.message}</dd></> : null}
      </dl>
      {times.length ? <div>{times.map(([label, ms]) => (
        <div class="stage-bar" key={label}><span class="muted">{label}</span><div class="bar"><i style={{ width: `${(100 * ms) / most}%` }} /></div><span class="number">{duration(ms / 1000)}</span></div>
      ))}</div> : null}
    </div>
  );
}

function Refreshes({ node, refreshes, lag }: { node: Named; refreshes: Refresh[]; lag: number | null }): JSX.Element {
  const [at, setAt] = useState(0);
  const slowest = Math.max(...refreshes.map((one) => one.ms), 1);
  const series = useMemo(() => {
    const done = refreshes.filter((one) => one.state === "SUCCEEDED").slice().reverse();
    const times: number[] = [];
    const behind: number[] = [];
    done.forEach((one, index) => {
      const end = (instant(one.end)?.getTime() ?? 0) / 1000;
      const data = (instant(one.at)?.getTime() ?? 0) / 1000;
      const before = done[index - 1];
      if (before) {
        // Until this refresh ended, the table was as old as the one before it.
        times.push(end - 0.001);
        behind.push(Math.max(0, end - (instant(before.at)?.getTime() ?? 0) / 1000));
      }
      times.push(end);
      behind.push(Math.max(0, end - data));
    });
    const lines = [{ label: "Lag", values: behind as (number | null)[], color: "--accent", fill: "--accent-soft" }];
    return { times, lines: lag ? [...lines, { label: "Target", values: times.map(() => lag), color: "--late", dash: [4, 4] }] : lines };
  }, [refreshes, lag]);
  const chosen = refreshes[at];
  if (!chosen) return <Empty icon="refresh" title="No refresh yet">The first one shows here.</Empty>;
  return (
    <div class="two">
      <div style={{ display: "grid", gap: "16px" }}>
        <Card title="Refreshes" more={<span class="faint">the newest on the right; height is time</span>}>
          <div class="timeline" role="group" aria-label="Refreshes by time">
            {refreshes.slice(0, 80).map((one, index) => (
              <button type="button" key={one.query_id + one.at} class={toneOf(one)} aria-pressed={index === at} onClick={() => setAt(index)}
                aria-label={`${one.action || one.state} at ${dayAndClock(one.end)}, ${duration(one.ms / 1000)}`} title={`${one.action || one.state} · ${duration(one.ms / 1000)} · ${ago(one.end)}`}
                style={{ height: `${Math.max(8, 100 * Math.sqrt(one.ms / slowest))}%` }} />
            )).reverse()}
          </div>
          <div class="keys" style={{ paddingTop: "12px" }}>
            {[["accent", "by changes"], ["flow", "in full"], ["line-strong", "nothing changed"], ["failed", "failed"]].map(([tone, word]) => <span key={word}><i style={{ background: `var(--${tone})` }} />{word}</span>)}
          </div>
        </Card>
        <Card title="Lag" more={lag ? <span class="faint">target {duration(lag)}</span> : null}>
          {series.times.length > 1 ? <Chart times={series.times} lines={series.lines} durations format={duration} label="Lag over time against its target" /> : <Empty title="Too few refreshes to draw" />}
        </Card>
        <Card title="History" body={false}>
          <div class="scroll-x"><table class="list">
            <thead><tr><th>Ended</th><th>Action</th><th>Trigger</th><th class="number">Rows</th><th class="number">Took</th></tr></thead>
            <tbody>{refreshes.slice(0, 30).map((one, index) => (
              <tr key={one.query_id + one.at} onClick={() => setAt(index)}>
                <td class="muted">{dayAndClock(one.end)}</td>
                <td><Badge state={one.state}>{one.state === "SUCCEEDED" ? one.action.toLowerCase().replace("_", " ") : one.state.toLowerCase().replace("_", " ")}</Badge></td>
                <td class="muted">{one.trigger.toLowerCase()}</td>
                <td class="number"><span class="changes"><span class="in">+{short(one.inserted)}</span><span class="out">−{short(one.deleted)}</span></span></td>
                <td class="number">{duration(one.ms / 1000)}</td>
              </tr>
            ))}</tbody>
          </table></div>
        </Card>
      </div>
      <Card title="This refresh" more={<span class="faint">{ago(chosen.end)}</span>}>
        <OneRefresh refresh={chosen} />
        {chosen.state === "SUCCEEDED" ? <a class="button" style={{ marginTop: "12px" }} href={href("table", node.database ?? "", node.schema ?? "", node.name, "changes", chosen.query_id)}>Inspect its changes</a> : null}
      </Card>
    </div>
  );
}

function Preview({ node }: { node: Named }): JSX.Element {
  const { value, error } = useAnswer(() => run(`SELECT * FROM ${qualified(node)} LIMIT 500`, undefined, 500), [node.name]);
  const source = useMemo(() => (value?.columns ? { columns: value.columns, count: value.row_count ?? 0, first: value.rows ?? [], fetch: (offset: number, limit: number) => statements.rows(value.id, offset, limit) } : null), [value]);
  if (error) return <Failure error={error} />;
  if (!source) return <Spinner />;
  return source.count ? <div class="card preview" style={{ height: `${Math.min(420, 50 + source.count * 28)}px` }}><ResultGrid source={source} label="Preview" /></div> : <Card><Empty icon="table" title="No rows yet" /></Card>;
}

function Columns({ node }: { node: Named }): JSX.Element {
  const { value, error } = useAnswer(() => query(`DESCRIBE TABLE ${qualified(node)}`), [node.name]);
  if (error) return <Failure error={error} />;
  return <Card title="Columns" body={false}><List rows={value} empty="No columns" columns={[
    ["name", "Name", (name) => <b style={{ fontWeight: 540 }}>{name}</b>], ["type", "Type", (type) => <code>{typeName(String(type))}</code>], ["null?", "Nulls", (yes) => (yes === "Y" ? "allowed" : "never")],
    ["default", "Default", (text) => (text ? <code>{text}</code> : "")], ["comment", "Comment"],
  ]} /></Card>;
}

function Governance({ node, kind }: { node: Named; kind: string }): JSX.Element {
  const grants = useAnswer(() => optional(`SHOW GRANTS ON ${kind === "VIEW" ? "VIEW" : kind === "STREAM" ? "STREAM" : "TABLE"} ${qualified(node)}`), [node.name]);
  const contracts = useAnswer(() => optional("SHOW CONTRACTS IN ACCOUNT"), [node.name]);
  const readers = useAnswer(() => optional("SELECT DISTINCT target_object_schema || '.' || target_object_name AS name, target_object_domain AS domain, distance FROM TABLE(SNOWFLAKE.CORE.GET_LINEAGE(?, 'TABLE', 'DOWNSTREAM', 5)) ORDER BY distance, name", [qualified(node)]), [node.name]);
  const mine = contracts.value?.filter((row) => String(row["attached_to"] ?? "").split(", ").includes(fullName(node)));
  return (
    <div class="grid-2">
      <Card title="Grants" body={false}><List rows={grants.value} empty="No grants" columns={[["privilege", "Privilege"], ["grantee_name", "Granted to"], ["granted_by", "By"]]} /></Card>
      <Card title="Contract" body={false}><List rows={mine} empty="No contract is attached" columns={[["name", "Contract"], ["version", "Version"], ["compatibility", "Compatibility"], ["consumers", "Consumers"]]} /></Card>
      <Card title="Who would be hit by a change" body={false}><List rows={readers.value} empty="Nothing here reads it" columns={[["name", "Object"], ["domain", "Kind", (text) => String(text).toLowerCase()], ["distance", "Steps"]]} /></Card>
    </div>
  );
}

function Cost({ node }: { node: Named }): JSX.Element {
  const { value, error } = useAnswer(async () => {
    const found = await run("SELECT SYSTEM$COST_REPORT(7, ?)", [fullName(node)]);
    return (JSON.parse(String(found.rows?.[0]?.[0])) as { tables: Record<string, unknown>[] }).tables[0] ?? null;
  }, [node.name]);
  if (error) return <Failure error={error} />;
  if (value === undefined) return <Spinner />;
  if (value === null) return <Card><Empty title="No cost in the last 7 days" /></Card>;
  const figure = (label: string, text: string, note = ""): JSX.Element => <div class="card figure"><div class="label">{label}</div><div class="value">{text}</div><div class="note">{note}</div></div>;
  const advice = (value["advice"] as unknown[] | undefined) ?? [];
  return (
    <>
      <div class="grid-4">
        {figure("Cost a day", Number(value["cost_per_day"]).toFixed(4), "credits at their price")}
        {figure("As full refreshes", value["full_cost_per_day"] === null ? "–" : Number(value["full_cost_per_day"]).toFixed(4), "had each one computed all rows")}
        {figure("Refreshes a day", Number(value["refreshes_per_day"]).toFixed(1), `${Number(value["idle_refreshes_per_day"]).toFixed(1)} found nothing`)}
        {figure("Scanned a day", bytes(Number(value["bytes_scanned_per_day"])), `${duration(Number(value["spark_seconds_per_day"]))} of compute`)}
      </div>
      {advice.length ? <Card title="What would make it cheaper"><ul>{advice.map((one, index) => <li key={index}>{typeof one === "string" ? one : Object.values(one as object).join(": ")}</li>)}</ul></Card> : null}
    </>
  );
}

const TABS: [string, string, string[]][] = [
  ["overview", "Overview", ["TABLE", "VIEW", "DYNAMIC_TABLE", "STREAM"]], ["refreshes", "Refreshes", ["DYNAMIC_TABLE"]], ["changes", "Changes", ["DYNAMIC_TABLE"]], ["plan", "Plan", ["DYNAMIC_TABLE"]], ["whatif", "What if", ["DYNAMIC_TABLE"]],
  ["lineage", "Lineage", ["TABLE", "VIEW", "DYNAMIC_TABLE", "STREAM"]], ["quality", "Quality", ["TABLE", "DYNAMIC_TABLE"]], ["cost", "Cost", ["DYNAMIC_TABLE"]], ["travel", "Versions", ["TABLE", "DYNAMIC_TABLE"]], ["governance", "Grants and contract", ["TABLE", "VIEW", "DYNAMIC_TABLE", "STREAM"]],
];

export function TablePage(): JSX.Element {
  const [database = "", schema = "", name = "", tab = "overview", wanted = ""] = place.value.parts;
  const named = { kind: "TABLE", database, schema, name };
  const head = useAnswer(() => loadHead(named), [database, schema, name]);
  const kind = head.value?.kind ?? "";
  const node = { ...named, kind };
  const dynamic = kind === "DYNAMIC_TABLE";
  const refreshes = useAnswer(() => (dynamic ? loadRefreshes(node) : Promise.resolve([])), [name, kind]);
  const ddl = useAnswer(async () => (kind && kind !== "NONE" ? String((await optional(`SELECT GET_DDL('${kind === "VIEW" || kind === "STREAM" ? kind : "TABLE"}', ?, TRUE) AS ddl`, [qualified(node)]))[0]?.["ddl"] ?? "") : ""), [name, kind]);
  const byChanges = refreshes.value?.find((one) => one.details["stage_costs"] !== undefined);
  const ran = useMemo(() => (byChanges ? ranPlan(byChanges.details) : null), [byChanges?.query_id]);
  const again = (): void => { head.again(); refreshes.again(); };
  useLive(["refreshes", "rows", "objects", "time"], again, 3000);
  if (!head.value) return head.error ? <div class="content"><Failure error={head.error} /></div> : <Spinner />;
  if (kind === "NONE") return <Empty icon="table" title={`${name} does not exist, or your role may not know of it`} />;
  const row = head.value.row;
  const last = refreshes.value?.[0];
  const state = row["scheduling_state"] === "SUSPENDED" ? "suspended" : last && last.state !== "SUCCEEDED" ? last.state : dynamic ? "active" : "";
  const done = refreshes.value?.filter((one) => one.state === "SUCCEEDED") ?? [];
  const inspected = wanted ? done.find((one) => one.query_id === wanted) : done.find((one) => one.inserted + one.deleted > 0) ?? done[0];
  const steps = tab === "plan" ? <Plan node={node} ran={ran}>{byChanges ?? last ? <Card title={byChanges ? "The latest refresh by changes" : "The latest refresh"} more={<span class="faint">{ago((byChanges ?? last)?.end)}</span>}><OneRefresh refresh={byChanges ?? last as Refresh} /></Card> : null}</Plan> : null;
  return (
    <>
      <Head title={name} badge={state ? <Badge state={state} /> : null}
        crumbs={<><a href={href("tables")}>Tables</a><span>/</span><span>{database}.{schema}</span><span>/</span><span>{KIND_WORD[kind]}</span></>}>
        {dynamic ? <Prove node={node} /> : null}
        {deeds({ ...node, state: String(row["scheduling_state"] ?? "") }).map((deed) => <Action key={deed.label} label={deed.label} icon={deed.icon} act={() => perform(deed).then(again)} />)}
        <a class="button" href={`${href("worksheet")}?sql=${encodeURIComponent(`SELECT * FROM ${fullName(named)} LIMIT 100;\n`)}`}><Icon name="worksheet" size={14} />Query</a>
      </Head>
      <nav class="tabs" aria-label="Parts of the table">
        {TABS.filter(([, , kinds]) => kinds.includes(kind)).map(([key, label]) => <a key={key} href={href("table", database, schema, name, key)} aria-current={tab === key ? "page" : undefined}>{label}</a>)}
      </nav>
      <div class="content" style={{ paddingTop: "16px" }}>
        {last && last.state !== "SUCCEEDED" && last.message ? <div class="error"><b>The last refresh failed. </b>{last.message}</div> : null}
        {tab === "overview" ? (
          <>
            <div class="grid-4">
              <div class="card figure"><div class="label">Rows</div><div class="value">{row["rows"] === undefined || row["rows"] === null ? "–" : count(number(row["rows"]))}</div><div class="note">{bytes(number(row["bytes"]))}</div></div>
              <div class="card figure"><div class="label">{dynamic ? "Data is from" : "Created"}</div><div class="value" style={{ fontSize: "18px" }}>{ago(dynamic ? row["data_timestamp"] : row["created_on"])}</div><div class="note">{dayAndClock(dynamic ? row["data_timestamp"] : row["created_on"])}</div></div>
              <div class="card figure"><div class="label">{dynamic ? "Target lag" : "Owner"}</div><div class="value" style={{ fontSize: "18px" }}>{dynamic ? String(row["target_lag"]).toLowerCase() : row["owner"]}</div><div class="note">{dynamic ? `refreshed on ${row["warehouse"]}` : row["comment"]}</div></div>
              <div class="card figure"><div class="label">{dynamic ? "Refresh mode" : "Change tracking"}</div><div class="value" style={{ fontSize: "18px" }}>{dynamic ? String(row["refresh_mode"]).toLowerCase() : String(row["change_tracking"] ?? "–").toLowerCase()}</div><div class="note ellipsis" title={String(row["refresh_mode_reason"] ?? "")}>{row["refresh_mode_reason"] ?? ""}</div></div>
            </div>
            <div class="two">
              <div style={{ display: "grid", gap: "16px" }}><Preview node={node} /><Columns node={node} /></div>
              <Card title="Definition" body={false}><Sql text={ddl.value ?? ""} label="Definition" /></Card>
            </div>
          </>
        ) : null}
        {tab === "refreshes" ? refreshes.error ? <Failure error={refreshes.error} /> : refreshes.value ? <Refreshes node={node} refreshes={refreshes.value} lag={lagSeconds(row["target_lag"])} /> : <Spinner /> : null}
        {tab === "changes" ? inspected ? <Changes node={node} query={inspected.query_id} about={`The refresh of ${dayAndClock(inspected.at)}: ${inspected.action.toLowerCase().replace("_", " ")}.`} key={inspected.query_id} /> : refreshes.value ? <Card><Empty icon="refresh" title="No refresh changed anything yet" /></Card> : <Spinner /> : null}
        {steps}
        {tab === "whatif" && ddl.value ? <WhatIf node={node} ddl={ddl.value} key={ddl.value} /> : null}
        {tab === "lineage" ? <Lineage node={node} /> : null}
        {tab === "quality" ? <Quality node={node} /> : null}
        {tab === "travel" ? <Travel node={node} /> : null}
        {tab === "cost" ? <Cost node={node} /> : null}
        {tab === "governance" ? <Governance node={node} kind={kind} /> : null}
      </div>
    </>
  );
}

const UNITS: Record<string, number> = { second: 1, minute: 60, hour: 3600, day: 86_400 };

export function lagSeconds(text: Value | undefined): number | null {
  const found = /^(\d+)\s+(second|minute|hour|day)s?$/i.exec(String(text ?? ""));
  return found ? Number(found[1]) * (UNITS[(found[2] ?? "").toLowerCase()] ?? 1) : null;
}
