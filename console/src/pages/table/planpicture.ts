/** The rows of EXPLAIN DYNAMIC TABLE as boxes and arrows. */
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
