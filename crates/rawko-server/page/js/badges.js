// Badges of a drawing: how far the items of an `each` are, and the worktree that an agent works in. Separate from the drawing,
// which knows no instances.

/** @param {{each?: any[], context?: any, configuration?: string[], status?: string}} doc an instance, or a step of a simulation */
export function badgesOf(doc) {
  const items = (doc.each ?? []).map((it) => ({
    node: it.state,
    text: `${it.done}/${it.total}${it.error ? ` · ${it.error} failed` : it.running ? ` · ${it.running} running` : ''}`,
    title: `${it.invoke}: ${it.done} of ${it.total} items are done`,
    bad: it.error > 0,
  }));
  const tree = doc.context?.worktree;
  const leaf = doc.configuration?.[0];
  if (!tree?.branch || !leaf || doc.status === 'ended') return items;
  return [...items, { node: leaf, text: tree.branch, title: `Works in the worktree ${tree.branch} (${tree.path ?? ''})` }];
}
