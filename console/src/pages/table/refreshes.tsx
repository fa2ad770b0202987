/** The refreshes of a dynamic table: a time line, the lag, and of each what it did, why, and what it took. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { query, quoted, type Value } from "../../api";
import { ago, count, dayAndClock, duration, instant, plural, short } from "../../format";
import { qualified, type Named } from "../../graph/actions";
import { href } from "../../router";
import { Chart } from "../../ui/chart";
import { Badge, Card, Empty } from "../../ui/parts";

const parsed = (value: Value | undefined): Record<string, unknown> => {
  try {
    return (JSON.parse(String(value ?? "{}")) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
};

export interface Refresh {
  state: string; action: string; trigger: string; start: string; end: string; at: string; ms: number; inserted: number; deleted: number;
  message: string; reason: string; query_id: string; details: Record<string, unknown>; statistics: Record<string, unknown>; inputs: Value;
}

export async function loadRefreshes(node: Named): Promise<Refresh[]> {
  const rows = await query(
    `SELECT * FROM TABLE(${quoted(node.database ?? "")}.INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => ?, RESULT_LIMIT => 200))`, [qualified(node)],
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

const keyOf = (refresh: Refresh): string => `${refresh.query_id} ${refresh.at}`;
const FAILED = new Set(["FAILED", "UPSTREAM_FAILED", "CANCELLED"]);
const toneOf = (refresh: Refresh): string => (refresh.state === "SUCCEEDED" ? refresh.action.toLowerCase() : FAILED.has(refresh.state) ? "failed" : refresh.state.toLowerCase());
const wordOf = (refresh: Refresh): string => (refresh.state === "SUCCEEDED" ? refresh.action : refresh.state).toLowerCase().replaceAll("_", " ");

const ENGINES: Record<string, string> = { QUICK: "this process", SPARK: "Spark" };

/** Why it was done the way it was done, in a sentence. */
export function whyOf(refresh: Pick<Refresh, "state" | "action" | "details" | "reason" | "message">): string {
  const told = refresh.details["reason"] ?? refresh.reason;
  if (told) return String(told);
  if (refresh.state === "UPSTREAM_FAILED") return "A table that it reads could not be refreshed.";
  if (refresh.state === "SKIPPED") return "The refresh before it was still running.";
  if (FAILED.has(refresh.state)) return refresh.message;
  if (refresh.action === "NO_DATA") return "Nothing changed in its sources.";
  if (refresh.action !== "INCREMENTAL") return "";
  const [changes, full] = [refresh.details["estimatedIncrementalMs"], refresh.details["estimatedFullMs"]].map((one) => (one === undefined ? null : Number(one) / 1000));
  if (changes === null || changes === undefined || full === null || full === undefined) return "Its query is refreshed by changes; what that takes was not measured yet.";
  return changes <= full ? `Expected ${duration(changes)} by changes, ${duration(full)} in full.`
    : `Its mode asks for changes: ${duration(changes)} expected, in full ${duration(full)}.`;
}

const STAGES: [string, string][] = [["queuedTimeMs", "Waited"], ["compilationTimeMs", "Compiled"], ["readTimeMs", "Read changes"], ["computeTimeMs", "Computed"], ["applyTimeMs", "Applied"], ["commitTimeMs", "Committed"]];

