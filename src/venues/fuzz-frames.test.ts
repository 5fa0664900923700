/**
 * Recorded frames of every reader, spoiled at random, on their way to the samplers: nothing throws, nothing blocks the
 * thread, nothing grows without bound, and nothing impossible is believed. TAPELINE_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type SeededRandom, seededRandom } from '../../test/seeded-random.ts'
import { fixtureFiles, fixtureText, withoutFixtures } from '../../test/venues/fixtures.ts'
import { anyInstrument } from '../../test/venues/read-frame.ts'
import { spoilFrame } from '../../test/venues/spoil-frame.ts'
import { QUICK } from '../../test/venues/toy-feed.ts'
import { sampleBook } from '../ingest/exchange/sample-book.ts'
import { TickerSampler } from '../ingest/exchange/sample-ticker.ts'
import { MarketSampler } from '../ingest/prediction/sample-market.ts'
import { allChannels } from './adapter/supported.ts'
import { createSymbolMap, type SymbolMap } from './adapter/symbol-map.ts'
import { binanceFuturesDescription } from './binance-futures/describe.ts'
import { createFuturesReader } from './binance-futures/mapper.ts'
import { binanceSpotDescription } from './binance-spot/describe.ts'
import { createSpotReader } from './binance-spot/mapper.ts'
import { createDeadLetters } from './dead-letter.ts'
import { hyperliquidDescription } from './hyperliquid/describe.ts'
import { createHyperliquidReader } from './hyperliquid/feed.ts'
import { kalshiDescription } from './kalshi/describe.ts'
import { createContractFeed } from './kalshi/feed.ts'
import type { FrameOutcome, FrameProtocol } from './live/frame.ts'
import { Intake } from './live/intake.ts'
import { isPlausibleTime, withoutImplausible } from './live/plausible.ts'
import { type DataObservation, isControl, type Observation } from './observation.ts'
import { MAX_AHEAD_MS } from './plausible-bounds.ts'
import { createBoltReader } from './polymarket/bolt-feed.ts'
import { polymarketDescription } from './polymarket/describe.ts'
import { TokenFeed } from './polymarket/feed.ts'
import { createReferenceReader, USUAL_TOPICS } from './polymarket/reference-feed.ts'
import type { VenueDescription } from './venue.ts'

const SPOILED = process.env.TAPELINE_SOAK === undefined ? 150 : 50_000
/** CPU time limit of one frame; the largest ones here take a hundredth of a second. */
const MAX_FRAME_MS = 1_000
const MAX_GROWTH_BYTES = 96 * 1024 * 1024

interface Reader {
  readonly folder: string
  readonly files: RegExp
  readonly describe: VenueDescription
  /** `names` maps instruments to symbols; if omitted, all of them are BTC. */
  open(texts: readonly string[], names?: Pick<SymbolMap, 'fromVenue'>): FrameProtocol
}

const namesIn = (texts: readonly string[], field: string): string[] => {
  const found = new Set<string>()
  for (const text of texts)
    for (const [, name] of text.matchAll(new RegExp(`"${field}":\\s*"([^"]+)"`, 'g'))) found.add(name ?? '')
  return [...found]
}

const READERS: Readonly<Record<string, Reader>> = {
  spot: {
    ...{ folder: 'binance-spot', files: /\.jsonl$/, describe: binanceSpotDescription },
    open: (_texts, names = anyInstrument) => createSpotReader(names),
  },
  futures: {
    ...{ folder: 'binance-futures', files: /\.jsonl$/, describe: binanceFuturesDescription },
    open: (_texts, names = anyInstrument) => createFuturesReader(names),
  },
  perp: {
    ...{ folder: 'hyperliquid', files: /\.jsonl$/, describe: hyperliquidDescription },
    open: (_texts, names = anyInstrument) => createHyperliquidReader(names),
  },
  contracts: {
    ...{ folder: 'kalshi', files: /^ws_.*\.jsonl$/, describe: kalshiDescription },
    open(texts) {
      const feed = createContractFeed('BTC', {
        send: () => {},
        cut: () => {},
        lostTrades: () => {},
        lostFigures: () => {},
      })
      feed.follow(namesIn(texts, 'market_ticker'), 0)
      return feed.openReader()
    },
  },
  tokens: {
    folder: 'polymarket',
    files: /^(ws_.*\.jsonl|nautilus_ws\/.*|nautilus_rust\/ws_.*|documented.*)$/,
    describe: polymarketDescription,
    open(texts) {
      const feed = new TokenFeed('BTC', {
        ...{ send: () => {}, repair: () => {}, announced: () => {}, resolved: () => {} },
      })
      const window = { marketId: '0x1', outcome: 'Up', symbol: 'BTC', startMs: 0, endMs: 9e12 } as const
      feed.follow(
        namesIn(texts, 'asset_id').map((tokenId) => ({ ...window, tokenId })),
        0,
      )
      return feed.openReader()
    },
  },
  reference: {
    ...{ folder: 'polymarket', files: /rtds.*json/, describe: polymarketDescription },
    open: () => createReferenceReader(USUAL_TOPICS),
  },
  bolt: {
    ...{ folder: 'polymarket', files: /polybolt/, describe: polymarketDescription },
    open: () => createBoltReader(),
  },
}

