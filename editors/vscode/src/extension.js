// The extension: starts `rawko lsp`, and shows the drawing of a chart beside its text.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** Pause after the last change before a drawing is requested again. */
const PAUSE_MS = 300;

let client;
let panel;

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('rawko.showDrawing', () => showDrawing(context)),
    vscode.commands.registerCommand('rawko.restart', () => restart()),
  );
  await start();
}

async function deactivate() {
  await client?.stop().catch(() => {});
}

async function start() {
  const command = vscode.workspace.getConfiguration('rawko').get('path') || 'rawko';
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const run = { command, args: ['lsp'], options: folder ? { cwd: folder } : undefined };
  client = new LanguageClient('rawko', 'rawko', { run, debug: run }, {
    documentSelector: [
      { scheme: 'file', language: 'yaml' },
      { scheme: 'file', language: 'json' },
      { scheme: 'file', language: 'markdown', pattern: '**/.{rawko,claude}/agents/**' },
    ],
    synchronize: {
      fileEvents: vscode.workspace.createFileSystemWatcher('**/{.rawko,.claude}/**/*.{yaml,yml,json,md}'),
    },
  });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`cannot start \`${command} lsp\`: ${error.message ?? error}. Install rawko, or set rawko.path.`);
  }
}

async function restart() {
  await client?.stop().catch(() => {});
  await start();
}

/** Opens the drawing beside the text, and draws again while the text changes. */
async function showDrawing(context) {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) return;
  if (!panel) {
    panel = vscode.window.createWebviewPanel('rawko.drawing', 'Drawing', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: false });
    const changes = vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document.uri.toString() === panel?.document.uri.toString()) again(event.document);
    });
    panel.onDidDispose(() => {
      changes.dispose();
      panel = undefined;
    });
    context.subscriptions.push(panel);
  }
  panel.document = document;
  await draw(document);
}

let pause;

function again(document) {
  clearTimeout(pause);
  pause = setTimeout(() => draw(document), PAUSE_MS);
}

async function draw(document) {
  const dark = [vscode.ColorThemeKind.Dark, vscode.ColorThemeKind.HighContrast].includes(vscode.window.activeColorTheme.kind);
  let body;
  try {
    const answer = await client.sendRequest('rawko/drawing', {
      textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri) },
      theme: dark ? 'dark' : 'light',
    });
    body = answer?.svg ?? '<p>This file is not a chart.</p>';
  } catch (error) {
    // The last drawing stays while a person types.
    if (panel?.drawn) return;
    body = `<p>${escape(error.message)}</p>`;
  }
  if (!panel) return;
  panel.drawn = body.startsWith('<svg');
  panel.title = `Drawing: ${document.uri.path.split('/').pop()}`;
  // The drawing is an image of the server: no script runs in it.
  panel.webview.html = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><style>svg{max-width:100%;height:auto}</style>${body}`;
}

const escape = (text) => String(text).replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

module.exports = { activate, deactivate };
