import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { getJson, query, run, type Row, type Value } from "../api";
import { ago, count, dayAndClock, duration } from "../format";
import { useLive } from "../live";
import { Action, Badge, Card, Empty, Failure, Head, Icon, Spinner, useAnswer } from "../ui/parts";

const OWN = "snowmelt-console";

const jobsOf = (value: Value | undefined): number[] => { try { return JSON.parse(String(value ?? "[]")) as number[]; } catch { return []; } };

const LANES: Record<string, string> = { QUICK: "this process", BOTH: "this process and Spark" };

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

export function Queries(): JSX.Element {
  const [own, setOwn] = useState(false);
  const [search, setSearch] = useState("");
  const [picked, setPicked] = useState<string | null>(null);
  const { value, error, again } = useAnswer(() => query(
    "SELECT query_id, query_text, query_type, user_name, role_name, warehouse_name, query_tag, execution_status, error_message, start_time, total_elapsed_time, rows_produced, spark_job_ids, execution_lane, lane_reason FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY(RESULT_LIMIT => 500))",
  ), []);
  useLive(["queries", "refreshes"], again, 3000);
  const spark = useAnswer(() => getJson<{ address: string | null }>("/spark"), [value === undefined]).value?.address ?? null;
  const found = (value ?? []).filter((row) => (own || row["query_tag"] !== OWN) && String(row["query_text"]).toLowerCase().includes(search.toLowerCase()));
  const chosen = found.find((row) => row["query_id"] === picked);
  const running = found.filter((row) => row["execution_status"] === "RUNNING").length;
  return (
    <>
      <Head title="Queries" badge={running ? <Badge state="running">{running} running</Badge> : null}>
        {spark ? <a class="button" href={spark} target="_blank" rel="noreferrer">Spark UI</a> : null}
        <label class="muted"><input type="checkbox" style={{ height: "auto" }} checked={own} onChange={() => setOwn(!own)} /> those of this console</label>
        <input type="search" placeholder="Filter" aria-label="Filter queries" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </Head>
      <div class="content">
        {error ? <Failure error={error} /> : null}
        {!value && !error ? <Spinner /> : null}
        {chosen ? (
          <Card title={String(chosen["query_id"])} more={<button type="button" class="plain small" aria-label="Close" onClick={() => setPicked(null)}><Icon name="close" size={14} /></button>} body={false}>
            {chosen["error_message"] ? <div class="error" style={{ margin: "12px 16px 0" }}>{chosen["error_message"]}</div> : null}
            <Computed row={chosen} spark={spark} />
            <pre class="code" tabIndex={0}>{chosen["query_text"]}</pre>
          </Card>
        ) : null}
        {value && !found.length ? <Card><Empty icon="query" title="No queries to show" /></Card> : null}
        {found.length ? (
          <Card body={false}><div class="scroll-x"><table class="list">
            <thead><tr><th>Statement</th><th>State</th><th>User</th><th>Role</th><th class="number">Rows</th><th class="number">Took</th><th>Began</th><th><span class="visually-hidden">Actions</span></th></tr></thead>
            <tbody>{found.slice(0, 200).map((row) => (
              <tr key={String(row["query_id"])}>
                <td class="clip ellipsis"><button type="button" class="plain small mono ellipsis" style={{ padding: 0, maxWidth: "100%", display: "block", color: "var(--text)", fontWeight: 400 }} onClick={() => setPicked(String(row["query_id"]))}>{String(row["query_text"]).replaceAll(/\s+/g, " ").slice(0, 160)}</button></td>
                <td><Badge state={String(row["execution_status"])} /></td><td>{row["user_name"]}</td><td class="muted">{row["role_name"]}</td>
                <td class="number">{count(row["rows_produced"] as number | null)}</td><td class="number">{duration(Number(row["total_elapsed_time"] ?? 0) / 1000)}</td>
                <td class="muted" title={dayAndClock(row["start_time"])}>{ago(row["start_time"])}</td>
                <td>{row["execution_status"] === "RUNNING" ? <Action label="Cancel" kind="small" act={() => run("SELECT SYSTEM$CANCEL_QUERY(?)", [String(row["query_id"])]).then(again)} /> : null}</td>
              </tr>
            ))}</tbody>
          </table></div></Card>
        ) : null}
      </div>
    </>
  );
}
