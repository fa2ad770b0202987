/** How a dynamic table is refreshed, as a picture and step by step; and how it would be with another query. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { query, statements, type Row } from "../../api";
import { duration } from "../../format";
import { qualified, type Named } from "../../graph/actions";
import { Editor, type EditorHandle } from "../../sql/editor";
import { Sql } from "../../sql/shown";
import { Diagram } from "../../ui/diagram";
import { Badge, Card, Empty, Failure, Spinner, useAnswer } from "../../ui/parts";
import { consequences, queryOf, type Consequences } from "./consequences";
import { drawnPlan, ranPicture, type RanPlan, type Step } from "./planpicture";

function PlanPicture({ steps }: { steps: Step[] }): JSX.Element {
  const drawn = useMemo(() => drawnPlan(steps), [steps]);
  return drawn.edges.length ? <Diagram label="The plan of a refresh" nodes={drawn.nodes} edges={drawn.edges} /> : <Empty title="It has one step" />;
}

/** Of a refresh that ran, with what each stage took. */
function RanPicture({ ran }: { ran: RanPlan }): JSX.Element {
  const drawn = useMemo(() => ranPicture(ran), [ran]);
  return (
    <>
      <Diagram label="The plan of a refresh" nodes={drawn.nodes} edges={drawn.edges} />
      <p class="faint" style={{ marginTop: "8px" }}>Of the latest refresh by changes: what each stage took, its share of the whole, and the rows it gave. Reading the changes took {duration(ran.readMs / 1000)}.</p>
    </>
  );
}

function Steps({ steps }: { steps: Step[] }): JSX.Element {
  if (steps.length === 0) return <Empty title="No plan" />;
  return (
    <ol class="plan">
      {steps.map((one, index) => (
        <li key={index}>
          <span class="dot">{index + 1}</span>
          <div class="step"><strong>{one.step}</strong>{isSql(one) ? <Sql text={one.text} label={one.step} /> : <span class="muted">{one.text}</span>}</div>
        </li>
      ))}
    </ol>
  );
}

/** What is said in a few words stands there; the SQL of the stages, which is for who looks for a cause, behind a click. */
function Facts({ steps }: { steps: Step[] }): JSX.Element {
  const told = steps.filter((one) => !isSql(one));
  return (
    <>
      <Steps steps={told} />
      {told.length < steps.length ? <details><summary class="muted">The SQL of each stage</summary><div style={{ marginTop: "12px" }}><Steps steps={steps.filter(isSql)} /></div></details> : null}
    </>
  );
}

const isSql = (one: Step): boolean => /\bSELECT\b/.test(one.text);

const toSteps = (rows: Row[]): Step[] => rows.map((row) => ({ step: String(row["step"] ?? ""), text: String(row["text"] ?? "") }));

function Felt({ felt, full }: { felt: Consequences; full: boolean }): JSX.Element {
  const broken = felt.columns.filter((one) => one.breaks);
  const money = (value: number): string => value.toPrecision(2);
  return (
    <dl class="meta">
      <dt>Columns</dt><dd>{felt.columns.length ? felt.columns.map((one) => <div key={one.name}><Badge state={one.breaks ? "failed" : "ok"}>{one.name}</Badge> {one.what}</div>) : "stay as they are"}</dd>
      <dt>Contracts</dt><dd>{felt.contracts.length === 0 ? "none is attached" : felt.contracts.map((one) => <div key={one.name}>{one.name}: {broken.length ? `${broken.map((column) => column.name).join(", ")} may break it${one.consumers && one.consumers !== "[]" ? ` for ${one.consumers}` : ""}` : "holds, as far as columns go"}</div>)}</dd>
      <dt>Felt by</dt><dd>{felt.readers.length ? `It would be felt by ${felt.readers.join(", ")}.` : "Nothing reads this table."}</dd>
      <dt>Cost a day</dt><dd>{felt.cost === null ? "not known yet" : full ? `about ${felt.cost.full === null ? "as full refreshes" : money(felt.cost.full)}, in full each time; now ${money(felt.cost.now)}` : `about ${money(felt.cost.now)} as now, if its changes are as many`}</dd>
    </dl>
  );
}

export function WhatIf({ node, ddl }: { node: Named; ddl: string }): JSX.Element {
  const editor = useMemo<{ now: EditorHandle | null }>(() => ({ now: null }), []);
  const [steps, setSteps] = useState<Step[] | null>(null);
  const [felt, setFelt] = useState<Consequences | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const asked = useAnswer(async () => queryOf((await statements.split(ddl))[0]?.text ?? ddl), [ddl]);
  const body = asked.value ?? "";
  const ask = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    setSteps(null);
    setFelt(null);
    try {
      const definition = (editor.now?.text() ?? body).replace(/;\s*$/, "");
      setSteps(toSteps(await query(`EXPLAIN DYNAMIC TABLE AS ${definition}`)));
      setFelt(await consequences(node, definition));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  if (asked.error) return <Failure error={asked.error} />;
  if (asked.value === undefined) return <Spinner />;
  if (asked.value === null) return <Card><Empty icon="dynamic" title="It has no query of its own">{/^\s*create\s+(or\s+replace\s+)?scd\b/i.test(ddl) ? "A slowly changing dimension is kept by its key and its sequence. CREATE OR REPLACE SCD TABLE changes them." : "Your role may not see its definition."}</Empty></Card>;
  const incremental = steps?.[0]?.text.includes("INCREMENTAL") ?? false;
  return (
    <>
      <div class="two">
        <Card title="A new definition" more={<button type="button" class="primary small" disabled={busy} onClick={() => void ask()}>{busy ? "Looking…" : "What if?"}</button>} body={false}>
          <div style={{ height: "320px" }}><Editor value={body} label="New definition" handle={(made) => { editor.now = made; }} run={() => void ask()} /></div>
        </Card>
        <Card title="What would happen" more={steps ? <Badge state={incremental ? "ok" : "late"}>{incremental ? "incremental" : steps[0]?.text ?? ""}</Badge> : null}>
          {error ? <Failure error={error} /> : null}
          {steps ? felt ? <Felt felt={felt} full={!incremental} /> : error ? null : <Spinner /> : error ? null : <Empty icon="dynamic" title="Nothing is altered">Change the query on the left, and see whether it is refreshed by changes, by which plan, and who reads the table.</Empty>}
        </Card>
      </div>
      {steps ? (
        <Card title="How a refresh would be computed">
          <PlanPicture steps={steps} />
          <details style={{ marginTop: "12px" }}><summary class="muted">Step by step</summary><div style={{ marginTop: "12px" }}><Steps steps={steps} /></div></details>
        </Card>
      ) : null}
    </>
  );
}

export function Plan({ node, ran, children }: { node: Named; ran: RanPlan | null; children?: ComponentChildren }): JSX.Element {
  const { value, error } = useAnswer(async () => toSteps(await query(`EXPLAIN DYNAMIC TABLE ${qualified(node)}`)), [node.name]);
  if (error) return <Failure error={error} />;
  return (
    <>
      <Card title="How a refresh is computed">{ran ? <RanPicture ran={ran} /> : value ? <PlanPicture steps={value} /> : <Spinner />}</Card>
      <div class="two">
        <Card title="Steps, for changes of every kind in every source">{value ? <Facts steps={value} /> : <Spinner />}</Card>
        {children}
      </div>
    </>
  );
}
