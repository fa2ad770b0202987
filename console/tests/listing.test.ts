import { expect, test } from "vitest";
import { deeds, fullName } from "../src/graph/actions";
import { timeLabels } from "../src/ui/chart";
import { sortedBy } from "../src/ui/listing";

test("lists are sorted by numbers and letters, and what is nothing comes last", () => {
  const rows = [{ n: 10, t: "b10" }, { n: null, t: "" }, { n: 9, t: "b9" }];
  const by = (key: "n" | "t", down: boolean): unknown[] => sortedBy(rows, (row) => row[key], down).map((row) => row[key]);
  expect(by("n", false)).toEqual([9, 10, null]);
  expect(by("n", true)).toEqual([10, 9, null]);
  expect(by("t", false)).toEqual(["b9", "b10", ""]);
});

test("what rests can be resumed, what works suspended", () => {
  const labels = (kind: string, state?: string): string[] => deeds({ kind, database: "D", schema: "S", name: "N", ...(state === undefined ? {} : { state }) }).map((deed) => deed.label);
  expect(labels("TASK", "suspended")).toEqual(["Run now", "Resume"]);
  expect(labels("DYNAMIC_TABLE", "late")).toEqual(["Refresh", "Suspend"]);
  expect(labels("CONNECTOR", "FAILED")).toEqual(["Resume", "Pause"]);
  expect(labels("CONNECTOR", "PAUSED")).toEqual(["Resume"]);
  expect(labels("ALERT")).toEqual(["Run now", "Resume", "Suspend"]);
  expect(labels("STREAM")).toEqual([]);
});

test("names are quoted where SQL needs it", () => {
  expect(fullName({ database: "SHOP", schema: "a b", name: 'x"y' })).toBe('SHOP."a b"."x""y"');
});

test("ticks of time say what tells them apart", () => {
  const start = Date.UTC(2026, 0, 2, 3, 4) / 1000;
  expect(timeLabels([start, start + 600])[1]).toMatch(/^\d\d:\d\d$/);
  expect(timeLabels([start, start + 10])[0]).toMatch(/^\d\d:\d\d:\d\d$/);
  expect(timeLabels([start, start + 43_200, start + 86_400])[0]).toMatch(/Jan/);
  expect(timeLabels([start, start + 86_400])[0]).not.toMatch(/:/);
});
