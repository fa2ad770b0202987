/** A table as it was: at one of its refreshes, or at any moment within its retention. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { run, statements } from "../../api";
import { dayAndClock, instant } from "../../format";
import { qualified, type Named } from "../../graph/actions";
import { ResultGrid } from "../../ui/grid";
import { Card, Empty, Failure, Spinner, useAnswer } from "../../ui/parts";

/** Times are shown in whole milliseconds: the version was there in the next one. */
const SHOWN_MS = 1;

function AsOf({ node, at }: { node: Named; at: string }): JSX.Element {
  const { value, error } = useAnswer(() => run(`SELECT * FROM ${qualified(node)} AT (TIMESTAMP => ?::TIMESTAMP_TZ)`, [at], 500), [node.name, at]);
  const source = useMemo(() => (value?.columns ? { columns: value.columns, count: value.row_count ?? 0, first: value.rows ?? [], fetch: (offset: number, limit: number) => statements.rows(value.id, offset, limit) } : null), [value]);
  if (error) return <Failure error={error} />;
  if (!source) return <Spinner />;
  return source.count ? <div style={{ height: `${Math.min(480, 50 + source.count * 28)}px` }}><ResultGrid source={source} label={`As of ${at}`} /></div> : <Empty icon="table" title="No rows then" />;
}

export function Travel({ node, refreshes }: { node: Named; refreshes: { at: string; label: string }[] }): JSX.Element {
  const [at, setAt] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const choose = (text: string, later = 0): void => { const when = instant(text); if (when) setAt(new Date(when.getTime() + later).toISOString().replace("Z", "+00:00")); };
  return (
    <div class="two">
      <Card title={at ? `As of ${dayAndClock(at)}` : "As it was"} body={false}>
        {at ? <AsOf node={node} at={at} key={at} /> : <Empty icon="history" title="Choose a moment">The table is shown as it was then. Nothing is changed.</Empty>}
      </Card>
      <div style={{ display: "grid", gap: "16px" }}>
        <Card title="At a moment">
          <form style={{ display: "flex", gap: "8px" }} onSubmit={(event) => { event.preventDefault(); choose(typed); }}>
            <input aria-label="Moment, in UTC" placeholder="2026-01-31 12:00:00" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
            <button type="submit">Show</button>
          </form>
          <p class="faint" style={{ marginTop: "8px" }}>In UTC, within the table’s retention.</p>
        </Card>
        {refreshes.length ? (
          <Card title="Versions" body={false}>
            <ul class="decisions" style={{ maxHeight: "420px", overflow: "auto" }} tabIndex={0}>{refreshes.slice(0, 60).map((one) => (
              <li key={one.at} style={{ display: "flex", justifyContent: "space-between", padding: "6px 16px" }}>
                <button type="button" class="plain small" style={{ padding: 0, color: "var(--accent)" }} onClick={() => choose(one.at, SHOWN_MS)}>{dayAndClock(one.at)}</button>
                <span class="muted">{one.label.toLowerCase().replace("_", " ")}</span>
              </li>
            ))}</ul>
          </Card>
        ) : null}
      </div>
    </div>
  );
}
