/** The prefix of a key selects the environment; each environment has its own store, venues and nodes. */
export const ENVIRONMENTS = ['test', 'live'] as const
export type Environment = (typeof ENVIRONMENTS)[number]
