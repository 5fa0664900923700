/**
 * The venue's hash of an order book: SHA-1 of its compact JSON with an empty hash, over a fixed set of keys. The set
 * has changed over the years and will again, so a match is proof and a mismatch is only a hint.
 */
import { hash as digest } from 'node:crypto'

export const HASH_KEYS = {
  '2026': [
    'market',
    'asset_id',
    'timestamp',
    'hash',
    'bids',
    'asks',
    'min_order_size',
    'tick_size',
    'neg_risk',
    'last_trade_price',
  ],
  '2024': ['market', 'asset_id', 'hash', 'bids', 'asks'],
} as const

export type HashRule = keyof typeof HASH_KEYS
const HASH_RULES = Object.keys(HASH_KEYS) as HashRule[]

/** Known terms of the market that the hash covers but the stream's frames leave out. */
export interface HashedTerms {
  readonly min_order_size?: string
  readonly tick_size?: string
  readonly neg_risk?: boolean
}

/** Terms of nearly every market: a match with them is still proof, a mismatch proves nothing. */
const USUAL_TERMS: HashedTerms = { min_order_size: '5', neg_risk: false }

/** Covers the keys that the book or the terms have, in the order of the rule. */
export function bookHash(
  book: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  terms: HashedTerms = {},
): string {
  const known = terms as Readonly<Record<string, unknown>>
  const covered: Record<string, unknown> = {}
  for (const key of keys) {
    if (key === 'hash') covered[key] = ''
    else if (Object.hasOwn(book, key)) covered[key] = book[key]
    else if (Object.hasOwn(known, key)) covered[key] = known[key]
  }
  return digest('sha1', JSON.stringify(covered))
}

/**
 * The rule under which the book's own hash is right; null if it is wrong under all rules, undefined without a hash.
 * `likeliest` is tried before the other rules.
 */
export function matchingRule(
  book: Readonly<Record<string, unknown>>,
  terms: HashedTerms = {},
  likeliest: HashRule = '2026',
): HashRule | null | undefined {
  const reported = book.hash
  if (typeof reported !== 'string' || reported === '') return undefined
  const hash = reported.replace(/^0x/, '')
  for (const rule of [likeliest, ...HASH_RULES.filter((each) => each !== likeliest)])
    for (const candidate of termsToTry(book, HASH_KEYS[rule], terms))
      if (bookHash(book, HASH_KEYS[rule], candidate) === hash) return rule
  return null
}

/** Likeliest first: with the known terms that the stream leaves out. None twice, because a hash of a long book is slow. */
function termsToTry(
  book: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  terms: HashedTerms,
): HashedTerms[] {
  const toTry = new Map<string, HashedTerms>()
  for (const candidate of [terms, { ...USUAL_TERMS, ...terms }, {}]) {
    const used = Object.entries(candidate).filter(([key]) => keys.includes(key) && !Object.hasOwn(book, key))
    const about = JSON.stringify(used.sort())
    if (!toTry.has(about)) toTry.set(about, candidate)
  }
  return [...toTry.values()]
}

/** Whether everything that today's hash covers is known; otherwise it may seem wrong only because a term is unknown. */
export function hasAllTerms(book: Readonly<Record<string, unknown>>, terms: HashedTerms): boolean {
  return HASH_KEYS['2026'].every((key) => Object.hasOwn(book, key) || Object.hasOwn(terms, key))
}
