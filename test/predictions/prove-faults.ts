/** What must hold for a prediction venue after a run of faults; the test file of each venue provides the cases. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { feedOf } from '../../src/ingest/shared/feeds.ts'
import type { TrueMarket } from '../sandbox/prediction-truth.ts'
import { compareCatalogue } from './compare.ts'
import {
  type FaultCase,
  type FaultRun,
  findFaultyBooks,
  findFaultyTrades,
  gapsOf,
  marketsOf,
  runFaults,
} from './fault-run.ts'

export interface FaultProof {
  readonly venue: TrueMarket['venue']
  readonly source: 'predmkt_a' | 'predmkt_b'
  readonly startMs: number
  readonly slotMs: number
  readonly settleMs: number
  readonly cases: readonly FaultCase[]
  /** How long before the next fault a gap must have ended. */
  readonly endsBeforeMs: number
  /** What the next fault does reaches back: a gap that is still open then is its own, not this case's. */
  readonly reachesBack: boolean
  /** The minimum number of each, because an empty comparison would prove nothing. */
  readonly least: { readonly markets: number; readonly rows: number; readonly trades: number }
  /** Winners of at least so many markets, which ended at the latest so long after the run. */
  readonly ended: { readonly least: number; readonly afterMs: number }
}

export function proveFaults(proof: FaultProof): void {
  const { venue, cases, least, ended } = proof
  let run: FaultRun
  let markets: TrueMarket[]

  before(async () => {
    const { startMs, slotMs, settleMs } = proof
    run = await runFaults({ venues: [venue], startMs, stepMs: 500, slotMs, cases, settleMs })
    markets = marketsOf(run, venue)
  })
  after(() => run?.close())

  test('rows and gaps cover every market; outside the gaps each book is the one of its instant', async () => {
    const { wrong, rows } = await findFaultyBooks(run, markets)
    assert.deepEqual(wrong.slice(0, 10), [])
    const isMuch = markets.length > least.markets && rows > least.rows
    assert.ok(isMuch, `${markets.length} markets, ${rows} rows`)
  })

  test('trades are those of the venue, each once, whatever the stream lost', async () => {
    const { wrong, trades } = await findFaultyTrades(run, markets)
    assert.deepEqual(wrong.slice(0, 10), [])
    assert.ok(trades > least.trades, `${trades} trades`)
  })

  for (const { name, gap, lastsMs } of cases) {
    if (gap === undefined) continue
    test(`${name}: the books have ${gap ? 'a gap that ends' : 'no gap'}`, async () => {
      const fromMs = run.begun(name)
      const toMs = fromMs + lastsMs - proof.endsBeforeMs
      const found = await gapsOf(run, feedOf('snapshots', proof.source, 'BTC', '15m'), fromMs, toMs)
      const gaps = proof.reachesBack && !gap ? found.filter(({ to }) => to < toMs) : found
      assert.equal(gaps.length > 0, gap, JSON.stringify(gaps))
      assert.ok(
        gaps.every(({ to }) => to < toMs),
        `it is still open: ${JSON.stringify(gaps)}`,
      )
    })
  }

  test('every winner is known, announced or not, in time or late', async () => {
    const over = markets.filter(({ endMs }) => endMs < run.range.toMs + ended.afterMs)
    assert.ok(over.length >= ended.least, `${over.length} markets`)
    for (const market of over) assert.deepEqual(await compareCatalogue(run.recording.store, market), [])
  })

  test('no row was refused, no book and no trade rewritten, and a late trade corrects its candles, counted', async () => {
    const [status] = run.recording.supervisor.status()
    assert.equal(status?.detail.counts.refused, 0)
    const { series } = run.recording.store
    const feeds = (await series.feeds({})).map(({ feed }) => feed)
    const range = { from: 0, to: Number.MAX_SAFE_INTEGER }
    const revisionsOf = async (each: typeof feeds) =>
      (await series.revisions({ feeds: each, range, limit: 1_000 })).map(({ text }) => text)
    const isCandle = ({ dataset }: (typeof feeds)[number]) => dataset === 'candles'
    assert.deepEqual(await revisionsOf(feeds.filter((feed) => !isCandle(feed))), [])
    assert.equal((await revisionsOf(feeds.filter(isCandle))).length, status?.detail.counts.corrected)
  })
}
