import { describe, expect, test } from "vitest";
import { CompletionContext } from "@codemirror/autocomplete";
import { sql } from "@codemirror/lang-sql";
import { EditorState } from "@codemirror/state";
import { completer, namedQueries, resolved, statementAround, tablesIn, type Known } from "../src/sql/complete";
import { SNOWMELT } from "../src/sql/dialect";
import { errorPosition } from "../src/sql/errors";
import { chosenPieces, offsetOf } from "../src/sql/pieces";

const known: Known = {
  objects: new Map([["SHOP.PUBLIC.ORDERS", "TABLE"], ["SHOP.RAW.EVENTS", "TABLE"]]), columns: new Map(), functions: new Map(), database: "SHOP", schema: "PUBLIC",
};

describe("completion", () => {
  test("tables are known by name and alias", () => {
    const found = tablesIn("select o. from orders o join raw.events as e on true", known);
    expect(Object.fromEntries(found)).toEqual({ ORDERS: "SHOP.PUBLIC.ORDERS", O: "SHOP.PUBLIC.ORDERS", EVENTS: "SHOP.RAW.EVENTS", E: "SHOP.RAW.EVENTS" });
  });
  test("a keyword is no alias", () => {
    expect([...tablesIn("select * from orders where x", known).keys()]).toEqual(["ORDERS"]);
  });
  test("names are completed with where the session is", () => {
    expect(resolved(["RAW", "EVENTS"], known)).toBe("SHOP.RAW.EVENTS");
    expect(resolved(["EVENTS"], known)).toBeNull();
  });
  const around = (marked: string): string => {
    const at = marked.indexOf("|");
    const doc = marked.replace("|", "");
    const state = EditorState.create({ doc, extensions: [sql({ dialect: SNOWMELT })] });
    return statementAround(state, at).trim();
  };
  test.each([
    ["select 1; sel|ect 2; select 3", "select 2;"],
    ["select ';', fro|m t; select 3", "select ';', from t;"],
    ["select 1; -- a ; in a comment\nselect 2 fr|om t", "select 2 from t"],
    ["create procedure p() as $$ begin; end $$ ret|; select 2", "create procedure p() as $$ begin; end $$ ret;"],
    ["select x from t |", "select x from t"],
    ["select 1;\n|", ""],
  ])("only the statement around the cursor counts: %s", (text, found) => expect(around(text)).toBe(found));
  const offered = async (marked: string, explicit = false): Promise<string[] | null> => {
    const doc = marked.replace("|", "");
    const state = EditorState.create({ doc, extensions: [sql({ dialect: SNOWMELT })] });
    const facts: Known = { ...known, columns: new Map([["SHOP.PUBLIC.ORDERS", [{ name: "TOTAL", type: "NUMBER" }, { name: "Paid on", type: "DATE" }]]]), functions: new Map([["TO_DATE", ""], ["BITXOR", ""]]) };
    const found = await completer(() => Promise.resolve(facts))(new CompletionContext(state, marked.indexOf("|"), explicit));
    return found ? found.options.map((option) => option.label) : null;
  };
  test("columns, every function and keywords are offered, in the case that is typed", async () => {
    expect(await offered("select tota| from orders")).toEqual(expect.arrayContaining(["total", '"Paid on"', "to_date", "raw.events"]));
    expect(await offered("SELECT TO_| FROM orders")).toEqual(expect.arrayContaining(["TOTAL", "TO_DATE", "BITXOR"]));
    expect(await offered("select o.| from orders o")).toEqual(["total", '"Paid on"']);
    expect(await offered("select * from raw.|")).toEqual(["events"]);
  });
  test("nothing is offered for what is whole, nor in strings and comments", async () => {
    expect(await offered("select total from orders order by 1 desc|")).toBeNull();
    expect(await offered("select total from orders order by 1 desc|", true)).toContain("describe");
    expect(await offered("select 'to|' from orders")).toBeNull();
    expect(await offered("select 1 -- to|")).toBeNull();
  });
  test("queries that WITH names", () => {
    expect(namedQueries("with a as (select 1), b (x) as (select 2) select |")).toEqual(["a", "b"]);
  });
});

describe("what is run", () => {
  const text = "select 1;\nselect 2;\n  select 3";
  const pieces = [{ text: "select 1", line: 1, column: 0 }, { text: "select 2", line: 2, column: 0 }, { text: "select 3", line: 3, column: 2 }];
  const run = (selected: string, from: number, cursor: number, all = false): string[] =>
    chosenPieces(pieces, text, { text: selected, from }, cursor, all).map((piece) => piece.text);
  test("the statement under the cursor", () => {
    expect(run("", 0, 14)).toEqual(["select 2"]);
    expect(run("", 0, text.length)).toEqual(["select 3"]);
  });
  test("what the selection touches", () => expect(run("1;\nselect", 7, 16)).toEqual(["select 1", "select 2"]));
  test("everything", () => expect(run("", 0, 0, true)).toHaveLength(3));
  test("offsets", () => expect(offsetOf(text, 3, 2)).toBe(22));
});

test("errors say where they are", () => {
  expect(errorPosition("SQL compilation error: error line 3 at position 7\ninvalid identifier 'X'")).toEqual({ line: 3, column: 7 });
  expect(errorPosition("Object does not exist")).toBeNull();
});
