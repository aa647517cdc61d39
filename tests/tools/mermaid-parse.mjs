// Parses Mermaid files with mermaid's own parser. Usage: node mermaid-parse.mjs TOOLS FILE...
// TOOLS is the folder whose node_modules holds mermaid and jsdom. Prints one JSON line per file: what the parser
// understood (nodes with their parents and text, edges with their labels), or its error.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [tools, ...files] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${tools}/package.json`));
const { JSDOM } = require("jsdom");
const { window } = new JSDOM("<!doctype html><body></body>");
globalThis.window = window;
globalThis.document = window.document;

const entry = pathToFileURL(`${tools}/node_modules/mermaid/dist/mermaid.core.mjs`);
const mermaid = (await import(entry)).default;
mermaid.initialize({ startOnLoad: false, securityLevel: "strict" });

// Mermaid parks its entity codes (`#58;`, `#quot;`) in placeholders while it parses; a viewer sees the characters.
const named = { quot: '"', lt: "<", gt: ">", amp: "&" };
const decode = (text) =>
  String(text)
    .replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/ﬂ°(\w+)¶ß/g, (whole, name) => named[name] ?? whole);

for (const file of files) {
  let found;
  try {
    const diagram = await mermaid.mermaidAPI.getDiagramFromText(readFileSync(file, "utf8"));
    const data = diagram.db.getData();
    const nodes = data.nodes.map((n) => ({
      id: n.id,
      parent: n.parentId ?? null,
      shape: n.shape,
      label: decode(n.label ?? ""),
      lines: [n.description ?? []].flat().map(decode),
    }));
    const edges = data.edges.map((e) => ({ from: e.start, to: e.end, label: decode(e.label ?? "") }));
    found = { file, nodes, edges };
  } catch (error) {
    found = { file, error: String(error?.message ?? error) };
  }
  console.log(JSON.stringify(found));
}
