import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(js.configs.recommended, ...tseslint.configs.strict, {
  rules: {
    eqeqeq: "error",
    "no-console": "error",
    "prefer-const": "error",
    // undefined is checked by the compiler; this one objects to `void promise()`.
    "@typescript-eslint/no-non-null-assertion": "error",
    "no-restricted-properties": ["error", { property: "innerHTML", message: "Text goes in as text." }],
    "no-restricted-syntax": [
      "error",
      { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Text goes in as text." },
    ],
  },
});
