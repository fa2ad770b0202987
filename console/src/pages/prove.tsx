/** Is this table equal to its query? The server computes the query again at the table's data timestamp, and compares. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { run } from "../api";
import { count, dayAndClock } from "../format";
import { qualified, type Named } from "../graph/actions";
import { Dialog, DialogHead } from "../ui/dialog";
import { Badge, Failure, Icon } from "../ui/parts";

type Proof = Record<string, unknown>;

export function holds(proof: Proof): boolean {
  const said = proof["equal"] ?? proof["sound"] ?? proof["ok"] ?? proof["matches"];
  return said === true;
}

const word = (key: string): string => key.replaceAll("_", " ");

function shown(key: string, value: unknown): string {
  if (typeof value === "number") return count(value);
  if (typeof value === "string" && key.includes("timestamp")) return dayAndClock(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function Prove({ node }: { node: Named }): JSX.Element {
  const [proof, setProof] = useState<Proof | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const prove = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    setProof(null);
    try {
      const found = await run("SELECT SYSTEM$CHECK_DYNAMIC_TABLE(?)", [qualified(node)]);
      setProof(JSON.parse(String(found.rows?.[0]?.[0])) as Proof);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const close = (): void => { setProof(null); setError(null); };
  return (
    <>
      <button type="button" aria-disabled={busy} onClick={() => { if (!busy) void prove(); }}>
        {busy ? <span class="spinner" /> : <Icon name="check" size={14} />}Prove
      </button>
      {proof || error ? (
        <Dialog label={`Proof of ${node.name}`} close={close}>
          <DialogHead title={`${node.name} and its query`} close={close}>
            {proof ? <Badge state={holds(proof) ? "ok" : "failed"}>{holds(proof) ? "equal" : "differ"}</Badge> : null}
          </DialogHead>
          <div class="body">
            {error ? <Failure error={error} /> : null}
            {proof ? <p class="muted">Its query was computed again, as of the table’s data timestamp, and compared with the table row by row.</p> : null}
            {proof ? <dl class="meta">{Object.entries(proof).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)).map(([key, value]) => <><dt key={key}>{word(key)}</dt><dd>{shown(key, value)}</dd></>)}</dl> : null}
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
