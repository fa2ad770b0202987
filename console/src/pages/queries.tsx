import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJson, query, run, type Row, type Value } from "../api";
import { ago, count, dayAndClock, duration, instant } from "../format";
import { useLive } from "../live";
import { go, href, place } from "../router";
import { Sql } from "../sql/shown";
import { Beside, Detail, Listing, PickName, type ListColumn } from "../ui/listing";
import { Action, Badge, Card, Empty, Failure, Head, Icon, Spinner, useAnswer } from "../ui/parts";

const OWN = "snowmelt-console";
const MOST = 1000;
const FIELDS = "query_id, query_text, query_type, user_name, role_name, warehouse_name, database_name, schema_name, query_tag, execution_status, error_message, start_time, end_time, total_elapsed_time, rows_produced, spark_job_ids, execution_lane, lane_reason";

const jobsOf = (value: Value | undefined): number[] => { try { return JSON.parse(String(value ?? "[]")) as number[]; } catch { return []; } };

const LANES: Record<string, string> = { QUICK: "this process", BOTH: "this process and Spark" };
const STATES: Record<string, string> = { SUCCESS: "succeeded", FAILED_WITH_ERROR: "failed", FAILED_WITH_INCIDENT: "failed" };
const FILTERS: [string, string][] = [["", "All states"], ["RUNNING", "Running"], ["SUCCESS", "Succeeded"], ["FAILED", "Failed"]];

const stateOf = (row: Row): string => { const status = String(row["execution_status"]); return STATES[status] ?? status.toLowerCase(); };
const isRunning = (row: Row): boolean => row["execution_status"] === "RUNNING" || row["execution_status"] === "QUEUED";
const keyOf = (row: Row): string => String(row["query_id"]);

/** How long it took, or has taken until now. */
const took = (row: Row): number => (isRunning(row) ? Math.max(0, Date.now() - (instant(row["start_time"])?.getTime() ?? Date.now())) : Number(row["total_elapsed_time"] ?? 0)) / 1000;

/** Where a statement was computed, with the way to Spark's page for it, where Spark shows one. */
function Computed({ row, spark }: { row: Row; spark: string | null }): JSX.Element | null {
  const jobs = jobsOf(row["spark_job_ids"]);
  if (!row["execution_lane"] && !jobs.length) return null;
  return (
    <p class="computed">
      <span class="muted">Computed by {LANES[String(row["execution_lane"])] ?? "Spark"}{row["lane_reason"] ? `: ${row["lane_reason"]}` : ""}.</span>
      {spark ? jobs.map((job) => <a key={job} class="button small" href={`${spark}/jobs/job/?id=${job}`} target="_blank" rel="noreferrer">Spark job {job}</a>)
        : jobs.length ? <span class="faint">Spark jobs {jobs.join(", ")}</span> : null}
    </p>
  );
}

function Cancel({ row, again, kind = "small" }: { row: Row; again: () => void; kind?: string }): JSX.Element {
  return <Action label="Cancel" icon="stop" kind={kind} done="It was told to stop." act={() => run("SELECT SYSTEM$CANCEL_QUERY(?)", [keyOf(row)]).then(again)} />;
}

function OneQuery({ row, spark, close, again }: { row: Row; spark: string | null; close: () => void; again: () => void }): JSX.Element {
  const space = [row["database_name"], row["schema_name"]].filter(Boolean).join(".");
  const facts: [string, JSX.Element | string | null][] = [
    ["State", <Badge state={isRunning(row) ? "running" : stateOf(row)} />], ["Took", duration(took(row))], ["Rows", row["rows_produced"] === null ? null : count(row["rows_produced"] as number)],
    ["Began", dayAndClock(row["start_time"])], ["User", `${row["user_name"]}, as ${row["role_name"]}`], ["Warehouse", row["warehouse_name"] === null ? null : String(row["warehouse_name"])],
    ["Schema", space || null], ["Tag", row["query_tag"] ? String(row["query_tag"]) : null], ["Query id", <code>{row["query_id"]}</code>],
  ];
  return (
    <Detail title="Statement" close={close} acts={<>
      {isRunning(row) ? <Cancel row={row} again={again} /> : null}
      <a class="button small" href={`${href("worksheet")}?sql=${encodeURIComponent(String(row["query_text"]))}`}><Icon name="worksheet" size={14} />Open in a worksheet</a>
    </>}>
      {row["error_message"] ? <div class="error">{row["error_message"]}</div> : null}
      <Sql text={String(row["query_text"])} />
      <dl class="meta">{facts.map(([label, value]) => (value === null ? null : <><dt key={label}>{label}</dt><dd>{value}</dd></>))}</dl>
      <Computed row={row} spark={spark} />
    </Detail>
  );
}

