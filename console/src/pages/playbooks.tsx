/** Runbooks, carried out step by step: inputs, probes, steps, a question at each checkpoint, and the way back. */
import "./operate.css";
import "./table.css";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { getJson, postJson } from "../api";
import { ago } from "../format";
import { useLive } from "../live";
import { go, href, place } from "../router";
import { confirmed } from "../ui/dialog";
import { Action, Badge, Card, Empty, Failure, Head, Spinner, useAnswer } from "../ui/parts";

interface Listed { run: string; playbook: string; status: string; began_at: string; last_at: string; problem: string; working: boolean }
interface Step { id: string; title: string; sql: string; checkpoint: string | null; state?: string; created?: string[] }
interface Input { name: string; type: string; description: string; default: string | number | boolean | null; choices: (string | number)[]; optional: boolean }
interface Book { name: string; title: string; objective: string; prerequisites: string[]; text: string; inputs: Input[]; steps: Step[] }
interface Asked { step: string; title: string; severity: string; present: string; options: string[] }
interface Line { kind: string; text: string; columns?: string[]; rows?: (string | number | boolean | null)[][] }
interface Run extends Listed { title: string; objective: string; inputs: Record<string, string>; question: Asked | null; lines: Line[]; steps: Step[] }

const TONES: Record<string, string> = { finished: "ok", waiting: "late", failed: "failed", running: "running" };
const Standing = ({ status }: { status: string }): JSX.Element => <Badge state={TONES[status] ?? "idle"}>{status}</Badge>;

export function Playbooks(): JSX.Element {
  const [what, name] = place.value.parts;
  if (what === "run" && name) return <OneRun run={name} key={name} />;
  if (what) return <Begin name={what} key={what} />;
  return <All />;
}

function All(): JSX.Element {
  const { value, error, again } = useAnswer(() => getJson<{ shipped: { name: string; objective: string }[]; runs: Listed[] }>("/playbooks"), []);
  useLive(["runs"], again, 1500);
  return (
    <>
      <Head title="Playbooks" />
      <div class="content">
        {error ? <Failure error={error} /> : null}
        {!value ? <Spinner /> : <>
          <Card title="Your runs" body={false}>
            {value.runs.length ? (
              <div class="scroll-x"><table class="list"><thead><tr><th>Run</th><th>Playbook</th><th>State</th><th>Began</th><th>Last</th></tr></thead>
                <tbody>{value.runs.map((one) => (
                  <tr key={one.run}><td><a class="link" href={href("playbooks", "run", one.run)}>{one.run}</a></td><td>{one.playbook}</td><td><Standing status={one.status} /></td><td class="muted">{ago(one.began_at)}</td><td class="muted">{ago(one.last_at)}</td></tr>
                ))}</tbody></table></div>
            ) : <Empty icon="play" title="Nothing was run yet">Choose a playbook below. What it does can be undone.</Empty>}
          </Card>
          <Card title="Playbooks" body={false}>
            <div class="scroll-x"><table class="list"><thead><tr><th>Name</th><th>Objective</th></tr></thead>
              <tbody>{value.shipped.map((one) => <tr key={one.name}><td><a class="link" href={href("playbooks", one.name)}>{one.name}</a></td><td>{one.objective}</td></tr>)}</tbody></table></div>
          </Card>
        </>}
      </div>
    </>
  );
}

function Steps({ steps }: { steps: Step[] }): JSX.Element {
  return (
    <ol class="steps">{steps.map((step, index) => (
      <li key={step.id}>
        <span class="faint">{index + 1}</span>
        <div style={{ minWidth: 0, display: "grid", gap: "4px" }}>
          <span style={{ fontWeight: 560 }}>{step.title}</span>
          {step.created?.length ? <span class="muted">made {step.created.join(", ")}</span> : null}
          {step.sql ? <details><summary class="muted">SQL</summary><pre class="code wrap" tabIndex={0}>{step.sql}</pre></details> : null}
        </div>
        <span>{step.state ? <Badge state={step.state === "done" ? "ok" : step.state === "begun" || step.state === "undoing" ? "running" : "idle"}>{step.state}</Badge> : step.checkpoint ? <span class="badge bare">{step.checkpoint} checkpoint</span> : null}</span>
      </li>
    ))}</ol>
  );
}

function Begin({ name }: { name: string }): JSX.Element {
  const { value, error } = useAnswer(() => getJson<Book>(`/playbooks/${encodeURIComponent(name)}`), [name]);
  const [given, setGiven] = useState<Record<string, string>>({});
  const [refused, setRefused] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  if (!value) return error ? <><Head title="Playbooks" crumbs={<a href={href("playbooks")}>All playbooks</a>} /><div class="content"><Failure error={error} /></div></> : <Spinner />;
  const begin = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setRefused(null);
    try {
      const inputs = Object.fromEntries(Object.entries(given).filter(([, text]) => text !== ""));
      go(href("playbooks", "run", (await postJson<Listed>("/runs", { playbook: name, inputs })).run));
    } catch (problem) {
      setRefused(problem);
      setBusy(false);
    }
  };
  return (
    <>
      <Head title={value.title} crumbs={<a href={href("playbooks")}>Playbooks</a>} />
      <div class="content"><div class="two">
        <div style={{ display: "grid", gap: "16px" }}>
          <Card title="Inputs">
            <form style={{ display: "grid", gap: "16px" }} onSubmit={(event) => void begin(event)}>
              <p class="muted">{value.objective}</p>
              <div class="form-grid">
                {value.inputs.map((input) => (
                  <label class="field" key={input.name}>{input.name}
                    <span class="faint" style={{ fontWeight: 400 }}>{input.description || input.type}{input.optional ? " (may be left out)" : ""}</span>
                    {input.choices.length ? (
                      <select value={given[input.name] ?? String(input.default ?? "")} onChange={(event) => setGiven({ ...given, [input.name]: event.currentTarget.value })}>
                        {input.choices.map((choice) => <option key={choice}>{String(choice)}</option>)}
                      </select>
                    ) : <input value={given[input.name] ?? ""} placeholder={input.default === null ? "" : String(input.default)} required={!input.optional && input.default === null}
                        onInput={(event) => setGiven({ ...given, [input.name]: event.currentTarget.value })} />}
                  </label>
                ))}
              </div>
              {refused ? <Failure error={refused} /> : null}
              <div><button type="submit" class="primary" disabled={busy}>Run</button></div>
            </form>
          </Card>
          {value.prerequisites.length ? <Card title="Prerequisites"><ul>{value.prerequisites.map((one) => <li key={one}>{one}</li>)}</ul></Card> : null}
        </div>
        <Card title="Steps" body={false}><Steps steps={value.steps} /></Card>
      </div></div>
    </>
  );
}

