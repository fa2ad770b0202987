import "./table.css";
import "./home.css";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { quoted, run, type Row, type Value } from "../api";
import { ago, bytes, count, dayAndClock, duration, money } from "../format";
import { deeds, fullName, perform, qualified, type Named } from "../graph/actions";
import { useLive } from "../live";
import { href, place } from "../router";
import { Sql } from "../sql/shown";
import { Action, Badge, Card, Empty, Failure, Head, Icon, KIND_WORD, Spinner, useAnswer } from "../ui/parts";
import { Changes } from "./changes";
import { Prove } from "./prove";
import { Lineage } from "./table/lineage";
import { RelativeLink, relatives } from "./table/relatives";
import { Columns, Figures, Preview } from "./table/overview";
import { Plan, WhatIf } from "./table/plan";
import { ranPlan } from "./table/planpicture";
import { Quality } from "./table/quality";
import { loadRefreshes, OneRefresh, Refreshes, type Refresh } from "./table/refreshes";
import { List, optional } from "./table/shared";
import { Travel } from "./table/travel";

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

function Governance({ node, kind }: { node: Named; kind: string }): JSX.Element {
  const grants = useAnswer(() => optional(`SHOW GRANTS ON ${kind === "VIEW" ? "VIEW" : kind === "STREAM" ? "STREAM" : "TABLE"} ${qualified(node)}`), [node.name]);
  const contracts = useAnswer(() => optional("SHOW CONTRACTS IN ACCOUNT"), [node.name]);
  const readers = useAnswer(() => relatives(node, "DOWNSTREAM"), [node.name]);
  const mine = contracts.value?.filter((row) => String(row["attached_to"] ?? "").split(", ").includes(fullName(node)));
  return (
    <div class="grid-2">
      <Card title="Grants" body={false}><List of={grants} empty="No grants" columns={[["privilege", "Privilege"], ["grantee_name", "Granted to"], ["granted_by", "By"]]} /></Card>
      <Card title="Contract" body={false}><List of={{ value: mine, error: contracts.error }} empty="No contract is attached" columns={[["name", "Contract"], ["version", "Version"], ["compatibility", "Compatibility"], ["consumers", "Consumers"]]} /></Card>
      <Card title="Who would be hit by a change" body={false}><List of={readers} empty="Nothing here reads it" columns={[["name", "Object", (_, one) => <RelativeLink of={one} />], ["kind", "Kind"], ["distance", "Steps"]]} /></Card>
    </div>
  );
}

function Cost({ node }: { node: Named }): JSX.Element {
  const { value, error } = useAnswer(async () => {
    const found = await run("SELECT SYSTEM$COST_REPORT(1, ?)", [fullName(node)]);
    return (JSON.parse(String(found.rows?.[0]?.[0])) as { tables: Record<string, unknown>[] }).tables[0] ?? null;
  }, [node.name]);
  if (error) return <Failure error={error} />;
  if (value === undefined) return <Spinner />;
  if (value === null) return <Card><Empty title="No cost in the last 24 hours" /></Card>;
  const figure = (label: string, text: string, note = ""): JSX.Element => <div class="card figure"><div class="label">{label}</div><div class="value">{text}</div><div class="note">{note}</div></div>;
  const advice = (value["advice"] as unknown[] | undefined) ?? [];
  return (
    <>
      <div class="grid-4">
        {figure("Cost in the last day", money(Number(value["cost_per_day"])), "in credits of its warehouse")}
        {figure("As full refreshes", value["full_cost_per_day"] === null ? "–" : money(Number(value["full_cost_per_day"])), "if each had computed all rows")}
        {figure("Refreshes in the last day", count(Math.round(Number(value["refreshes_per_day"]))), `${count(Math.round(Number(value["idle_refreshes_per_day"])))} found nothing`)}
        {figure("Scanned in the last day", bytes(Number(value["bytes_scanned_per_day"])), `${duration(Number(value["spark_seconds_per_day"]))} of compute`)}
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
  // In a narrow window the tabs are wider than it: the chosen one is seen.
  useEffect(() => { document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); }, [tab, kind]);
  if (!head.value) return head.error ? <div class="content"><Failure error={head.error} /></div> : <Spinner />;
  if (kind === "NONE") return <Empty icon="table" title={`${name} does not exist, or your role may not know of it`} />;
  const row = head.value.row;
  const mode = String(row["refresh_mode"] ?? "");
  const last = refreshes.value?.[0];
  const state = row["scheduling_state"] === "SUSPENDED" ? "suspended" : last && last.state !== "SUCCEEDED" ? last.state : dynamic ? "active" : "";
  const done = refreshes.value?.filter((one) => one.state === "SUCCEEDED") ?? [];
  const inspected = wanted ? done.find((one) => one.query_id === wanted) : done.find((one) => one.inserted + one.deleted > 0) ?? done[0];
  const steps = tab === "plan" ? <Plan node={node} ran={ran}>{byChanges ?? last ? <Card title={byChanges ? "The latest refresh by changes" : "The latest refresh"} more={<span class="faint">{ago((byChanges ?? last)?.end)}</span>}><OneRefresh refresh={byChanges ?? last as Refresh} mode={mode} /></Card> : null}</Plan> : null;
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
            <Figures node={node} row={row} />
            <div class="two">
              <div style={{ display: "grid", gap: "16px" }}><Preview node={node} /><Columns node={node} /></div>
              <Card title="Definition" body={false}>{ddl.error ? <div class="body"><Failure error={ddl.error} /></div> : ddl.value === undefined ? <Spinner /> : ddl.value ? <Sql text={ddl.value} label="Definition" /> : <Empty title="Your role may not see it" />}</Card>
            </div>
          </>
        ) : null}
        {tab === "refreshes" ? refreshes.error ? <Failure error={refreshes.error} /> : refreshes.value ? <Refreshes node={node} refreshes={refreshes.value} lag={lagSeconds(row["target_lag"])} mode={mode} /> : <Spinner /> : null}
        {tab === "changes" ? inspected ? <Changes node={node} query={inspected.query_id} about={`The refresh of ${dayAndClock(inspected.at)}: ${inspected.action.toLowerCase().replace("_", " ")}.`} key={inspected.query_id} /> : refreshes.error ? <Failure error={refreshes.error} /> : refreshes.value ? <Card><Empty icon="refresh" title="No refresh changed anything yet" /></Card> : <Spinner /> : null}
        {steps}
        {tab === "whatif" ? ddl.error ? <Failure error={ddl.error} /> : ddl.value === undefined ? <Spinner /> : <WhatIf node={node} ddl={ddl.value} key={ddl.value} /> : null}
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
