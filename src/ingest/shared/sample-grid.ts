/** Order books are sampled on a grid of 500 ms; an unchanged book is carried forward once a minute. */
export const GRID_MS = 500
export const CARRY_FORWARD_MS = 60_000

/** The first grid point at or after an instant. */
export const gridOf = (timeMs: number) => Math.ceil(timeMs / GRID_MS) * GRID_MS
