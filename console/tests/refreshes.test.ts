import { expect, test } from "vitest";
import { whyOf } from "../src/pages/table/refreshes";
import { parse } from "../src/router";

const refresh = { state: "SUCCEEDED", action: "INCREMENTAL", details: {}, reason: "", message: "" };

test("every refresh says why it was done as it was", () => {
  expect(whyOf({ ...refresh, details: { estimatedIncrementalMs: 12, estimatedFullMs: 53 } })).toBe("Expected 12 ms by changes, 53 ms in full.");
  expect(whyOf({ ...refresh, details: { estimatedIncrementalMs: 53, estimatedFullMs: 12 } })).toMatch(/^Its mode asks for changes/);
  expect(whyOf({ ...refresh, details: { reason: "Its definition changed." } })).toBe("Its definition changed.");
  expect(whyOf({ ...refresh, action: "NO_DATA" })).toBe("Nothing changed in its sources.");
  expect(whyOf({ ...refresh, state: "FAILED", message: "Division by zero" })).toBe("Division by zero");
  expect(whyOf({ ...refresh, state: "UPSTREAM_FAILED" })).toMatch(/could not be refreshed/);
  expect(whyOf({ ...refresh, state: "SKIPPED" })).toMatch(/still running/);
});

test("an address that means nothing is no error", () => {
  expect(parse("#/table/a%2Fb/%zz")).toMatchObject({ page: "table", parts: ["a/b", "%zz"] });
});
