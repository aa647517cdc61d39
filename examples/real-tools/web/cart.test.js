const test = require("node:test");
const assert = require("node:assert");
const { total } = require("./cart.js");

test("an empty cart costs nothing", () => assert.equal(total([]), 0));
test("each piece counts", () => assert.equal(total([{ price: 2, count: 3 }, { price: 1, count: 1 }]), 7));
