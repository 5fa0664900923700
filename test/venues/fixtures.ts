/**
 * The recorded frames and answers of the venues, where they are present. Set TAPELINE_FIXTURES to another folder;
 * tests that need them are skipped without.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Source } from '../../src/core/source.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { TradeObservation } from '../../src/venues/observation.ts'

const FOLDER =
  process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'fixtures')

/** For node:test: false when the recordings are there, else why the test is skipped. */
export function withoutFixtures(venue: string): false | string {
  return existsSync(join(FOLDER, venue)) ? false : `no recordings in ${join(FOLDER, venue)}`
}

export function fixtureText(venue: string, file: string): string {
  return readFileSync(join(FOLDER, venue, file), 'utf8')
}

export function fixtureJson(venue: string, file: string): unknown {
  return JSON.parse(fixtureText(venue, file))
}

export function fixtureFiles(venue: string): string[] {
  return globSync('**/*.{json,jsonl,csv}', { cwd: join(FOLDER, venue) }).sort()
}

export interface RecordedFrame {
  readonly at: string
  readonly msg: unknown
  /** Name of the REST call, when the line is an answer and not a frame. */
  readonly rest?: string
}

/** Lines of `{msg, …}` or bare messages. */
export function recordedFrames(venue: string, file: string): RecordedFrame[] {
  const lines = fixtureText(venue, file)
    .split('\n')
    .filter((line) => line.trim() !== '')
  return lines.map((line, index) => {
    const parsed = JSON.parse(line)
    const at = `${file}:${index + 1}`
    if (parsed.msg === undefined) return { at, msg: parsed }
    return { at, msg: parsed.msg, ...(parsed.rest === undefined ? {} : { rest: parsed.rest }) }
  })
}

export function csvRows(venue: string, file: string): Record<string, string>[] {
  const [head, ...lines] = fixtureText(venue, file).trim().split('\n')
  const names = head?.split(',') ?? []
  return lines.map((line) => {
    const cells = line.split(',')
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']))
  })
}

/** A recorded Binance trade stream as trade observations, in order. */
export function recordedTrades(
  venue: string,
  file: string,
  about: { source: Source; symbol: AssetSymbol; instrument: string },
): TradeObservation[] {
  return csvRows(venue, file).map((row) => ({
    kind: 'trade',
    ...about,
    venueTimeMs: Number(row.trade_time_ms),
    receivedMs: Math.floor(Number(row.recv_ns) / 1e6),
    key: row.trade_id ?? '',
    id: row.trade_id ?? '',
    price: row.price ?? '',
    size: row.qty ?? '',
    side: row.buyer_is_maker === 'true' ? 'sell' : 'buy',
  }))
}