export function OneRefresh({ refresh, mode }: { refresh: Refresh; mode: string }): JSX.Element {
  const times = STAGES.map(([key, label]) => [label, Number(refresh.details[key] ?? refresh.statistics[key] ?? Number.NaN)] as const).filter(([, ms]) => !Number.isNaN(ms));
  const most = Math.max(...times.map(([, ms]) => ms), 1);
  const inputs = (() => { try { return (JSON.parse(String(refresh.inputs ?? "[]")) as { name?: string }[]).map((one) => one.name ?? ""); } catch { return []; } })();
  const why = whyOf(refresh);
  const engine = ENGINES[String(refresh.details["engine"] ?? "").toUpperCase()];
  return (
    <div style={{ display: "grid", gap: "16px" }}>
      <dl class="meta">
        <dt>State</dt><dd><Badge state={refresh.state} /></dd>
        <dt>Action</dt><dd>{refresh.action.toLowerCase().replace("_", " ") || "–"}{refresh.details["apply"] ? `, applied by ${String(refresh.details["apply"]).toLowerCase()}` : ""}</dd>
        {mode ? <><dt>Mode</dt><dd>{mode.toLowerCase()}{engine ? `, computed by ${engine}` : ""}</dd></> : null}
        {why ? <><dt>Reason</dt><dd>{why}</dd></> : null}
        <dt>Trigger</dt><dd>{refresh.trigger.toLowerCase()}</dd>
        <dt>Rows</dt><dd><span class="changes"><span class="in">+{count(refresh.inserted)}</span><span class="out">−{count(refresh.deleted)}</span></span>{refresh.details["changed_rows"] !== undefined ? ` from ${plural(Number(refresh.details["changed_rows"]), "changed row")} of its sources` : ""}</dd>
        {inputs.length ? <><dt>Changed inputs</dt><dd>{inputs.map((one) => one.split(".").at(-1)).join(", ")}</dd></> : null}
        <dt>Data timestamp</dt><dd>{dayAndClock(refresh.at)}</dd>
        {refresh.message && refresh.message !== why ? <><dt>Message</dt><dd>{refresh.message}</dd></> : null}
      </dl>
      {times.length ? <div>{times.map(([label, ms]) => (
        <div class="stage-bar" key={label}><span class="muted">{label}</span><div class="bar"><i style={{ width: `${(100 * ms) / most}%` }} /></div><span class="number">{duration(ms / 1000)}</span></div>
      ))}</div> : null}
    </div>
  );
}

export function Refreshes({ node, refreshes, lag, mode }: { node: Named; refreshes: Refresh[]; lag: number | null; mode: string }): JSX.Element {
  // By its key: while somebody looks at one, others come. The newest is shown until somebody chooses.
  const [key, setKey] = useState<string | null>(null);
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
  const chosen = refreshes.find((one) => keyOf(one) === key) ?? refreshes[0];
  if (!chosen) return <Empty icon="refresh" title="No refresh yet">The first one shows here.</Empty>;
  return (
    <div class="two">
      <div style={{ display: "grid", gap: "16px" }}>
        <Card title="Refreshes" more={<span class="faint">the newest on the right; height is time</span>}>
          <div class="timeline" role="group" aria-label="Refreshes by time">
            {refreshes.slice(0, 80).map((one) => (
              <button type="button" key={keyOf(one)} class={toneOf(one)} aria-pressed={one === chosen} onClick={() => setKey(keyOf(one))}
                aria-label={`${wordOf(one)} at ${dayAndClock(one.end)}, ${duration(one.ms / 1000)}`} title={`${wordOf(one)} · ${duration(one.ms / 1000)} · ${ago(one.end)}\n${whyOf(one)}`}
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
            <thead><tr><th>Ended</th><th>Action</th><th>Reason</th><th class="number">Rows</th><th class="number">Took</th></tr></thead>
            <tbody>{refreshes.slice(0, 30).map((one) => (
              <tr key={keyOf(one)} class={`pickable${one === chosen ? " lit" : ""}`} onClick={() => setKey(keyOf(one))}>
                <td><button type="button" class="name" aria-pressed={one === chosen} onClick={() => setKey(keyOf(one))}>{dayAndClock(one.end)}</button></td>
                <td><Badge state={one.state}>{wordOf(one)}</Badge></td>
                <td class="muted clip short ellipsis" title={whyOf(one)}>{whyOf(one)}</td>
                <td class="number"><span class="changes"><span class="in">+{short(one.inserted)}</span><span class="out">−{short(one.deleted)}</span></span></td>
                <td class="number">{duration(one.ms / 1000)}</td>
              </tr>
            ))}</tbody>
          </table></div>
        </Card>
      </div>
      <Card title="This refresh" more={<span class="faint">{ago(chosen.end)}</span>}>
        <OneRefresh refresh={chosen} mode={mode} />
        {chosen.state === "SUCCEEDED" ? <a class="button" style={{ marginTop: "12px" }} href={href("table", node.database ?? "", node.schema ?? "", node.name, "changes", chosen.query_id)}>Inspect its changes</a> : null}
      </Card>
    </div>
  );
}

