/**
 * The headers that an answer depends on. Without `Vary` a cache, such as the browser's own, would serve the page of one
 * key to another.
 */
const COMMON = 'Origin, Accept, Accept-Encoding'

export const VARY = {
  /** The same for everyone. */
  open: COMMON,
  /** The two headers that can hold a key; a key in the query is part of the URL. */
  key: `${COMMON}, X-API-Key, Authorization`,
  token: `${COMMON}, Authorization`,
  session: `${COMMON}, Cookie`,
} as const

export type Vary = (typeof VARY)[keyof typeof VARY]
