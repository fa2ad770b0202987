/** Checks of a table, and the rows that they keep out, which can be replayed. */
import type { JSX } from "preact";
import { query, quoted, run } from "../../api";
import { count } from "../../format";
import { qualified, type Named } from "../../graph/actions";
import { useLive } from "../../live";
import { href } from "../../router";
import { Action, Badge, Card, Failure, useAnswer } from "../../ui/parts";
import { List, mayNot, optional } from "./shared";

function Quarantine({ node }: { node: Named }): JSX.Element | null {
  const kept = { ...node, name: `${node.name}_QUARANTINE` };
  const found = useAnswer(async () => {
    try {
      return await query(`SELECT quality_checks, quality_reason, COUNT(*) AS n, MAX(quarantined_at) AS latest FROM ${qualified(kept)} GROUP BY 1, 2 ORDER BY n DESC LIMIT 50`);
    } catch (error) {
      if (mayNot(error)) return null;
      throw error;
    }
  }, [node.name]);
  useLive(["quality", "rows"], found.again, 3000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.value) return null;
  const total = found.value.reduce((sum, row) => sum + Number(row["n"] ?? 0), 0);
  return (
    <Card title="Quarantine" body={false} more={<>
      <span class="muted">{count(total)} rows</span>
      <a class="button small" href={`${href("worksheet")}?sql=${encodeURIComponent(`SELECT * FROM ${[node.database, node.schema, kept.name].map((part) => quoted(part ?? "")).join(".")} LIMIT 100;\n`)}`}>Look at them</a>
      {node.kind === "TABLE" && total ? <Action label="Replay" icon="refresh" kind="small" done="Rows that hold now are in the table again." act={() => run(`ALTER TABLE ${qualified(node)} REPLAY QUARANTINE`).then(found.again)} /> : null}
    </>}>
      <List of={{ value: found.value, error: undefined }} empty="No rows are in quarantine" columns={[["quality_checks", "Checks"], ["quality_reason", "Reason"], ["n", "Rows"], ["latest", "Latest"]]} />
    </Card>
  );
}

export function Quality({ node }: { node: Named }): JSX.Element {
  const checks = useAnswer(() => optional(`SHOW QUALITY CHECKS IN TABLE ${qualified(node)}`), [node.name]);
  return <><Card title="Quality checks" body={false}><List of={checks} empty="No checks: ALTER TABLE … ADD QUALITY CHECK adds one" columns={[
    ["name", "Check"], ["kind", "Kind", (text) => <code>{text}</code>], ["severity", "Severity", (text) => String(text).toLowerCase()], ["on_failure", "On failure", (text) => String(text ?? "").toLowerCase()],
    ["last_status", "Last", (text) => (text ? <Badge state={String(text)} /> : <span class="faint">not run</span>)], ["last_message", "Message"],
  ]} /></Card><Quarantine node={node} /></>;
}
