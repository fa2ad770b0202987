/** The versions of a table, and the table as it was: at one of them, or at any moment within its retention. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { query, run, statements } from "../../api";
import { ago, bytes, count, dayAndClock, instant } from "../../format";
import { useLive } from "../../live";
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

const MOST = 200;

/** The newest first. What another tool wrote, or upkeep moved, is a version as well. */
function Versions({ node, at, choose }: { node: Named; at: string | null; choose: (text: string, later: number) => void }): JSX.Element {
  const { value, error, again } = useAnswer(() => query(
    `SELECT version, committed_on, operation, row_count, bytes, query_id FROM TABLE("${(node.database ?? "").replaceAll('"', '""')}".INFORMATION_SCHEMA.TABLE_VERSION_HISTORY(TABLE_NAME => ?)) ORDER BY version DESC LIMIT ${MOST}`, [qualified(node)],
  ), [node.name]);
  useLive(["rows", "refreshes"], again, 3000);
  if (error) return <Failure error={error} />;
  if (!value) return <Spinner />;
  if (!value.length) return <Empty title="No version is known" />;
  const rows = value.map((row, index) => ({ ...row, grown: index + 1 < value.length ? Number(row["row_count"]) - Number(value[index + 1]?.["row_count"]) : null }) as typeof row & { grown: number | null });
  const shown = (text: unknown): boolean => at !== null && instant(String(text))?.getTime() === Date.parse(at) - SHOWN_MS;
  return (
    <div class="scroll-x" style={{ maxHeight: "480px", overflowY: "auto" }} tabIndex={0}><table class="list" aria-label="Versions">
      <thead><tr><th class="number">Version</th><th>Visible since</th><th>By</th><th class="number">Rows</th><th class="number">Change</th><th class="number">Size</th></tr></thead>
      <tbody>{rows.map((row) => (
        <tr key={String(row["version"])} class={shown(row["committed_on"]) ? "lit" : ""}>
          <td class="number"><button type="button" class="plain small" style={{ padding: 0, color: "var(--accent)" }} aria-label={`Show version ${row["version"]}`} onClick={() => choose(String(row["committed_on"]), SHOWN_MS)}>{row["version"]}</button></td>
          <td class="muted" title={dayAndClock(row["committed_on"])}>{ago(row["committed_on"])}</td>
          <td>{String(row["operation"]).toLowerCase()}</td>
          <td class="number">{count(row["row_count"] as number)}</td>
          <td class="number muted">{row.grown === null || row.grown === 0 ? "" : row.grown > 0 ? `+${count(row.grown)}` : `−${count(-row.grown)}`}</td>
          <td class="number muted">{bytes(row["bytes"] as number)}</td>
        </tr>
      ))}</tbody>
    </table></div>
  );
}

export function Travel({ node }: { node: Named }): JSX.Element {
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
        <Card title="Versions" body={false}><Versions node={node} at={at} choose={choose} /></Card>
      </div>
    </div>
  );
}
