// An editor: the official client library of the Language Server Protocol, driving `rawko lsp` over stdio.
// Arguments: the folder of the library, the binary, the project, the steps as JSON. Prints one result per step.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [library, rawko, project, steps] = process.argv.slice(2);
const lsp = createRequire(join(library, 'package.json'))('vscode-languageserver-protocol/node');

const server = spawn(rawko, ['lsp', '--stdio'], { cwd: project, stdio: ['pipe', 'pipe', 'inherit'] });
const ended = new Promise((resolve) => server.on('exit', resolve));
const connection = lsp.createProtocolConnection(new lsp.StreamMessageReader(server.stdout), new lsp.StreamMessageWriter(server.stdin));
const published = [];
let notify = () => {};
connection.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => {
  published.push(params);
  notify();
});
connection.listen();

/** Waits for the diagnostics of a version of a document, or of any after `from` notifications. */
async function diagnostics(uri, version, from) {
  for (;;) {
    const found = published.slice(from).find((it) => it.uri === uri && (version === undefined || it.version === version));
    if (found) return found.diagnostics;
    await new Promise((resolve) => (notify = resolve));
  }
}

const uriOf = (file) => pathToFileURL(join(project, file)).href;
const versions = new Map();

async function play(step) {
  if (step.open) {
    const [uri, from] = [uriOf(step.open), published.length];
    versions.set(uri, 1);
    const languageId = step.open.endsWith('.json') ? 'json' : 'yaml';
    await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId, version: 1, text: step.text } });
    return diagnostics(uri, 1, from);
  }
  if (step.change) {
    const [uri, from] = [uriOf(step.change), published.length];
    const version = versions.get(uri) + 1;
    versions.set(uri, version);
    await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, { textDocument: { uri, version }, contentChanges: step.edits });
    return step.wait === false ? null : diagnostics(uri, version, from);
  }
  if (step.save) {
    const [uri, from] = [uriOf(step.save), published.length];
    await connection.sendNotification(lsp.DidSaveTextDocumentNotification.type, { textDocument: { uri } });
    return diagnostics(uri, undefined, from);
  }
  if (step.count) return published.filter((it) => it.uri === uriOf(step.count)).length;
  try {
    const params = { textDocument: { uri: uriOf(step.file) }, ...step.params };
    return { result: await connection.sendRequest(step.request, params) };
  } catch (error) {
    return { error: { code: error.code, message: error.message } };
  }
}

const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: process.pid,
  rootUri: pathToFileURL(project).href,
  capabilities: { textDocument: { rename: { prepareSupport: true }, documentSymbol: { hierarchicalDocumentSymbolSupport: true } } },
  workspaceFolders: null,
});
await connection.sendNotification(lsp.InitializedNotification.type, {});
const results = [];
for (const step of JSON.parse(steps)) results.push(await play(step));
await connection.sendRequest(lsp.ShutdownRequest.type);
await connection.sendNotification(lsp.ExitNotification.type);
console.log(JSON.stringify({ initialized, results, exit: await ended }));
process.exit(0);
