/**
 * Messages that could not be read. They are counted by reason, and the newest are kept, truncated, so that a change of
 * a venue's wire format is noticed on the day it happens and never stops the recording.
 */
export interface DeadLetter {
  readonly venue: string
  readonly receivedMs: number
  readonly reason: DeadLetterReason
  /** Where the message came from: a route of the feed or a REST path. */
  readonly origin: string
  /** The beginning of the message. */
  readonly text: string
}

export type DeadLetterReason =
  /** not JSON, or binary */
  | 'malformed'
  /** JSON of a kind we do not know */
  | 'unknown_kind'
  /** a known kind with fields that are missing or of another type */
  | 'wrong_shape'
  /**
   * an answer that does not fit its request: other times, another unit, symbol, interval or order, or duplicate rows
   */
  | 'misfit'
  /** the right shape, but with a time or a number that cannot be right */
  | 'implausible'
  /** a candle that does not start on its grid */
  | 'off_grid'
  /** the venue answered with an error message */
  | 'venue_error'
  /** figures that contradict the order book for too long */
  | 'contradiction'
  /** a row that the store refused because of its content */
  | 'refused_row'

export interface DeadLetters {
  add(letter: Omit<DeadLetter, 'venue'>): void
  readonly total: number
  counts(): Readonly<Partial<Record<DeadLetterReason, number>>>
  /** Oldest first. */
  recent(): readonly DeadLetter[]
}

const DEAD_LETTERS_KEPT = 256
export const DEAD_LETTER_TEXT_LENGTH = 2_048

export function createDeadLetters(options: {
  venue: string
  onLetter?: (letter: DeadLetter) => void
  kept?: number
}): DeadLetters {
  const kept = options.kept ?? DEAD_LETTERS_KEPT
  const letters: DeadLetter[] = []
  const counts: Partial<Record<DeadLetterReason, number>> = {}
  let total = 0
  return {
    add(letter) {
      total += 1
      counts[letter.reason] = (counts[letter.reason] ?? 0) + 1
      const stored = { ...letter, venue: options.venue, text: beginningOf(letter.text) }
      letters.push(stored)
      if (letters.length > kept) letters.shift()
      options.onLetter?.(stored)
    },
    get total() {
      return total
    },
    counts: () => ({ ...counts }),
    recent: () => [...letters],
  }
}

/** Copies the text, because a slice keeps the whole original in memory and one answer can have megabytes. */
function beginningOf(text: string): string {
  if (text.length <= DEAD_LETTER_TEXT_LENGTH) return text
  return Buffer.from(text.slice(0, DEAD_LETTER_TEXT_LENGTH), 'utf16le').toString('utf16le')
}
