// A service that never ends until it is cancelled, and one that fails in both ways before it succeeds.
import { writeFileSync } from "node:fs";

import { ServiceError, Services } from "rawko-sdk";

const keys = [];
const services = new Services({ name: "flaky" });
services.service("slow", {}, (_, call) => {
  // Again and again: progress is shown only to those who watch.
  const telling = setInterval(() => call.progress({ part: 1 }), 50);
  return new Promise((_, reject) =>
    call.signal.addEventListener("abort", () => {
      clearInterval(telling);
      writeFileSync("cancelled", "cancelled");
      reject(call.signal.reason);
    }),
  );
});
services.service("flaky", {}, (_, call) => {
  keys.push(call.key);
  if (keys.length === 1) throw new ServiceError("nothing happened");
  if (keys.length === 2) throw new Error("who knows");
  return keys;
});
await services.run();
