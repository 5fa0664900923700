/** Compares tickers and books with the truth: every row is right, and outside of gaps none is missing. */
import { at, offGrid, read, type Subject, timeOf } from './read-feed.ts'

const SECOND_MS = 1_000
const SLOT_MS = 100
/** How far away a quote that is not of its second is looked for, to say so. */
const WIDE_SLOTS = 600
export const FULL_BOOK_MS = 5_400
const FULL_LEVELS = 20
const SAMPLE_MS = 500
const CARRY_FORWARD_MS = 60_000
/** The promise of the sampler: a book older than this is not sampled. */
const STALE_MS = 12_000

type Levels = readonly (readonly [string, string])[]

const numbersOf = (levels: Levels) => levels.map(([price, size]) => [Number(price), Number(size)])

/** The best prices of each instant. Within the slack one is compared with many rows, and at many looks. */
const touches = new WeakMap<Subject['truth'], Map<string, Map<number, string>>>()

function touchesOf({ truth, venue, symbol }: Subject): (timeMs: number) => string {
  const ofTruth = touches.get(truth) ?? new Map<string, Map<number, string>>()
  touches.set(truth, ofTruth)
  const name = `${venue} ${symbol}`
  const known = ofTruth.get(name) ?? new Map<number, string>()
  ofTruth.set(name, known)
  return (timeMs) => {
    const touch = known.get(timeMs)
    if (touch !== undefined) return touch
    const { bids, asks } = truth.book(venue, symbol, timeMs, 1)
    const text = [...(bids[0] ?? []), ...(asks[0] ?? [])].map(Number).join()
    known.set(timeMs, text)
    return text
  }
}

/**
 * The row of a second is the last quote of that second. Futures stamp their quotes, so it is the last of that very second;
 * spot quotes are dated by the frames around them (src/venues/binance/date-quotes.ts), a moment early where the frame
 * before took longer to arrive, and on a fast clock some moments later.
 */
export async function compareTicker(subject: Subject): Promise<string[]> {
  const { venue, range } = subject
  const slackOf = (timeMs: number) => {
    if (venue !== 'spot') return { lateMs: 0, aheadMs: 0 }
    const { slackMs, aheadMs = 0 } = subject.slackAt?.(timeMs) ?? subject
    return { lateMs: SECOND_MS + slackMs, aheadMs: SLOT_MS + aheadMs }
  }
  // The quotes of the first seconds may be dated before the range.
  const marginMs = venue === 'spot' ? SECOND_MS + SLOT_MS + subject.slackMs + (subject.aheadMs ?? 0) : 0
  const ticker = await read(subject, 'ticker', '', marginMs)
  const touchAt = touchesOf(subject)
  const wrong = offGrid(ticker, SECOND_MS)
  const known = new Set<number>()
  for (const row of ticker.rows) {
    const secondMs = timeOf(row)
    known.add(secondMs)
    if (secondMs < range.fromMs) continue
    const { lateMs, aheadMs } = slackOf(secondMs)
    const own = [row.bid_price, row.bid_size, row.ask_price, row.ask_size].join()
    const lastMs = secondMs + SECOND_MS - SLOT_MS + aheadMs
    // In a gap it may be any quote of its second, because later ones may be lost.
    const isLast = venue === 'futures' && !ticker.inGap(secondMs, secondMs + SECOND_MS)
    const firstMs = isLast ? lastMs : secondMs - lateMs
    let isReal = false
    for (let slot = lastMs; slot >= firstMs && !isReal; slot -= SLOT_MS) isReal = touchAt(slot) === own
    if (isReal) continue
    const when = [...Array(WIDE_SLOTS).keys()]
      .flatMap((n) => [n, -n])
      .find((n) => touchAt(secondMs + n * SLOT_MS) === own)
    const found = when === undefined ? '' : ` then, but ${(when * SLOT_MS) / SECOND_MS} s later`
    wrong.push(`${ticker.name}: the quote of ${at(secondMs)} never was${found}`)
  }
  // The best prices change several times in a second: each second has a row.
  for (let secondMs = Math.ceil(range.fromMs / SECOND_MS) * SECOND_MS; secondMs + SECOND_MS <= range.toMs; ) {
    const nextMs = secondMs + SECOND_MS
    const { lateMs, aheadMs } = slackOf(secondMs)
    let nearMs = Math.ceil((secondMs - lateMs - aheadMs) / SECOND_MS) * SECOND_MS
    while (nearMs <= secondMs + lateMs && !known.has(nearMs)) nearMs += SECOND_MS
    if (nearMs > secondMs + lateMs && !ticker.inGap(secondMs, nextMs))
      wrong.push(`${ticker.name}: no row at ${at(secondMs)} and no gap`)
    secondMs = nextMs
  }
  return wrong
}

