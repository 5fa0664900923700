/** Where the simulated node is meant to differ from a real one; docs/protocol/node.md shows the same list. */
export const KNOWN_DIFFERENCES: readonly { readonly what: string; readonly why: string }[] = []
