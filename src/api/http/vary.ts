/**
 * What else than its address decides over an answer. A cache that is not told so serves one key's page to
 * another key: the browser's own cache does, for as long as the page may be kept.
 */
const COMMON = 'Origin, Accept, Accept-Encoding'

export const VARY = {
  /** The same for everybody. */
  open: COMMON,
  /** A key in the query is part of the address; these are the other two places. */
  key: `${COMMON}, X-API-Key, Authorization`,
  token: `${COMMON}, Authorization`,
  session: `${COMMON}, Cookie`,
} as const

export type Vary = (typeof VARY)[keyof typeof VARY]