/**
 * No wrong book is sampled, and none is missed: a row is the newest book that was sent by its grid point, with all of
 * its levels, and the last row at any grid point outside of a gap is that book. A whole book is sent every 5.4 s, so it
 * may be that old.
 */
export async function compareBooks(subject: Subject): Promise<string[]> {
  const books = await read(subject, 'snapshots', '', CARRY_FORWARD_MS + SAMPLE_MS)
  const { truth, venue, symbol, range } = subject
  const wrong = offGrid(books, SAMPLE_MS)
  const freshAt = (timeMs: number) => FULL_BOOK_MS + (subject.slackAt?.(timeMs) ?? subject).slackMs

  /** The book of an instant as a row has it; each is compared with many rows. */
  const sent = new Map<number, string>()
  function sentAt(sentMs: number): string {
    const known = sent.get(sentMs)
    if (known !== undefined) return known
    const { bids, asks } = truth.book(venue, symbol, sentMs, FULL_LEVELS)
    const text = JSON.stringify([numbersOf(bids), numbersOf(asks)])
    sent.set(sentMs, text)
    return text
  }

  /** The last row is compared at many grid points. */
  const written = new Map<object, string>()
  function textOf(row: Record<string, unknown>): string {
    const known = written.get(row)
    if (known !== undefined) return known
    const text = JSON.stringify([row.bids, row.asks])
    written.set(row, text)
    return text
  }

  /** Whether the venue sent this book in (from, to]. */
  function wasSent(row: Record<string, unknown>, fromMs: number, toMs: number): boolean {
    const text = textOf(row)
    for (
      let sentMs = Math.floor(toMs / FULL_BOOK_MS) * FULL_BOOK_MS;
      sentMs > fromMs;
      sentMs -= FULL_BOOK_MS
    ) {
      if (sentAt(sentMs) === text) return true
    }
    return false
  }

  for (const row of books.rows) {
    const gridMs = timeOf(row)
    for (const side of [row.bids, row.asks] as unknown[][])
      if (side.length !== FULL_LEVELS) wrong.push(`${books.name}: ${side.length} levels at ${at(gridMs)}`)
    // What was received last before a gap may be sampled until it is stale; it is then an old book in a gap.
    const freshMs = freshAt(gridMs)
    const ageMs = books.inGap(gridMs - STALE_MS, gridMs + 1) ? STALE_MS : freshMs
    if (!wasSent(row, gridMs - Math.max(ageMs, freshMs), gridMs))
      wrong.push(`${books.name}: the book at ${at(gridMs)} never was, or long before`)
  }
  let index = 0
  for (
    let gridMs = Math.ceil(range.fromMs / SAMPLE_MS) * SAMPLE_MS;
    gridMs < range.toMs;
    gridMs += SAMPLE_MS
  ) {
    while (index + 1 < books.rows.length && Date.parse(books.rows[index + 1]?.timestamp ?? '') <= gridMs)
      index += 1
    const freshMs = freshAt(gridMs)
    if (books.inGap(gridMs, gridMs + 1)) continue
    const row = books.rows[index]
    if (row === undefined || timeOf(row) > gridMs || gridMs - timeOf(row) > CARRY_FORWARD_MS)
      wrong.push(`${books.name}: no sample at ${at(gridMs)} and no gap`)
    else if (!wasSent(row, gridMs - freshMs, gridMs))
      wrong.push(`${books.name}: at ${at(gridMs)} the last row is an old book`)
  }
  return wrong
}
