/** Intended differences between the simulated node and a real one; a test compares docs/protocol/simulated-node.md. */
export const KNOWN_DIFFERENCES: readonly { readonly what: string; readonly why: string }[] = [
  {
    what: 'getSystemInfo.gitHash',
    why: 'A real node tells the commit that it was built from where it was built inside its repository, and null otherwise.',
  },
  {
    what: 'getFeeEstimateExperimental.verbose.nextBlockTemplateFeerate',
    why: 'A real node divides by the storage mass, which may be 0; JSON has no infinity, so it sends null, which its own client cannot read. The simulated node divides by the mass by which it fills blocks.',
  },
]