/** A line is a frame or contains one as `msg` or `raw`; a whole file is one frame or an object of frames. */
function framesOf({ folder, files }: Reader): string[] {
  return fixtureFiles(folder)
    .filter((file) => files.test(file))
    .flatMap((file) => {
      const text = fixtureText(folder, file)
      if (file.endsWith('.jsonl')) return text.split('\n').filter((line) => line.trim() !== '')
      const value: Record<string, unknown> = JSON.parse(text)
      return file.startsWith('documented') ? Object.values(value).map((each) => JSON.stringify(each)) : [text]
    })
    .map((line) => {
      const { msg, raw, type } = JSON.parse(line)
      if (typeof raw === 'string') return raw
      return msg === undefined || type !== undefined ? line : JSON.stringify(msg)
    })
}

/** The newest time in a frame, in any of the forms that venues use. */
function timeIn(text: string): number | undefined {
  const millis = [...text.matchAll(/(?<=[:\s"])1[4-9]\d{11}(?![\d.a-f])/g)].map(([found]) => Number(found))
  const seconds = [...text.matchAll(/"ts":\s*(1[4-9]\d{8})(?!\d)/g)].map(([, found]) => Number(found) * 1_000)
  const iso = [...text.matchAll(/"ts":\s*"(20[^"]+)"/g)].map(([, found]) => Date.parse(found ?? ''))
  const newest = Math.max(...millis, ...seconds, ...iso)
  return Number.isFinite(newest) ? newest : undefined
}

/** A reader as a socket uses it, and everything that happens to its observations. */
function openPipeline(reader: Reader, texts: readonly string[], names?: Pick<SymbolMap, 'fromVenue'>) {
  const protocol = reader.open(texts, names)
  const channels = allChannels(reader.describe)
  let nowMs = 0
  const deadLetters = createDeadLetters({ venue: reader.folder })
  const intake = new Intake({
    source: reader.describe.source,
    clock: { now: () => nowMs, sleep: () => Promise.reject(new Error('nothing waits here')) },
    limits: QUICK,
    deadLetters,
    silenceOf: () => null,
    onPressure: () => {},
    onData: () => {},
  })
  for (const channel of channels) intake.watch.add(channel, () => true)
  const books = sampleBook({ staleAfterMs: 12_000, graceMs: 1_500 })
  const ticker = new TickerSampler()
  const markets = new MarketSampler({
    instruments: namesIn(texts, '(?:asset_id|market_ticker)').slice(0, 1),
    fromMs: 0,
    toMs: () => Number.POSITIVE_INFINITY,
    onSample: () => true,
    receivedToMs: () => nowMs,
  })

  function sample(observation: DataObservation): void {
    if (observation.kind === 'exchange_book')
      books.receive({ ...observation, timeMs: observation.venueTimeMs })
    if (observation.kind === 'best_bid_ask') ticker.received(observation)
    if (observation.kind === 'book_snapshot') markets.snapshot(observation)
    if (observation.kind === 'book_delta') markets.change(observation)
    if (observation.kind === 'book_lost') markets.lost(observation)
  }

  return {
    deadLetters,
    read(text: string, atMs: number): FrameOutcome {
      nowMs = atMs
      const outcome = withoutImplausible(protocol.read(text, nowMs, isPlausibleTime))
      intake.frame({ name: 'fuzz', channels }, outcome, text)
      return outcome
    },
    async take(): Promise<readonly Observation[]> {
      const taken: Observation[] = []
      while (intake.queue.size > 0) taken.push(...(await intake.queue.take()))
      for (const observation of taken) if (!isControl(observation)) sample(observation)
      books.sample(nowMs)
      ticker.take(nowMs)
      markets.tick(nowMs)
      return taken
    },
  }
}

const collect = () => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

function assertBelieved(observations: readonly Observation[], nowMs: number, text: string): void {
  for (const observation of observations) {
    if (isControl(observation)) continue
    const { venueTimeMs } = observation
    assert.ok(Number.isSafeInteger(venueTimeMs), `time ${venueTimeMs} of ${text.slice(0, 500)}`)
    assert.ok(venueTimeMs <= nowMs + MAX_AHEAD_MS, `time ${venueTimeMs} at ${nowMs} of ${text.slice(0, 500)}`)
  }
}

async function fuzz(reader: Reader, random: SeededRandom): Promise<void> {
  const frames = framesOf(reader)
  const pipeline = openPipeline(reader, frames)
  let nowMs = Date.parse('2026-11-10T12:00:00Z')
  const beforeBytes = collect()
  let longestMs = 0
  for (let count = 0; count < SPOILED; count++) {
    const recorded = frames[count % frames.length] ?? ''
    nowMs = (timeIn(recorded) ?? nowMs) + 50
    const text = random() < 0.7 ? spoilFrame(recorded, random) : recorded
    const started = process.threadCpuUsage()
    try {
      const outcome = pipeline.read(text, nowMs)
      const taken = await pipeline.take()
      if (outcome.kind === 'refused' && outcome.reason === 'implausible')
        assert.deepEqual(
          taken.map(({ kind }) => kind),
          ['damaged'],
          text.slice(0, 500),
        )
      assertBelieved(taken, nowMs, text)
    } catch (error) {
      assert.fail(`${error instanceof Error ? error.stack : error}\nat the frame ${text.slice(0, 2_000)}`)
    }
    const { user, system } = process.threadCpuUsage(started)
    longestMs = Math.max(longestMs, (user + system) / 1_000)
    assert.ok(longestMs < MAX_FRAME_MS, `${longestMs} ms for the frame ${text.slice(0, 2_000)}`)
  }
  assert.equal(Object.getPrototypeOf({}).polluted, undefined)
  const grownBytes = collect() - beforeBytes
  assert.ok(grownBytes < MAX_GROWTH_BYTES, `${grownBytes} bytes more after ${SPOILED} frames`)
}

for (const [name, reader] of Object.entries(READERS)) {
  const skip = withoutFixtures(reader.folder)
  test(`recorded frames of ${name} are plausible`, { skip }, async () => {
    const frames = framesOf(reader)
    assert.ok(frames.length > 0)
    let data = 0
    let nowMs = 0
    const { deadLetters, read, take } = openPipeline(reader, frames, createSymbolMap(reader.describe.symbols))
    const ofAny = reader.open(frames)
    for (const text of frames) {
      nowMs = (timeIn(text) ?? nowMs) + 50
      read(text, nowMs)
      await take()
      const outcome = withoutImplausible(ofAny.read(text, nowMs, isPlausibleTime))
      if (outcome.kind === 'data') data += 1
      const reason = 'refused' in outcome ? outcome.refused : 'reason' in outcome ? outcome.reason : undefined
      assert.notEqual(reason, 'implausible', text)
    }
    assert.deepEqual(
      deadLetters.recent().filter(({ reason }) => reason === 'implausible'),
      [],
    )
    assert.ok(data > 0, 'some of them carry data')
  })

  test(
    `spoiled frames of ${name} neither throw nor hold the thread nor are believed`,
    {
      skip,
      timeout: 30 * 60_000,
    },
    async (t) => fuzz(reader, seededRandom(t)),
  )
}

test('names of inherited members and objects in the place of texts are refused', () => {
  const texts = [
    '{"event_type":"__proto__"}',
    '{"event_type":"constructor","timestamp":"1"}',
    '{"event_type":"new_market","slug":"x","timestamp":{"toString":1,"valueOf":1}}',
    '{"channel":"error","data":{"toString":1,"valueOf":1}}',
    '{"type":"__proto__","sid":1,"seq":1,"msg":{"ts":{"toString":1}}}',
    '{"topic":"__proto__","type":"x","payload":{"symbol":"x","timestamp":1,"value":1}}',
    '{"e":"__proto__","E":1}',
    '{"stream":"__proto__","data":{"e":"constructor"}}',
    '[null]',
    '[[[]]]',
    'null',
    '"text"',
  ]
  for (const [name, reader] of Object.entries(READERS)) {
    const protocol = reader.open([])
    for (const text of texts) {
      const { kind } = protocol.read(text, Date.now(), isPlausibleTime)
      assert.ok(kind === 'refused' || kind === 'ignored', `${name}: ${text} is ${kind}`)
    }
  }
})
