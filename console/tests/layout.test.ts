import { describe, expect, test } from "vitest";
import { arrangeInGroups, LOOSE } from "../src/graph/groups";
import { arrange, layers, NODE } from "../src/graph/layout";
import { neighbour } from "../src/graph/moves";
import { keepSame, related, type GraphNode } from "../src/graph/model";

const edge = (source: string, target: string): { source: string; target: string; kind: string } => ({ source, target, kind: "VIEW" });
const chain = [edge("a", "b"), edge("b", "c"), edge("a", "c"), edge("x", "c")];

describe("layers", () => {
  test("what is made from something stands right of it, and a source beside what it feeds", () => {
    expect(Object.fromEntries(layers(["a", "b", "c", "x"], chain))).toEqual({ a: 0, b: 1, c: 2, x: 1 });
  });
  test("a circle ends", () => {
    expect(layers(["a", "b"], [edge("a", "b"), edge("b", "a")]).size).toBe(2);
  });
});

describe("the layout", () => {
  test("no two nodes overlap, and each edge has its way", () => {
    const ids = Array.from({ length: 60 }, (_, index) => `n${index}`);
    const edges = ids.slice(10).flatMap((id, index) => [edge(`n${index % 10}`, id), edge(`n${(index * 7) % (index + 10)}`, id)]);
    const found = arrange(ids.map((id) => ({ id, group: "s" })), edges);
    const placed = [...found.nodes.values()];
    for (const [index, one] of placed.entries()) {
      for (const other of placed.slice(index + 1)) {
        expect(Math.abs(one.x - other.x) >= NODE.width || Math.abs(one.y - other.y) >= NODE.height).toBe(true);
      }
    }
    expect(edges.every((one) => found.paths.has(`${one.source}\u0000${one.target}`))).toBe(true);
  });
  test("a thousand nodes take well below a second", () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    const edges = ids.slice(100).flatMap((id, index) => [edge(`n${index}`, id), edge(`n${Math.floor(index / 2)}`, id)]);
    const before = performance.now();
    arrange(ids.map((id) => ({ id, group: "s" })), edges);
    expect(performance.now() - before).toBeLessThan(5000);
  });
});

describe("groups", () => {
  const ids = Array.from({ length: 80 }, (_, index) => `n${index}`);
  const edges = ids.slice(10).flatMap((id, index) => [edge(`n${index % 10}`, id), edge(`n${(index * 7) % (index + 10)}`, id)]);
  const boxes = ids.map((id, index) => ({ id, group: index < 10 ? "raw" : index % 7 === 0 ? `${LOOSE}in` : `mart${index % 3}` }));
  const found = arrangeInGroups(boxes, edges);

  test("each is one frame with its nodes in it and no others, and no two overlap", () => {
    expect(found.frames.map((frame) => frame.name).sort()).toEqual(["mart0", "mart1", "mart2", "raw"]);
    for (const box of boxes) {
      const at = found.nodes.get(box.id) ?? { x: NaN, y: NaN };
      for (const frame of found.frames) {
        const apart = at.x + NODE.width <= frame.x || frame.x + frame.width <= at.x || at.y + NODE.height <= frame.y || frame.y + frame.height <= at.y;
        const inside = at.x >= frame.x && at.x + NODE.width <= frame.x + frame.width && at.y > frame.y && at.y + NODE.height <= frame.y + frame.height;
        expect(frame.name === box.group ? inside : apart).toBe(true);
      }
    }
    for (const [index, one] of found.frames.entries()) {
      for (const other of found.frames.slice(index + 1)) {
        expect(one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y).toBe(true);
      }
    }
  });
  test("groups that follow on each other stand side by side", () => {
    const flow = [edge("a", "s"), edge("a", "b"), edge("s", "c"), edge("b", "c"), edge("c", "d"), edge("a", "d")];
    const placed = arrangeInGroups([["a", "raw"], ["s", "raw"], ["b", "staging"], ["c", "staging"], ["d", "marts"], ["alone", "marts"]].map(([id = "", group = ""]) => ({ id, group })), flow);
    const [raw, staging, marts] = ["raw", "staging", "marts"].map((name) => placed.frames.find((frame) => frame.name === name) ?? { x: NaN, width: NaN });
    expect((raw?.x ?? NaN) + (raw?.width ?? NaN)).toBeLessThan(staging?.x ?? NaN);
    expect((staging?.x ?? NaN) + (staging?.width ?? NaN)).toBeLessThan(marts?.x ?? NaN);
    expect(placed.nodes.get("alone")?.layer).toBe(placed.nodes.get("d")?.layer);
  });
  test("nodes keep their layers, do not overlap, and each edge has its way", () => {
    const placed = [...found.nodes.values()];
    const flat = arrange(boxes, edges);
    expect(ids.every((id) => found.nodes.get(id)?.layer === flat.nodes.get(id)?.layer)).toBe(true);
    for (const [index, one] of placed.entries()) {
      for (const other of placed.slice(index + 1)) expect(Math.abs(one.x - other.x) >= NODE.width || Math.abs(one.y - other.y) >= NODE.height).toBe(true);
    }
    expect(found.paths.size).toBe(new Set(edges.map((one) => `${one.source}>${one.target}`)).size);
  });
});

