import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SYMBOLS } from '../../src/core/symbol.ts'
import { pacedClock } from '../../test/predictions/paced-clock.ts'
import { startPredictionsRecording, startPredictionsWorld } from '../../test/predictions/recording.ts'
import type { Figure, Size } from '../frame.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const GIB = 1024 ** 3
const MIB = 1024 ** 2
/** As dense as the service's own sandbox: ten changes a second per leg. */
const SLOT_MS = 100
const STEP_MS = 500
const START_MS = Date.parse('2026-11-15T10:48:00Z')
/**
 * Two spans of blocks, measured at the same offset within a span, so that equally much is waiting for its block at both
 * ends. They contain the turn of a full hour: what happens once an hour is counted three times rather than left out.
 */
const FROM_MS = Date.parse('2026-11-15T10:52:00Z')
const TO_MS = Date.parse('2026-11-15T11:12:00Z')

/** By table and its indexes. */
const PARTS = {
  'books and trades': /book/,
  'candles and open interest': /series/,
  catalogue: /market/,
  coverage: /coverage/,
} as const
type Part = keyof typeof PARTS

interface Sizes {
  readonly fileBytes: number
  readonly usedBytes: number
  readonly parts: Record<Part, number>
}

/**
 * The recorders of both prediction markets and of the oracle as the service runs them, over sockets, into a file: the
 * growth of the whole database with every dataset, extrapolated to a day. For one symbol, or with `full` for all four.
 */
export async function predictionFigures(size: Size): Promise<Figure[]> {
  const symbols = size === 'full' ? SYMBOLS : SYMBOLS.slice(0, 1)
  const world = await startPredictionsWorld(pacedClock(START_MS, STEP_MS), { slotMs: SLOT_MS })
  const { clock } = world
  const recording = await startPredictionsRecording(world, {
    venues: ['polymarket', 'kalshi', 'chainlink'],
    symbols,
  })
  try {
    const file = join(recording.folder, 'test.db')
    await clock.runUntil(FROM_MS)
    const before = sizesOf(file)
    await clock.runUntil(TO_MS)
    const after = sizesOf(file)
    const times = SYMBOLS.length / symbols.length
    const perDay = (bytes: number) => (times * bytes * DAY_MS) / (TO_MS - FROM_MS)
    const restMs = DAY_MS - (TO_MS - START_MS)
    // Everything stored after the measured time, including free pages for the next tails, and the rest of the day.
    const day = times * after.fileBytes + perDay(after.usedBytes - before.usedBytes) * (restMs / DAY_MS)
    const shares = (Object.keys(PARTS) as Part[]).map(
      (part) => `${part} ${(perDay(after.parts[part] - before.parts[part]) / MIB).toFixed(0)}`,
    )
    for (const { source, state } of recording.supervisor.status())
      if (state !== 'healthy') throw new Error(`${source} was not recorded: what is missing takes no room`)
    return [
      {
        name: 'a day of all simulated prediction markets: GiB of database',
        atMost: 1,
        value: day / GIB,
        detail: `MiB a day: ${shares.join(', ')}; from ${(TO_MS - FROM_MS) / MINUTE_MS} minutes of ${symbols.join()}`,
      },
    ]
  } finally {
    await clock.during(recording.close())
    await world.close()
    rmSync(recording.folder, { recursive: true, force: true })
  }
}

function sizesOf(file: string): Sizes {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const pragma = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0])
    const [pages, free, pageBytes] = [pragma('page_count'), pragma('freelist_count'), pragma('page_size')]
    const tables = database.prepare('SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE').all()
    const sum = (pattern: RegExp) =>
      tables.reduce((bytes, { name, pgsize }) => bytes + (pattern.test(String(name)) ? Number(pgsize) : 0), 0)
    return {
      fileBytes: pages * pageBytes + logBytes(file),
      usedBytes: (pages - free) * pageBytes,
      parts: Object.fromEntries(
        Object.entries(PARTS).map(([part, pattern]) => [part, sum(pattern)]),
      ) as Sizes['parts'],
    }
  } finally {
    database.close()
  }
}

/** The write-ahead log beside the file. */
function logBytes(file: string): number {
  const folder = join(file, '..')
  return readdirSync(folder)
    .filter((name) => name.endsWith('-wal'))
    .reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0)
}
