// What was spent, in words. Apart, because money is said in lists, in heads and on agents alike.
import { compact, cost } from './words.js';

/** `$0.42`, or tokens where nobody knows a price; nothing where nothing was spent. */
export function spentBrief(spent) {
  if (!spent) return '';
  if (spent.cost_usd > 0) return cost(spent.cost_usd);
  return spent.tokens ? `${compact(spent.tokens)} tokens` : '';
}
