// A service whose answers the server could not read.
import { ServiceError, Services } from "rawko-sdk";

const services = new Services({ name: "answers" });
services.service("answer", {}, ({ kind }) => {
  if (kind === "half") return "\ud800";
  if (kind === "large") return "x".repeat(5 * 1024 * 1024);
  if (kind === "details") {
    const circle = {};
    circle.circle = circle;
    throw new ServiceError("failed", { details: circle });
  }
  return "é".repeat(1_000_000);
});
await services.run();
