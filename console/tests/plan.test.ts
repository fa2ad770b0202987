import { describe, expect, test } from "vitest";
import { comparedColumns, queryOf } from "../src/pages/table/consequences";
import { drawnPlan, ranPicture, ranPlan } from "../src/pages/table/planpicture";
import { onceEach } from "../src/pages/table/relatives";

describe("the picture of a plan", () => {
  test("stages stand behind what they read, and the rows are applied", () => {
    const drawn = drawnPlan([
      { step: "Refresh mode", text: "INCREMENTAL" },
      { step: "Stage 1: s1", text: "groups that changed: SELECT `c` FROM `DB.RAW.ORDERS__change` AS `t1`" },
      { step: "Rows", text: "SELECT `c` FROM `s1` AS `t2` JOIN `DB.RAW.ORDERS__new` AS `t3`" },
      { step: "Apply", text: "REPLACE by the keys of s1" },
    ]);
    expect(drawn.edges.map((edge) => `${edge.source}>${edge.target}`)).toEqual([
      "DB.RAW.ORDERS__change>s1", "s1>rows", "DB.RAW.ORDERS__new>rows", "rows>apply", "s1>apply",
    ]);
    expect(drawn.nodes.find((node) => node.id === "DB.RAW.ORDERS__change")).toMatchObject({ title: "ORDERS", sub: "its changes" });
  });
});

describe("the plan that ran", () => {
  const details = { readTimeMs: 10, applyTimeMs: 20, apply: "REPLACE", stage_costs: [
    { stage: "s1", what: "rows of DB.RAW.CUSTOMERS__new by key", reads: ["DB.RAW.CUSTOMERS__new", "DB.RAW.ORDERS__change"], ms: 50, rows: 1 },
    { stage: "s2", what: "what is joined", reads: ["s1", "a1__state"] },
    { stage: "rows of the table", what: "rows of the table", reads: ["s2"], ms: 20, rows: 3 },
  ] };
  test("each stage shows what it took, as a share of the whole", () => {
    const plan = ranPlan(details);
    const drawn = ranPicture(plan ?? { stages: [], readMs: 0, applyMs: 0, apply: "" });
    const by = new Map(drawn.nodes.map((node) => [node.id, node]));
    expect(by.get("s1")).toMatchObject({ title: "CUSTOMERS by key", sub: "50 ms · 1 row", share: 0.5 });
    expect(by.get("s2")?.share).toBeUndefined();
    expect(by.get("a1__state")?.title).toBe("Kept state");
    expect(by.get("apply")).toMatchObject({ sub: "replace, 20 ms", share: 0.2 });
    expect(drawn.edges.at(-1)).toEqual({ source: "rows of the table", target: "apply" });
  });
  test("a refresh in full has none", () => {
    expect(ranPlan({ reason: "changed" })).toBeNull();
  });
});

describe("what another query would change", () => {
  test("a column that is gone or another one breaks, a new one does not", () => {
    const before = [{ name: "A", type: "NUMBER" }, { name: "B", type: "VARCHAR" }, { name: "C", type: "DATE" }];
    const after = [{ name: "A", type: "VARCHAR" }, { name: "C", type: "DATE" }, { name: "D", type: "DATE" }];
    expect(comparedColumns(before, after).map((one) => [one.name, one.breaks])).toEqual([["B", true], ["A", true], ["D", false]]);
  });
});

test("the query of a table is what stands behind AS, and a dimension has none", () => {
  expect(queryOf("create or replace dynamic table T(A) target_lag = '1 day' as SELECT 1 AS a;")).toBe("SELECT 1 AS a");
  expect(queryOf("create dynamic table T lag = '1 day' as (WITH x AS (SELECT 1) SELECT * FROM x)")).toBe("(WITH x AS (SELECT 1) SELECT * FROM x)");
  expect(queryOf("create or replace scd type 2 table T key (ID) sequence by at from changes;")).toBeNull();
});

test("relatives: each once, as near as it is, with the kind that the graph knows", () => {
  const row = (name: string, distance: number): Record<string, string | number | null> => ({ source_object_database: "D", source_object_schema: "S", source_object_name: name, source_object_domain: "TABLE", distance });
  const found = onceEach([row("RAW", 3), row("RAW", 2), row("SALES", 1), row("RAW", 5)], "source", new Map([[JSON.stringify(["D", "S", "SALES"]), "DYNAMIC_TABLE"]]));
  expect(found.map((one) => [one["name"], one["kind"], one["distance"]])).toEqual([["SALES", "dynamic table", 1], ["RAW", "table", 2]]);
});
