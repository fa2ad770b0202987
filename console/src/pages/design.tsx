/** A pipeline from a description: what was understood, questions, decisions with reasons, a picture, and the project. */
import "./design.css";
import "./table.css";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { postJson, saveFrom } from "../api";
import { Diagram, type DrawnEdge } from "../ui/diagram";
import { Action, Badge, Card, Empty, Failure, Head, Icon } from "../ui/parts";

interface Asked { topic: string; text: string; choices: string[]; proposal: string | null; why: string }
interface Step {
  state: unknown;
  understood: { field: string; value: string; words: string }[];
  assumed: { field: string; value: string; why: string }[];
  exchanges: { topic: string; question: string; answer: string }[];
  question?: Asked;
  summary?: string[];
  name?: string;
  decisions: { topic: string; outcome: string; reason: string; rule: string; facts: string[] }[];
  findings?: { id: string; level: string; message: string; object: string | null }[];
  drawn?: { nodes: { id: string; title: string; kind: string }[]; edges: DrawnEdge[] };
}

const KEPT = "snowmelt.design";
const CHANGE = "change";
const EXAMPLE = "Move orders and customers from our shop's PostgreSQL to a revenue table, fresh within five minutes; emails must not be readable";
const TONES: Record<string, string> = { EXTERNAL: "source", "DYNAMIC TABLE": "accent", TABLE: "" };

/** The conversation of this tab, so that a reload asks nothing twice. */
function kept(): Step | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as Step | null;
  } catch {
    return null;
  }
}

function Describe({ begin, busy }: { begin: (text: string) => void; busy: boolean }): JSX.Element {
  const [text, setText] = useState("");
  return (
    <Card title="What should the pipeline do?">
      <form style={{ display: "grid", gap: "12px" }} onSubmit={(event) => { event.preventDefault(); begin(text); }}>
        <textarea rows={4} required aria-label="Description" placeholder={EXAMPLE} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <div style={{ display: "flex", gap: "8px" }}>
          <button type="submit" class="primary" disabled={busy || !text.trim()}>Begin</button>
          <button type="button" class="plain" disabled={busy} onClick={() => setText(EXAMPLE)}>Use an example</button>
        </div>
        <p class="faint">A table of rules decides, and no language model. Nothing is made until you take the project.</p>
      </form>
    </Card>
  );
}

function Question({ asked, answer, busy, error }: { asked: Asked; answer: (text: string) => void; busy: boolean; error: unknown }): JSX.Element {
  const [text, setText] = useState("");
  return (
    <>
      <div class="said" aria-live="polite"><b style={{ fontWeight: 560 }}>{asked.text}</b>{asked.why ? <span class="muted">{asked.why}</span> : null}</div>
      <div class="choices">
        {asked.proposal !== null ? <button type="button" class="primary small" disabled={busy} onClick={() => answer(asked.proposal ?? "")}>Take the proposal: {asked.proposal}</button> : null}
        {asked.choices.filter((one) => one !== asked.proposal).map((one) => <button type="button" class="small" key={one} disabled={busy} onClick={() => answer(one)}>{one}</button>)}
      </div>
      {asked.topic === "build" ? null : (
        <form onSubmit={(event) => { event.preventDefault(); answer(text); }}>
          <input aria-label="Answer" autoFocus={asked.topic !== CHANGE} value={text} placeholder="or in your words" onInput={(event) => setText(event.currentTarget.value)} />
          <button type="submit" disabled={busy || !text.trim()}>Answer</button>
        </form>
      )}
      {error ? <Failure error={error} /> : null}
    </>
  );
}

