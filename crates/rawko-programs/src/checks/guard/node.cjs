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
  // Changed code may replace what these stand for.
  const { apply } = Reflect;
  const { startsWith, includes } = String.prototype;
  const { getOwnPropertyDescriptor: describe, create } = Object;
  const { realpathSync, writeSync } = fs;
  const { isArray } = Array;
  const TheError = Error;
  const names = (list) => {
    const found = create(null);
    for (const name of list) found[name] = true;
    return found;
  };
  const real = (file) => {
    try {
      return realpathSync(file);
    } catch {
      return file;
    }
  };
  const known = names(others);
  const judging = names(tests);
  const isChanged = (file) =>
    apply(startsWith, file, [root + "/"]) && known[file] !== true && !apply(includes, file, ["node_modules"]);
  // Changed code that is no new test: a test may replace what it needs.
  const isWork = (file) => isChanged(file) && judging[file] !== true;
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
  const stackOf = () => {
    const prepare = (_, stack) => stack;
    const { prepareStackTrace, stackTraceLimit } = TheError;
    try {
      TheError.stackTraceLimit = 100;
      TheError.prepareStackTrace = prepare;
    } catch {}
    const isOpen =
      globalThis.Error === TheError &&
      describe(TheError, "stackTraceLimit")?.value === 100 &&
      describe(TheError, "prepareStackTrace")?.value === prepare;
    const { stack } = new TheError();
    try {
      TheError.prepareStackTrace = prepareStackTrace;
      TheError.stackTraceLimit = stackTraceLimit;
    } catch {}
    return isOpen && isArray(stack) ? stack : undefined;
  };
  const [{ getFileName, isEval }] = stackOf();
  const fileOf = (call) => {
    const name = apply(getFileName, call, []) || (apply(isEval, call, []) ? EVAL : "");
    return apply(startsWith, name, ["file://"]) ? fileURLToPath(name) : name;
  };
  // The files of the stack outside of Node, the nearest first.
  const callers = () => {
    const stack = stackOf();
    // Without it no caller is known.
    if (stack === undefined) refuse("changed code", "hides the stack");
    const files = create(null);
    files.length = 0;
    for (let at = 0; at < stack.length; at++) {
      const file = fileOf(stack[at]);
      if (apply(startsWith, file, ["/"]) && file !== __filename) files[files.length++] = file;
    }
    return files;
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
  // A program that ends by itself while its own code awaits a promise of changed code has judged nothing.
  const PENDING_MAX = 20000;
  const pending = create(null);
  let begun = 0;
  const init = (id, type) => {
    const stack = type === "PROMISE" && begun < PENDING_MAX ? stackOf() : undefined;
    if (stack === undefined) return;
    begun++;
    for (let at = 0, isDirect = true; at < stack.length; at++) {
      const file = fileOf(stack[at]);
      if (file === __filename || apply(startsWith, file, ["node:"])) continue;
      // Promises of async functions and of `await` are made by the code itself, others by the constructor or by `then`.
      if (apply(startsWith, file, ["/"])) {
        const place = real(file);
        if (isDirect && place === main) pending[id] = "awaits";
        else if (isWork(place)) pending[id] = "never settles";
        return;
      }
      isDirect = false;
    }
  };
  if (mark !== undefined && !isRunner) {
    const promiseResolve = (id) => {
      delete pending[id];
    };
    require("async_hooks").createHook({ init, promiseResolve }).enable();
  }
  const waits = () => {
    let [isAwaiting, isUnsettled] = [false, false];
    for (const id in pending) {
      if (pending[id] === "awaits") isAwaiting = true;
      else isUnsettled = true;
    }
    return isAwaiting && isUnsettled;
  };
  // A runner kills the servers that it started: these need not come to their end.
  const spare = (pid, signal) => {
    const file = callers()[0];
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
    writeSync(2, `rawko: ${file} ${what}, so that the check ends without its result\n`);
    reallyExit(97);
  };
  // The nearest caller, if it is changed code that is no program of its own.
  const worker = () => {
    const file = callers()[0];
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
  const exits = { exit: process.exit, reallyExit: process.reallyExit };
  const refusing = (file, value) =>
    function (code) {
      if (isMainThread && !(code === undefined ? process.exitCode : code)) refuse(file, "calls process.exit");
      return apply(value, process, [code]);
    };
  const isHeld = (object, name) => held.some(([owner, names]) => owner === object && names.includes(name));
  for (const [owner, names] of held) {
    for (const name of names) {
      let value = owner[name];
      Object.defineProperty(owner, name, {
        configurable: true,
        enumerable: Object.prototype.propertyIsEnumerable.call(owner, name),
        get() {
          if (value !== exits[name] || owner !== process) return value;
          const file = worker();
          // Without a caller when it runs, as in `setImmediate(process.exit.bind(process, 0))`.
          return file === undefined ? value : refusing(file, value);
        },
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
      if (!code && !leaving && waits()) refuse(main, "awaits a promise of changed code that never settles");
      if (!code && uncaught !== undefined) refuse(uncaught, "takes uncaught errors");
      if (leaving || worker() === undefined) ended();
    }
    return result;
  };
  process.emit = emitted;

  // Code that reads the test that calls it computes nothing.
  const reads = (name) => {
    if (typeof name !== "string" && !(name instanceof URL)) return;
    const above = callers();
    const first = above[0];
    if (first === undefined || !isWork(real(first))) return;
    const read = real(path.resolve(name instanceof URL ? fileURLToPath(name) : name));
    const kept = [path.join(__dirname, "guard.json"), ends + path.sep];
    if (kept.some((place) => apply(startsWith, read, [place]))) refuse(first, "opens files of this run");
    if (isWork(read)) return;
    for (let at = 1; at < above.length; at++) {
      if (real(above[at]) === read) refuse(first, "reads the test that calls it");
    }
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
  // Hooks of the runner could skip tests, or let them fail.
  let runner = {};
  try {
    runner = require("node:test");
  } catch {
    // Old versions have none.
  }
  for (const name of ["before", "after", "beforeEach", "afterEach"]) {
    const hook = runner[name];
    if (typeof hook !== "function") continue;
    runner[name] = function (...rest) {
      const file = worker();
      if (file !== undefined) refuse(file, "adds a hook to the tests");
      return Reflect.apply(hook, this, rest);
    };
  }
  const assert = require("assert");
  Object.freeze(assert.strict);
  Object.freeze(assert);
  Module.syncBuiltinESMExports();
})();
