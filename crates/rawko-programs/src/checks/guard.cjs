// Loaded by rawko in the control run of a check: code that agents changed neither ends the check with success nor replaces
// its assertions. `guard.json` beside this file lists the files that are not such code. Programs that a test starts are not guarded.
"use strict";
(() => {
  const fs = require("fs");
  const path = require("path");
  const { fileURLToPath } = require("url");
  const { isMainThread } = require("worker_threads");
  const { others, root } = JSON.parse(fs.readFileSync(path.join(__dirname, "guard.json"), "utf8"));
  const real = (file) => {
    try {
      return fs.realpathSync(file);
    } catch {
      return file;
    }
  };
  const known = new Set(others);
  const isChanged = (file) => file.startsWith(root + path.sep) && !known.has(file) && !file.includes("node_modules");
  const main = process.argv[1] ? real(process.argv[1]) : "";
  const isRunner = process.execArgv.includes("--test") || !main.startsWith(root + path.sep) || main.includes("node_modules");
  if (!isRunner) {
    const words = (process.env.NODE_OPTIONS || "").split(" ").filter((word) => !word.includes(__dirname));
    if (words.length > 0) process.env.NODE_OPTIONS = words.join(" ");
    else delete process.env.NODE_OPTIONS;
  }
  const fileOf = (call) => {
    const name = call.getFileName() || "";
    return name.startsWith("file://") ? fileURLToPath(name) : name;
  };
  // The nearest file outside of Node.
  const caller = () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = 100;
    Error.prepareStackTrace = (_, stack) => stack;
    const { stack } = new Error();
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
    const files = Array.isArray(stack) ? stack.map(fileOf) : [];
    return files.find((file) => path.isAbsolute(file) && file !== __filename);
  };
  const reallyExit = process.reallyExit.bind(process);
  process.reallyExit = (code) => {
    const file = isMainThread && !code ? caller() : undefined;
    if (file !== undefined && real(file) !== main && isChanged(real(file))) {
      fs.writeSync(2, `rawko: ${file} calls process.exit, so that the check ends without its result\n`);
      reallyExit(97);
    }
    reallyExit(code);
  };
  const assert = require("assert");
  Object.freeze(assert.strict);
  Object.freeze(assert);
})();
