/**
 * Messages that could not be parsed, one JSON line each in a file per venue. Size (the previous file is kept as
 * `….old`) and rate are bounded, so that a venue that changes its format overnight fills neither the disk nor the log.
 * Messages beyond the rate are only counted.
 */
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { DeadLetter } from '../../venues/dead-letter.ts'
import type { LetterFiles } from './letter-files.ts'

const MAX_BYTES = 1024 * 1024
const PACE_MS = 60_000
/** Per venue and reason. */
const LINES_PER_PACE = 50

interface Tally {
  readonly venue: string
  readonly reason: string
  count: number
  paceStartMs: number
  inPace: number
}

export function openDeadLetterFile(options: {
  /** File name prefix; the venue's name follows. */
  prefix: string
  files: LetterFiles
  clock: Clock
  log: Logger
  maxBytes?: number
}) {
  const { prefix, files, clock, log } = options
  const maxBytes = options.maxBytes ?? MAX_BYTES
  const tallies = new Map<string, Tally>()
  const fileOf = (venue: string) => `${prefix}${venue}.ndjson`
  let waiting: { venue: string; line: string }[] = []
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const byVenue = Map.groupBy(waiting, ({ venue }) => venue)
      waiting = []
      for (const [venue, letters] of byVenue) {
        await files.append(fileOf(venue), letters.map(({ line }) => line).join(''), maxBytes)
      }
    }
  }

  function tallyOf({ venue, reason }: DeadLetter): Tally {
    const key = `${venue} ${reason}`
    const known = tallies.get(key) ?? {
      venue,
      reason,
      count: 0,
      paceStartMs: Number.NEGATIVE_INFINITY,
      inPace: 0,
    }
    tallies.set(key, known)
    return known
  }

  return {
    add(letter: DeadLetter) {
      const tally = tallyOf(letter)
      tally.count += 1
      const nowMs = clock.now()
      if (nowMs - tally.paceStartMs >= PACE_MS) {
        tally.paceStartMs = nowMs
        tally.inPace = 0
        const { venue, reason, origin } = letter
        log.warn(
          { venue, reason, origin, sinceStart: tally.count, file: fileOf(venue) },
          'a message could not be read',
        )
      }
      tally.inPace += 1
      if (tally.inPace > LINES_PER_PACE) return
      const { receivedMs, ...rest } = letter
      const line = `${JSON.stringify({ at: new Date(receivedMs).toISOString(), ...rest })}\n`
      waiting.push({ venue: letter.venue, line })
      writing ??= write()
        .catch((error) => log.error({ err: error, prefix }, 'dead letters could not be written'))
        .finally(() => {
          writing = undefined
        })
    },
    /** Totals since the start. */
    counts: (): { venue: string; reason: string; count: number }[] =>
      [...tallies.values()].map(({ venue, reason, count }) => ({ venue, reason, count })),
    close: async () => writing,
  }
}