function Known({ step }: { step: Step }): JSX.Element {
  return (
    <>
      <Card title="Understood" body={false}>
        <ul class="decisions">
          {step.understood.map((one, index) => <li key={index}><span><b style={{ fontWeight: 560 }}>{one.field}</b> {one.value}</span><span class="faint">from “{one.words}”</span></li>)}
          {step.assumed.map((one, index) => <li key={`a${index}`}><span><b style={{ fontWeight: 560 }}>{one.field}</b> {one.value} <Badge state="assumed" /></span><span class="faint">{one.why}</span></li>)}
          {step.understood.length + step.assumed.length ? null : <li class="muted">Nothing yet.</li>}
        </ul>
      </Card>
      <Card title="Decisions" body={false}>
        {step.decisions.length ? (
          <ul class="decisions">{step.decisions.map((one) => (
            <li key={one.topic}>
              <span><b style={{ fontWeight: 560 }}>{one.topic}</b> {one.outcome}</span>
              <span class="muted">{one.reason}</span>
              {one.facts.length ? <details><summary>{one.rule}</summary><span class="faint">{one.facts.join(" · ")}</span></details> : null}
            </li>
          ))}</ul>
        ) : <Empty title="No decisions yet">They show here with their reasons, as soon as sources and freshness are known.</Empty>}
      </Card>
    </>
  );
}

function Finished({ step }: { step: Step }): JSX.Element | null {
  if (!step.summary) return null;
  return (
    <>
      {step.drawn ? (
        <Card title="Topology" body={false}>
          <Diagram label="Topology of the design" edges={step.drawn.edges}
            nodes={step.drawn.nodes.map((node) => ({ id: node.id, title: node.title, sub: node.kind.toLowerCase(), tone: TONES[node.kind] ?? "" }))} />
        </Card>
      ) : null}
      <Card title={step.name ? "Summary" : "There is no design yet"} more={step.name ? (
        <Action label="Build and download" icon="download" kind="primary small" done="The project was built."
          act={() => saveFrom("/design/archive", { state: step.state }, `${(step.name ?? "pipeline").toLowerCase()}.zip`)} />
      ) : null}>
        <pre class="summary" tabIndex={0}>{step.summary.join("\n")}</pre>
        {step.findings?.length ? <ul style={{ marginTop: "12px" }}>{step.findings.map((one, index) => <li key={index}><Badge state={one.level === "error" ? "failed" : "warning"}>{one.id}</Badge> {one.message}</li>)}</ul> : null}
      </Card>
    </>
  );
}

export function DesignPage(): JSX.Element {
  const [step, setStep] = useState<Step | null>(kept);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  // What was asked for comes first once it is there.
  useEffect(() => { if (step?.name) document.getElementById("main")?.scrollTo(0, 0); }, [step?.name]);
  const take = async (body: Record<string, unknown>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const found = await postJson<Step>("/design", body);
      sessionStorage.setItem(KEPT, JSON.stringify(found));
      setStep(found);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const anew = (): void => { sessionStorage.removeItem(KEPT); setStep(null); setError(null); };
  const answer = (text: string): void => { void take({ state: step?.state, answer: text }); };
  if (!step) {
    return <><Head title="Design" /><div class="content">{error ? <Failure error={error} /> : null}<Describe busy={busy} begin={(text) => { void take({ description: text }); }} /></div></>;
  }
  const asked = step.question && step.question.topic !== "build" ? step.question : undefined;
  return (
    <>
      <Head title="Design" badge={step.name ? <Badge state="ok">{step.name}</Badge> : null}>
        <button type="button" disabled={busy || !step.exchanges.length} onClick={() => answer("back")}><Icon name="history" size={14} />Take back</button>
        <button type="button" disabled={busy} onClick={anew}>Start anew</button>
      </Head>
      <div class="content">
        <Finished step={step} />
        <div class="two">
          <Card title="Conversation">
            <div class="talk">
              {step.exchanges.map((one, index) => [
                <div class="said" key={`q${index}`}>{one.question}</div>, <div class="said mine" key={`a${index}`}>{one.answer}</div>,
              ])}
              {asked ? <Question asked={asked} answer={answer} busy={busy} error={error} key={asked.topic + asked.text} /> : <>
                <p class="muted">All is said. “change freshness” asks for one thing again.</p>
                <Question asked={{ topic: CHANGE, text: "Anything to change?", choices: [], proposal: null, why: "" }} answer={answer} busy={busy} error={error} />
              </>}
            </div>
          </Card>
          <div style={{ display: "grid", gap: "16px" }}><Known step={step} /></div>
        </div>
      </div>
    </>
  );
}
