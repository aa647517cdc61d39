exports.total = (lines) => lines.reduce((sum, { price, count }) => sum + price, 0);
