/** Rows of a table within a range, derived again: an estimate first, then chunk by chunk, and the way back. */
import "./operate.css";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { getJson, postJson } from "../api";
import { count, duration, plural } from "../format";
import { useLive } from "../live";
import { confirmed } from "../ui/dialog";
import { Action, Badge, Card, Empty, Failure, Head, Spinner, useAnswer } from "../ui/parts";

interface Standing { run: string; table: string; state: string; working: boolean; problem: string; done: number; chunks: number; saved: string; undoing: boolean; lines: { text: string }[] }
interface Estimate {
  table: string; saved: string; refreshed: string[]; rows_now: number; rows_then: number; chunks: number; seconds: number; refresh_seconds: number; cost: number; basis: string;
  downstream: { dynamic_tables: string[]; views: string[]; streams: string[]; others: string[] };
}
const FIELDS: [string, string, string][] = [
  ["table", "Table", "to mend"], ["source", "From", "table or view with the right rows"], ["column", "Column", "of the range or the keys"], ["chunk", "Chunk", "such as 1 day, or a number; may be left out"],
  ["start", "Start", "the first value"], ["end", "End", "the first value behind the range"], ["keys", "Keys", "instead of a range, with commas"],
];
const TONES: Record<string, string> = { finished: "ok", accepted: "ok", running: "running", undoing: "running", stopped: "late" };

function Plan({ found }: { found: Estimate }): JSX.Element {
  const rows: [string, string][] = [
    ["Rows replaced", count(found.rows_now)], ["By", count(found.rows_then)], ["Chunks", count(found.chunks)],
    ["Time", `about ${duration(found.seconds)} (${found.basis}), refreshes ${duration(found.refresh_seconds)}`], ["Cost", found.cost.toFixed(2)],
    ["Refreshed after it", found.refreshed.join(", ") || "nothing"], ["Follow", [...found.downstream.dynamic_tables, ...found.downstream.views].join(", ") || "nothing"],
    ["Do not follow", found.downstream.others.join(", ") || "nothing"], ["The old version stays as", found.saved],
  ];
  return <dl class="meta">{rows.map(([name, text]) => <><dt key={name}>{name}</dt><dd>{text}</dd></>)}</dl>;
}

function Begin({ begun }: { begun: () => void }): JSX.Element {
  const [given, setGiven] = useState<Record<string, string>>({});
  const [follow, setFollow] = useState(false);
  const [found, setFound] = useState<Estimate | null>(null);
  const [error, setError] = useState<unknown>(null);
  const body = { ...given, follow_streams: follow };
  const tried = async (act: () => Promise<void>): Promise<void> => {
    setError(null);
    try {
      await act();
    } catch (problem) {
      setError(problem);
      throw problem;
    }
  };
  return (
    <div class="grid-2" style={{ alignItems: "start" }}>
      <Card title="A backfill">
        <div style={{ display: "grid", gap: "16px" }}>
          <div class="form-grid">{FIELDS.map(([key, label, about]) => (
            <label class="field" key={key}>{label}<span class="faint" style={{ fontWeight: 400 }}>{about}</span>
              <input value={given[key] ?? ""} onInput={(event) => { setGiven({ ...given, [key]: event.currentTarget.value }); setFound(null); }} /></label>
          ))}</div>
          <label><input type="checkbox" style={{ height: "auto" }} checked={follow} onChange={() => setFollow(!follow)} /> consumers of streams apply deletes, too</label>
          {error ? <Failure error={error} /> : null}
          <div style={{ display: "flex", gap: "8px" }}>
            <Action label="What would it do?" done="Nothing was changed." act={() => tried(async () => setFound(await postJson<Estimate>("/backfills/plan", body)))} />
            {found ? <Action label="Begin" icon="play" kind="primary" done="It has begun." act={() => tried(async () => { await postJson("/backfills", body); setFound(null); begun(); })} /> : null}
          </div>
        </div>
      </Card>
      <Card title="What it would do">{found ? <Plan found={found} /> : <Empty icon="history" title="Nothing is changed yet">Rows, time and cost show here first.</Empty>}</Card>
    </div>
  );
}

function One({ item, again }: { item: Standing; again: () => void }): JSX.Element {
  const act = (action: string) => (): Promise<unknown> => postJson(`/backfills/${encodeURIComponent(item.run)}`, { action }).then(again);
  return (
    <Card title={item.table} more={<Badge state={TONES[item.state] ?? "idle"}>{item.state}</Badge>}>
      <div style={{ display: "grid", gap: "10px" }}>
        <div class="bar" role="progressbar" aria-label={`Progress of ${item.table}`} aria-valuemin={0} aria-valuemax={item.chunks} aria-valuenow={item.done}><i style={{ width: `${(100 * item.done) / Math.max(item.chunks, 1)}%` }} /></div>
        <span class="muted">{item.done} of {plural(item.chunks, "chunk")} {item.undoing || item.state === "undone" ? "brought back" : "replaced"}. {item.run}</span>
        {item.problem ? <div class="error" role="alert">{item.problem}</div> : null}
        {item.lines.length ? <div class="run-lines" tabIndex={0} role="log" aria-label={`What ${item.run} did`}>{item.lines.map((line, index) => <div key={index}>{line.text}</div>)}</div> : null}
        {item.working ? null : (
          <div style={{ display: "flex", gap: "8px" }}>
            {item.state === "stopped" ? <Action label="Resume" icon="play" act={act(item.undoing ? "undo" : "resume")} /> : null}
            {item.state === "finished" || item.state === "stopped" ? <Action label="Undo" icon="history" ask={() => confirmed("Undo the backfill?", `${item.table} gets its former rows back in the range.`, "Undo it")} act={act("undo")} /> : null}
            {item.state === "finished" ? <Action label="Accept" icon="check" done="The old version is dropped." ask={() => confirmed("Keep the new rows?", "The old version is dropped: the backfill can't be undone any more.", "Keep them")} act={act("accept")} /> : null}
          </div>
        )}
      </div>
    </Card>
  );
}

export function Backfills(): JSX.Element {
  const { value, error, again } = useAnswer(() => getJson<{ runs: Standing[] }>("/backfills"), []);
  useLive(["runs"], again, 500);
  return (
    <>
      <Head title="Backfills" />
      <div class="content">
        {error ? <Failure error={error} /> : null}
        <Begin begun={again} />
        {!value ? <Spinner /> : value.runs.map((item) => <One item={item} again={again} key={item.run} />)}
      </div>
    </>
  );
}