function Checkpoint({ asked, decide }: { asked: Asked; decide: (decision: string, inputs: Record<string, string>) => Promise<unknown> }): JSX.Element {
  const [changed, setChanged] = useState("");
  const inputs = (): Record<string, string> => Object.fromEntries(changed.split("\n").map((line) => line.split("=")).filter((parts) => parts.length > 1).map(([name = "", ...rest]) => [name.trim(), rest.join("=").trim()]));
  return (
    <Card title={`Checkpoint: ${asked.title}`} more={<Badge state={asked.severity === "critical" ? "failed" : "late"}>{asked.severity}</Badge>}>
      <div style={{ display: "grid", gap: "12px" }} role="group" aria-label="Checkpoint">
        <p style={{ whiteSpace: "pre-wrap" }}>{asked.present}</p>
        {asked.options.includes("modify") ? <label class="field">Other inputs, to modify<textarea rows={2} placeholder="name = value" value={changed} onInput={(event) => setChanged(event.currentTarget.value)} /></label> : null}
        <div style={{ display: "flex", gap: "8px", flexWrap: "wrap" }}>
          {asked.options.map((option) => <Action key={option} label={option.replace("-", " ")} kind={option === "approve" ? "primary" : option === "abort" ? "danger" : ""} done={`Answered: ${option}`} act={() => decide(option, option === "modify" ? inputs() : {})} />)}
        </div>
      </div>
    </Card>
  );
}

function Said({ line }: { line: Line }): JSX.Element {
  if (line.kind === "sql") return <pre>{line.text}</pre>;
  return (
    <div class={line.kind}>{line.text}
      {line.rows?.length ? (
        <div class="scroll-x"><table class="list"><thead><tr>{line.columns?.map((name) => <th key={name}>{name}</th>)}</tr></thead>
          <tbody>{line.rows.map((row, index) => <tr key={index}>{row.map((value, at) => <td key={at} class="clip ellipsis">{value === null ? <span class="faint">NULL</span> : String(value)}</td>)}</tr>)}</tbody></table></div>
      ) : null}
    </div>
  );
}

function OneRun({ run }: { run: string }): JSX.Element {
  const { value, error, again } = useAnswer(() => getJson<Run>(`/runs/${encodeURIComponent(run)}`), [run]);
  useLive(["runs"], again, 500);
  if (!value) return error ? <><Head title="Playbooks" crumbs={<a href={href("playbooks")}>All playbooks</a>} /><div class="content"><Failure error={error} /></div></> : <Spinner />;
  const send = (body: Record<string, unknown>): Promise<unknown> => postJson(`/runs/${encodeURIComponent(run)}`, body).then(again);
  const ended = value.status === "finished" || value.status === "aborted";
  return (
    <>
      <Head title={value.title} badge={<Standing status={value.status} />} crumbs={<><a href={href("playbooks")}>Playbooks</a><span>/</span><span>{run}</span></>}>
        {!ended && !value.working && !value.question ? <Action label={value.status === "aborting" ? "Go on undoing" : "Resume"} icon="play" act={() => send({ action: "resume" })} /> : null}
        {!ended && !value.working ? <Action label="Undo the run" icon="history" kind="danger" ask={() => confirmed("Undo the run?", "Everything that it made is taken back, the newest first.", "Undo it")} act={() => send({ action: "abort" })} /> : null}
      </Head>
      <div class="content">
        {value.problem && !value.question ? <div class="error" role="alert">{value.problem}</div> : null}
        {value.question ? <Checkpoint asked={value.question} key={value.question.step} decide={(decision, inputs) => send({ decision, inputs })} /> : null}
        <div class="two">
          <Card title="What happened" body={false}>
            {value.lines.length ? <div class="run-lines" tabIndex={0} role="log" aria-label="What happened">{value.lines.map((line, index) => <Said line={line} key={index} />)}</div>
              : value.working ? <Spinner label="Running" /> : <Empty title="Nothing since the server started">Its journal knows what was done. Resume goes on from there.</Empty>}
          </Card>
          <div style={{ display: "grid", gap: "16px" }}>
            <Card title="Steps" body={false}><Steps steps={value.steps} /></Card>
            <Card title="Inputs"><dl class="meta">{Object.entries(value.inputs).map(([name, text]) => <><dt key={name}>{name}</dt><dd>{text}</dd></>)}</dl></Card>
          </div>
        </div>
      </div>
    </>
  );
}
