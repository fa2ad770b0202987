import { describe, expect, test } from "vitest";
import { comparedColumns } from "../src/pages/table/consequences";
import { drawnPlan } from "../src/pages/table/planpicture";

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

describe("what another query would change", () => {
  test("a column that is gone or another one breaks, a new one does not", () => {
    const before = [{ name: "A", type: "NUMBER" }, { name: "B", type: "VARCHAR" }, { name: "C", type: "DATE" }];
    const after = [{ name: "A", type: "VARCHAR" }, { name: "C", type: "DATE" }, { name: "D", type: "DATE" }];
    expect(comparedColumns(before, after).map((one) => [one.name, one.breaks])).toEqual([["B", true], ["A", true], ["D", false]]);
  });
});
