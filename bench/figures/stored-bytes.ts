/**
 * The disk space that rows take in the embedded engine: as they are written, and packed after their day.
 * `packed-reads.ts` measures how fast they are read.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Feed } from '../../src/core/feed.ts'
import type { FeedRows } from '../../src/core/rows/row-kinds.ts'
import { formatTime } from '../../src/core/time.ts'
import { newEvent } from '../../src/events/event.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { seeded } from '../../src/store/conformance/engine.ts'
import { drifting } from '../../src/store/conformance/snapshots.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { openStores, parseStoreAddress, type Stores } from '../../src/store/open-stores.ts'
import { candleAt } from '../fill-candles.ts'
import type { Figure, Size } from '../frame.ts'

const START_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const CANDLES: Feed<'candles'> = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' }
const TICKER: Feed<'ticker'> = { dataset: 'ticker', source: 'cexa', symbol: 'BTC', interval: '' }
const TRADES: Feed<'trades'> = { dataset: 'trades', source: 'perpdex', symbol: 'BTC', interval: '' }
const SNAPSHOTS: Feed<'snapshots'> = {
  ...{ dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' },
}
/** An event of a block with one transaction. */
const EVENTS = 20_000

export async function storedBytesFigures(size: Size): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-bytes-'))
  const stores = openStores(parseStoreAddress(folder), systemClock)
  const rows = size === 'full' ? 200_000 : 40_000
  const packed = await stores.environment('live')
  try {
    await fill(packed, rows)
    await fillEvents(stores)
    const before = await bytesOf(stores)
    await packed.compact(0, { withUnfinal: true })
    await packed.giveBackRoom()
    const after = await bytesOf(stores)
    const perRow = (part: string, use: typeof before) => use.get(part) ?? 0
    return [
      ...['candles', 'ticker', 'trades', 'snapshots'].map((part) => ({
        name: `bytes per row, packed: ${part}`,
        value: perRow(part, after),
        detail: `${perRow(part, before).toFixed(0)} as written`,
        ...(part === 'candles' ? { atMost: 85 } : {}),
      })),
      {
        name: 'bytes per event of the chain, in blocks',
        value: ((await partBytes(stores, 'chain')) ?? 0) / EVENTS,
        detail: 'block_added, one transaction each',
      },
    ]
  } finally {
    await packed.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(store: EnvironmentStore, count: number): Promise<void> {
  const write = async (of: (from: number, to: number) => FeedRows) => {
    for (let from = 0; from < count; from += 5_000) await store.write({ rows: [of(from, from + 5_000)] })
  }
  const range = <T>(from: number, to: number, each: (index: number) => T) =>
    Array.from({ length: to - from }, (_, i) => each(from + i))
  const price = (index: number, more = 0) => (60_000 + Math.sin(index / 50) * 1_000 + more).toFixed(2)
  await write((from, to) => ({
    feed: CANDLES,
    rows: range(from, to, (index) => candleAt(index, START_MS + index * SECOND_MS)),
  }))
  await write((from, to) => ({
    feed: TICKER,
    rows: range(from, to, (index) => ({
      time: START_MS + index * SECOND_MS,
      ...{ bidPrice: price(index), bidSize: String((index % 91) / 8), askPrice: price(index, 0.5) },
      askSize: String((index % 83) / 8),
    })),
  }))
  await write((from, to) => ({
    feed: TRADES,
    rows: range(from, to, (index) => ({
      ...{ time: START_MS + index * 300, seq: index, tradeId: String(1_000_000_000 + index * 7) },
      ...{
        price: price(index),
        size: String(((index % 977) + 1) / 64),
        side: index % 3 === 0 ? ('buy' as const) : ('sell' as const),
      },
    })),
  }))
  const snapshots = drifting(seeded(1), ['0xa', '0xb'], 4_000)
  for (let from = 0; from < snapshots.length; from += 2_000)
    await store.write({ rows: [{ feed: SNAPSHOTS, rows: snapshots.slice(from, from + 2_000) }] })
}

async function fillEvents(stores: Stores): Promise<void> {
  const { chain, close } = stores.chain('live')
  const random = seeded(9)
  const hex = () =>
    Array.from({ length: 16 }, () => random.below(65_536).toString(16).padStart(4, '0')).join('')
  for (let from = 0; from < EVENTS; from += 1_000)
    await appendEvents(
      chain,
      Array.from({ length: 1_000 }, (_, i) =>
        newEvent({
          kind: 'block_added',
          network: 'mainnet',
          createdAtMs: START_MS + (from + i) * 100,
          data: {
            ...{ hash: hex(), daa_score: BigInt(from + i), blue_score: BigInt(from + i) },
            ...{ timestamp: formatTime(START_MS + (from + i) * 100), transaction_ids: [hex()] },
          },
        }),
      ),
    )
  await close()
}

/** Of the environment that is packed. */
async function bytesOf(stores: Stores): Promise<Map<string, number>> {
  const { parts } = await stores.diskUse()
  const own = parts.filter(({ environment }) => environment === 'live')
  return new Map(own.flatMap(({ part, rows, bytes }) => (rows ? [[part, bytes / rows]] : [])))
}

async function partBytes(stores: Stores, part: string): Promise<number | undefined> {
  const { parts } = await stores.diskUse()
  return parts.find((each) => each.environment === 'live' && each.part === part)?.bytes
}