export function Queries(): JSX.Element {
  const [own, setOwn] = useState(false);
  const [search, setSearch] = useState("");
  const [state, setState] = useState("");
  const picked = place.value.query.get("of");
  const pick = (id: string | null): void => go(id === null || id === picked ? href("queries") : `${href("queries")}?of=${encodeURIComponent(id)}`);
  const { value, error, again } = useAnswer(() => query(`SELECT ${FIELDS} FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY(RESULT_LIMIT => ${MOST}))`), []);
  useLive(["queries", "refreshes"], again, 3000);
  const spark = useAnswer(() => getJson<{ address: string | null }>("/spark"), [value === undefined]).value?.address ?? null;
  const wanted = search.toLowerCase();
  const found = (value ?? []).filter((row) => (own || row["query_tag"] !== OWN) && (state === "" || String(row["execution_status"]).startsWith(state))
    && `${row["query_text"]} ${row["user_name"]} ${row["query_id"]}`.toLowerCase().includes(wanted));
  const chosen = (value ?? []).find((row) => keyOf(row) === picked);
  const running = (value ?? []).filter((row) => isRunning(row) && (own || row["query_tag"] !== OWN)).length;
  // What runs is counted on here, once a second: nobody need be asked how late it is.
  const [, setSecond] = useState(0);
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setSecond((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, [running > 0]);
  const columns: ListColumn[] = [
    { label: "Statement", by: (row) => row["query_text"], show: (row) => <PickName mono name={String(row["query_text"]).replaceAll(/\s+/g, " ").slice(0, 160)} picked={chosen === row} pick={() => pick(keyOf(row))} /> },
    { label: "State", by: stateOf, show: (row) => <Badge state={isRunning(row) ? "running" : stateOf(row)}>{stateOf(row)}</Badge> },
    { label: "User", minor: true, by: (row) => row["user_name"], show: (row) => row["user_name"] }, { label: "Role", minor: true, by: (row) => row["role_name"], show: (row) => <span class="muted">{row["role_name"]}</span> },
    { label: "Rows", right: true, by: (row) => row["rows_produced"], show: (row) => count(row["rows_produced"] as number | null) },
    { label: "Took", right: true, by: took, show: (row) => duration(took(row)) },
    { label: "Began", by: (row) => row["start_time"], show: (row) => <span class="muted" title={dayAndClock(row["start_time"])}>{ago(row["start_time"])}</span> },
    { label: "", show: (row) => (isRunning(row) ? <Cancel row={row} again={again} /> : null) },
  ];
  return (
    <>
      <Head title="Queries" badge={running ? <Badge state="running">{running} running</Badge> : null}>
        {spark ? <a class="button" href={spark} target="_blank" rel="noreferrer">Spark UI</a> : null}
        <label class="muted"><input type="checkbox" style={{ height: "auto" }} checked={own} onChange={() => setOwn(!own)} /> those of this console</label>
        <select aria-label="State" value={state} onChange={(event) => setState(event.currentTarget.value)}>{FILTERS.map(([key, label]) => <option key={key} value={key}>{label}</option>)}</select>
        <input type="search" placeholder="Filter" aria-label="Filter queries" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </Head>
      <div class="content">
        {error ? <Failure error={error} /> : null}
        {!value && !error ? <Spinner /> : null}
        <Beside detail={chosen ? <OneQuery row={chosen} spark={spark} close={() => pick(null)} again={again} key={keyOf(chosen)} /> : null}>
          {value && !found.length ? <Card><Empty icon="query" title="No queries to show" /></Card> : null}
          {found.length ? <Card body={false}><Listing rows={found} label="Queries" columns={columns} keyOf={keyOf} picked={picked} pick={pick} /></Card> : null}
        </Beside>
      </div>
    </>
  );
}
