/** The rows of EXPLAIN DYNAMIC TABLE as boxes and arrows; and the plan of a refresh that ran, with its costs. */
import { duration, plural } from "../../format";
import type { DrawnEdge, DrawnNode } from "../../ui/diagram";

export interface Step { step: string; text: string }

const SIDES = /__(old|new|change)$/;
const SIDE_WORDS: Record<string, string> = { old: "as it was", new: "as it is", change: "its changes" };

export function drawnPlan(steps: Step[]): { nodes: DrawnNode[]; edges: DrawnEdge[] } {
  const nodes = new Map<string, DrawnNode>();
  const edges = new Map<string, DrawnEdge>();
  const read = (id: string, text: string): void => {
    for (const match of text.matchAll(/`([^`]+)`/g)) {
      const name = match[1] ?? "";
      const side = SIDES.exec(name)?.[1];
      if (side) {
        const title = name.replace(SIDES, "").split(".").at(-1) ?? name;
        if (!nodes.has(name)) nodes.set(name, { id: name, title, sub: SIDE_WORDS[side] ?? side, tone: "source" });
      } else if (!/^s\d+$/.test(name) || !nodes.has(name) || name === id) continue;
      edges.set(`${name} ${id}`, { source: name, target: id });
    }
  };
  for (const { step, text } of steps) {
    const stage = /^Stage \d+: (\w+)$/.exec(step)?.[1];
    if (stage) {
      nodes.set(stage, { id: stage, title: text.split(":")[0]?.replace(/ of \S+__\w+/, "") ?? stage, sub: step });
      read(stage, text);
    } else if (step === "Rows" || step === "Query") {
      nodes.set("rows", { id: "rows", title: step === "Rows" ? "Rows to apply" : "The whole query", tone: "accent" });
      read("rows", text);
    } else if (step === "Apply") {
      nodes.set("apply", { id: "apply", title: "Apply", sub: text.toLowerCase(), tone: "ok" });
      if (nodes.has("rows")) edges.set("rows apply", { source: "rows", target: "apply" });
      const keys = /keys of (s\d+)/.exec(text)?.[1];
      if (keys && nodes.has(keys)) edges.set(`${keys} apply`, { source: keys, target: "apply" });
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

/** One stage of a refresh that ran, as the history has it. One without `ms` ran inside of those that read it. */
export interface StageCost { stage: string; what: string; reads: string[]; ms?: number; rows?: number }
export interface RanPlan { stages: StageCost[]; readMs: number; applyMs: number; apply: string }

const LAST = "rows of the table";
const sentence = (text: string): string => (text ? text[0]?.toUpperCase() + text.slice(1) : text);
const withoutSchema = (text: string): string => text.replace(/^rows of (?=\S+__)/, "").replace(/\S+\.(\S+?)__(?:old|new|change)\b/, "$1");

/** What the last refresh did, with what each stage took of the time and how many rows it gave. */
export function ranPicture(plan: RanPlan): { nodes: DrawnNode[]; edges: DrawnEdge[] } {
  const nodes = new Map<string, DrawnNode>();
  const edges: DrawnEdge[] = [];
  const whole = Math.max(1, plan.readMs + plan.applyMs + plan.stages.reduce((sum, one) => sum + (one.ms ?? 0), 0));
  const took = (ms: number | undefined, rows?: number): Pick<DrawnNode, "sub" | "share"> =>
    (ms === undefined ? { sub: "within what reads it" } : { sub: `${duration(ms / 1000)}${rows === undefined ? "" : ` · ${plural(rows, "row")}`}`, share: ms / whole });
  const names = new Set(plan.stages.map((one) => one.stage));
  for (const one of plan.stages) {
    for (const name of one.reads) {
      if (!names.has(name) && !nodes.has(name)) {
        const side = SIDES.exec(name)?.[1];
        const kept = /^(\w+)__state$/.exec(name);
        nodes.set(name, { id: name, title: kept ? "Kept state" : (name.replace(SIDES, "").split(".").at(-1) ?? name), sub: side ? (SIDE_WORDS[side] ?? side) : kept ? "from refreshes before" : "", tone: "source" });
      }
      edges.push({ source: name, target: one.stage });
    }
    const what = sentence(withoutSchema(one.what).replace(/\b\w+__state\b/, "the kept state"));
    nodes.set(one.stage, { id: one.stage, title: one.stage === LAST ? "Rows to apply" : what, ...(one.stage === LAST ? { tone: "accent" } : {}), ...took(one.ms, one.rows) });
  }
  nodes.set("apply", { id: "apply", title: "Apply", tone: "ok", ...took(plan.applyMs), sub: `${plan.apply.toLowerCase()}, ${duration(plan.applyMs / 1000)}` });
  const last = plan.stages.at(-1);
  if (last) edges.push({ source: last.stage, target: "apply" });
  return { nodes: [...nodes.values()], edges };
}

/** What the history says of a refresh by changes; null for others. */
export function ranPlan(details: Record<string, unknown>): RanPlan | null {
  const stages = details["stage_costs"];
  if (!Array.isArray(stages)) return null;
  return { stages: stages as StageCost[], readMs: Number(details["readTimeMs"] ?? 0), applyMs: Number(details["applyTimeMs"] ?? 0), apply: String(details["apply"] ?? "") };
}
