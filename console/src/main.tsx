import "./theme.css";
import { render } from "preact";
import { App } from "./app";
import { applyTheme } from "./state";

applyTheme();
const root = document.getElementById("app");
if (root) render(<App />, root);
