// Loaded by rawko in the control run of a check: code that agents changed neither ends the check with success nor replaces
// what judges it. `guard.json` beside this file lists the files that are not such code. Programs that a test starts are not guarded.
"use strict";
(() => {
  const fs = require("fs");
  const path = require("path");
  const Module = require("module");
  const { fileURLToPath } = require("url");
  const { isMainThread } = require("worker_threads");
  const { ends, nonce, others, root, tests } = JSON.parse(fs.readFileSync(path.join(__dirname, "guard.json"), "utf8"));
  const real = (file) => {
    try {
      return fs.realpathSync(file);
    } catch {
      return file;
    }
  };
  const known = new Set(others);
  const judging = new Set(tests);
  const isChanged = (file) => file.startsWith(root + path.sep) && !known.has(file) && !file.includes("node_modules");
  // Changed code that is no new test: a test may replace what it needs.
  const isWork = (file) => isChanged(file) && !judging.has(file);
  const main = process.argv[1] ? real(process.argv[1]) : "";
  const isRunner = process.execArgv.includes("--test") || !main.startsWith(root + path.sep) || main.includes("node_modules");
  if (!isRunner) {
    const words = (process.env.NODE_OPTIONS || "").split(" ").filter((word) => !word.includes(__dirname));
    if (words.length > 0) process.env.NODE_OPTIONS = words.join(" ");
    else delete process.env.NODE_OPTIONS;
    const places = (process.env.PYTHONPATH || "").split(":").filter((place) => place !== __dirname);
    if (places.join(":") !== (process.env.PYTHONPATH || "")) process.env.PYTHONPATH = places.join(":");
  }
  // Code without a file, as of `Function("…")`.
  const EVAL = path.join(root, "eval");
  const fileOf = (call) => {
    const name = call.getFileName() || (call.isEval() ? EVAL : "");
    return name.startsWith("file://") ? fileURLToPath(name) : name;
  };
  // The files of the stack outside of Node, the nearest first.
  const callers = () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = 100;
    Error.prepareStackTrace = (_, stack) => stack;
    const { stack } = new Error();
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
    const files = Array.isArray(stack) ? stack.map(fileOf) : [];
    return files.filter((file) => path.isAbsolute(file) && file !== __filename);
  };
  const reallyExit = process.reallyExit.bind(process);
  // A program proves that it came to its end: native code can leave without a call that Node sees. One that agents changed
  // is what a check judges, and proves nothing; workers with a channel are ended by their parent.
  const write = fs.writeFileSync;
  // The program, those above it and its group: a kill of one of them ends it.
  const kin = () => {
    const found = [process.pid, process.ppid];
    try {
      for (let pid = process.pid; pid > 1; ) {
        const text = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
        const [, parent, group] = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
        found.push(pid, ...(pid === process.pid ? [group] : []));
        pid = parent;
      }
    } catch {}
    return found.join(" ");
  };
  let mark, leaving = false;
  if (isMainThread && !process.send && !isWork(main)) {
    mark = path.join(ends, `${process.pid}-${process.hrtime.bigint()}`);
    try {
      write(`${mark}.begun`, `${kin()}\n${process.argv.join(" ").slice(0, 200)}`);
    } catch {
      mark = undefined;
    }
  }
  const ended = () => {
    if (mark !== undefined) write(`${mark}.ended`, nonce);
  };
  const exit = process.exit;
  process.exit = function (...codes) {
    leaving = true;
    return Reflect.apply(exit, this, codes);
  };
  // A runner kills the servers that it started: these need not come to their end.
  const spare = (pid, signal) => {
    const [file] = callers();
    if (signal === 0 || !Number.isInteger(pid) || (file !== undefined && isChanged(real(file)))) return;
    try {
      write(path.join(ends, `kill-${Math.abs(pid)}-${process.pid}`), nonce);
    } catch {}
  };
  const kill = process.kill;
  process.kill = function (pid, signal) {
    spare(Number(pid), signal);
    return Reflect.apply(kill, this, [pid, signal]);
  };
  const { ChildProcess } = require("child_process");
  const end = ChildProcess.prototype.kill;
  ChildProcess.prototype.kill = function (signal) {
    spare(this.pid, signal);
    return Reflect.apply(end, this, [signal]);
  };
  const refuse = (file, what) => {
    fs.writeSync(2, `rawko: ${file} ${what}, so that the check ends without its result\n`);
    reallyExit(97);
  };
  // The nearest caller, if it is changed code that is no program of its own.
  const worker = () => {
    const [file] = callers();
    return file !== undefined && real(file) !== main && isWork(real(file)) ? file : undefined;
  };
  process.reallyExit = (code) => {
    const file = isMainThread && !code ? callers()[0] : undefined;
    if (file !== undefined && real(file) !== main && isChanged(real(file))) {
      refuse(file, "calls process.exit");
    }
    if (isMainThread && (file === undefined || !isChanged(real(file)))) ended();
    reallyExit(code);
  };

  for (const name of ["binding", "_linkedBinding"]) {
    const bind = process[name];
    if (typeof bind !== "function") continue;
    process[name] = function (...names) {
      const file = worker();
      if (file !== undefined) refuse(file, "calls what is inside of Node");
      return Reflect.apply(bind, this, names);
    };
  }

  // Functions that decide how a check ends, and what it loads.
  const held = [
    [process, ["exit", "reallyExit", "abort", "emit"]],
    [Module, ["_load", "_resolveFilename", "_findPath"]],
    [Module.prototype, ["require", "_compile", "load"]],
    [Module._extensions, [".js", ".json"]],
  ];
  const isHeld = (object, name) => held.some(([owner, names]) => owner === object && names.includes(name));
  for (const [owner, names] of held) {
    for (const name of names) {
      let value = owner[name];
      Object.defineProperty(owner, name, {
        configurable: true,
        enumerable: Object.prototype.propertyIsEnumerable.call(owner, name),
        get: () => value,
        set(next) {
          const file = worker();
          if (file !== undefined) refuse(file, `replaces ${name}`);
          value = next;
        },
      });
    }
  }
  for (const owner of [Object, Reflect]) {
    const define = owner.defineProperty;
    owner.defineProperty = function defineProperty(object, name, about) {
      const file = isHeld(object, name) ? worker() : undefined;
      if (file !== undefined) refuse(file, `replaces ${String(name)}`);
      return define(object, name, about);
    };
  }

  // An error that nothing caught, and an exit code that became a success, are failures.
  let taker, uncaught;
  const takes = (name, file) => {
    if (["uncaughtException", "unhandledRejection"].includes(name) && file !== undefined) taker = file;
  };
  for (const name of ["on", "addListener", "once", "prependListener", "prependOnceListener"]) {
    const listen = process[name];
    process[name] = function (event, listener) {
      takes(event, worker());
      return Reflect.apply(listen, this, [event, listener]);
    };
  }
  const capture = process.setUncaughtExceptionCaptureCallback;
  process.setUncaughtExceptionCaptureCallback = function (callback) {
    const file = callback === null ? undefined : worker();
    if (file !== undefined) refuse(file, "takes uncaught errors");
    return Reflect.apply(capture, this, [callback]);
  };
  const emit = process.emit;
  const emitted = function (event, ...rest) {
    if (event === "uncaughtException" || event === "unhandledRejection") uncaught = taker;
    const result = Reflect.apply(emit, this, [event, ...rest]);
    if (event === "exit" && isMainThread) {
      const code = process.exitCode === undefined ? rest[0] : process.exitCode;
      if (rest[0] && !code) refuse("a listener", "changes the exit code");
      if (!code && uncaught !== undefined) refuse(uncaught, "takes uncaught errors");
      if (leaving || worker() === undefined) ended();
    }
    return result;
  };
  process.emit = emitted;

  // Code that reads the test that calls it computes nothing.
  const reads = (name) => {
    if (typeof name !== "string" && !(name instanceof URL)) return;
    const [first, ...above] = callers();
    if (first === undefined || !isWork(real(first))) return;
    const read = real(path.resolve(name instanceof URL ? fileURLToPath(name) : name));
    const kept = [path.join(__dirname, "guard.json"), ends + path.sep];
    if (kept.some((place) => read.startsWith(place))) refuse(first, "opens files of this run");
    if (!isWork(read) && above.some((file) => real(file) === read)) refuse(first, "reads the test that calls it");
  };
  for (const owner of [fs, fs.promises]) {
    for (const name of ["readFileSync", "readFile", "openSync", "open", "createReadStream"]) {
      const read = owner[name];
      if (typeof read !== "function") continue;
      owner[name] = Object.assign(function (file, ...rest) {
        reads(file);
        return Reflect.apply(read, this, [file, ...rest]);
      }, read);
    }
  }

  // Jest and Vitest let such an object equal everything.
  const symbol = Symbol.for;
  Symbol.for = (name) => {
    const file = name === "jest.asymmetricMatcher" ? worker() : undefined;
    if (file !== undefined) refuse(file, "equals everything");
    return symbol(name);
  };
  const assert = require("assert");
  Object.freeze(assert.strict);
  Object.freeze(assert);
  Module.syncBuiltinESMExports();
})();