test("a node that stands as it stood is the same one, and so is drawn only once", () => {
  const node = (id: string, rows: number): GraphNode => ({ id, kind: "TABLE", name: id, database: "D", schema: "S", full_name: id, state: "ok", rows });
  const before = { now: "1", nodes: [node("a", 1), node("b", 1)], edges: [] };
  const after = keepSame(before, { now: "2", nodes: [node("a", 1), node("b", 2), node("c", 1)], edges: [] });
  expect(after.nodes.map((one, index) => one === before.nodes[index])).toEqual([true, false, false]);
  expect(after.nodes[1]?.rows).toBe(2);
});

test("what is related", () => {
  const { up, down } = related(chain, "b");
  expect([[...up], [...down]]).toEqual([["a"], ["c"]]);
});

describe("arrow keys", () => {
  const at = (layer: number, y: number): { x: number; y: number; layer: number } => ({ x: layer * 100, y, layer });
  const nodes = new Map([["a", at(0, 0)], ["b", at(0, 80)], ["c", at(1, 80)], ["d", at(2, 0)], ["e", at(1, 0)]]);
  const edges = [edge("a", "c"), edge("c", "d")];
  test("go along edges, else to what is nearest there", () => {
    expect(neighbour("a", "ArrowRight", nodes, edges)).toBe("c");
    expect(neighbour("c", "ArrowRight", nodes, edges)).toBe("d");
    expect(neighbour("b", "ArrowRight", nodes, edges)).toBe("c");
    expect(neighbour("e", "ArrowLeft", nodes, edges)).toBe("a");
    expect(neighbour("a", "ArrowLeft", nodes, edges)).toBeNull();
  });
  test("go up and down within a column, and no further", () => {
    expect(neighbour("a", "ArrowDown", nodes, edges)).toBe("b");
    expect(neighbour("b", "ArrowUp", nodes, edges)).toBe("a");
    expect(neighbour("d", "ArrowDown", nodes, edges)).toBeNull();
  });
  test("reach every node from every other", () => {
    const ways = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"] as const;
    const seen = new Set(["d"]);
    for (const id of seen) for (const way of ways) { const next = neighbour(id, way, nodes, edges); if (next) seen.add(next); }
    expect(seen.size).toBe(nodes.size);
  });
});

describe("ways", () => {
  /** Points of a path, close to each other. */
  const points = (path: string): [number, number][] => {
    const found: [number, number][] = [];
    let [x, y] = [0, 0];
    for (const match of path.matchAll(/([MHC])([^MHC]+)/g)) {
      const to = (match[2] ?? "").trim().split(/[ ,]+/).map(Number);
      if (match[1] === "M") [x = 0, y = 0] = to;
      else if (match[1] === "H") { for (let at = x; at <= (to[0] ?? 0); at += 4) found.push([at, y]); x = to[0] ?? 0; }
      else {
        const [ax = 0, ay = 0, bx = 0, by = 0, cx = 0, cy = 0] = to;
        for (let t = 0; t <= 1; t += 0.02) {
          const mix = (p: number, q: number, r: number, s: number): number => (1 - t) ** 3 * p + 3 * (1 - t) ** 2 * t * q + 3 * (1 - t) * t * t * r + t ** 3 * s;
          found.push([mix(x, ax, bx, cx), mix(y, ay, by, cy)]);
        }
        [x, y] = [cx, cy];
      }
    }
    return found;
  };
  const demo = [["shop", "raw"], ["raw", "new"], ["raw", "lines"], ["raw", "orders"], ["new", "parse"], ["parse", "changes"], ["changes", "customers"], ["customers", "sales"], ["lines", "sales"], ["orders", "sales"], ["sales", "revenue"]].map(([from = "", to = ""]) => edge(from, to));
  const many = Array.from({ length: 60 }, (_, index) => `n${index}`);
  const tangled = many.slice(8).flatMap((id, index) => [edge(`n${index % 8}`, id), edge(`n${(index * 7) % (index + 8)}`, id)]);
  test.each([["the demo's", demo, (): string => "s"], ["one of many schemas", tangled, (id: string): string => `s${Number(id.slice(1)) % 5}`]])("no way of %s passes behind a node", (_, edges, group) => {
    const ids = [...new Set(edges.flatMap((one) => [one.source, one.target]))];
    const found = arrangeInGroups(ids.map((id) => ({ id, group: group(id) })), edges);
    for (const one of edges) {
      if ((found.nodes.get(one.source)?.layer ?? 0) >= (found.nodes.get(one.target)?.layer ?? 0)) continue;
      const others = ids.filter((id) => id !== one.source && id !== one.target).map((id) => found.nodes.get(id)).filter((at) => at !== undefined);
      for (const [x, y] of points(found.paths.get(`${one.source}\u0000${one.target}`) ?? "")) {
        expect(others.some((at) => x > at.x + 1 && x < at.x + NODE.width - 1 && y > at.y && y < at.y + NODE.height)).toBe(false);
      }
    }
  });
});
