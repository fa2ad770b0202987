/** Snowmelt's SQL, as the editor and what is only shown read it. */
import { SQLDialect } from "@codemirror/lang-sql";
import { KEYWORDS, TYPES } from "./words";

export const SNOWMELT = SQLDialect.define({
  keywords: KEYWORDS.join(" ").toLowerCase(),
  types: TYPES.join(" ").toLowerCase(),
  doubleDollarQuotedStrings: true,
  slashComments: true,
  operatorChars: "*+-%<>!=&|~^/?:",
  identifierQuotes: '"',
  specialVar: "$@",
});
