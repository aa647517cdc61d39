// Loads the bundled extension with a stand-in for the editor's own module, and activates it: the language client in the
// bundle starts the real server. Arguments: the bundle, the rawko binary. Prints the registered commands, the state of the
// client and the messages to the person.
import Module, { createRequire } from 'node:module';

const [bundle, rawko] = process.argv.slice(2);
const commands = [];
const messages = [];

/** Anything: a class, a function, a list of listeners, an object with any property. */
function anything(name) {
  const known = {};
  const target = class {
    dispose() {}
  };
  return new Proxy(target, {
    get: (_, key) => {
      if (key === Symbol.toPrimitive || key === 'toString') return () => name;
      if (key === 'prototype') return target.prototype;
      if (key === 'then' || typeof key === 'symbol') return undefined;
      return (known[key] ??= anything(`${name}.${key}`));
    },
    apply: () => anything(`${name}()`),
  });
}

const disposable = { dispose() {} };
const event = () => disposable;
const events = (names) => Object.fromEntries(names.map((name) => [name, event]));
const base = anything('vscode');
class EventEmitter {
  event = event;
  fire() {}
  dispose() {}
}
const workspace = {
  getConfiguration: () => ({ get: (key, standard) => (key === 'path' ? rawko : standard) }),
  workspaceFolders: undefined,
  textDocuments: [],
  notebookDocuments: [],
  createFileSystemWatcher: () => ({ ...events(['onDidCreate', 'onDidChange', 'onDidDelete']), ...disposable }),
  ...events(['onDidChangeTextDocument', 'onDidOpenTextDocument', 'onDidCloseTextDocument', 'onDidSaveTextDocument', 'onWillSaveTextDocument']),
  ...events(['onDidChangeConfiguration', 'onDidChangeWorkspaceFolders', 'onDidCreateFiles', 'onDidRenameFiles', 'onDidDeleteFiles']),
  ...events(['onWillCreateFiles', 'onWillRenameFiles', 'onWillDeleteFiles', 'onDidOpenNotebookDocument', 'onDidCloseNotebookDocument', 'onDidChangeNotebookDocument', 'onDidSaveNotebookDocument']),
};
const channel = new Proxy({}, { get: (_, key) => (key === 'then' ? undefined : () => undefined) });
const vscode = new Proxy(base, {
  get: (_, key) => {
    if (key === 'workspace') return workspace;
    if (key === 'version') return '1.100.0';
    if (key === 'EventEmitter') return EventEmitter;
    if (key === 'commands') return { registerCommand: (name) => commands.push(name) && disposable, executeCommand: async () => undefined };
    if (key === 'window') {
      const say = (text) => messages.push(text);
      const made = { createOutputChannel: () => channel, showErrorMessage: async (text) => void say(text), showWarningMessage: async (text) => void say(text) };
      return { ...made, ...events(['onDidChangeActiveTextEditor', 'onDidChangeVisibleTextEditors']), visibleTextEditors: [], tabGroups: { all: [], onDidChangeTabs: event } };
    }
    if (key === 'languages') return new Proxy({}, { get: (_, name) => (name === 'match' ? () => 0 : name === 'createDiagnosticCollection' ? () => channel : () => disposable) });
    if (key === 'env') return { appName: 'test', language: 'en', logLevel: 3, ...events(['onDidChangeLogLevel', 'onDidChangeTelemetryEnabled']) };
    return Reflect.get(base, key);
  },
});

const load = Module._load;
Module._load = (request, ...rest) => (request === 'vscode' ? vscode : load(request, ...rest));
const extension = createRequire(import.meta.url)(bundle);
await extension.activate({ subscriptions: [] });
console.log(JSON.stringify({ commands, messages }));
await Promise.race([extension.deactivate(), new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
process.exit(0);
