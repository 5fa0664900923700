/** A key's prefix picks the environment; each has its own store, venues and nodes. */
export const ENVIRONMENTS = ['test', 'live'] as const
export type Environment = (typeof ENVIRONMENTS)[number]
