/**
 * One simulated prediction venue, recorded by the real recorder of markets into the real store:
 *
 *   world ─▶ venue ─▶ network ─▶ recorder, sweeps and backfill ─▶ disk ─▶ store ◀─ readers (the judge)
 */
import { generateKeyPairSync } from 'node:crypto'
import { sandboxPredictions } from '../../src/app/sandbox-venues.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { trackedMarketFeeds } from '../../src/ingest/prediction/market-feeds.ts'
import { recordPredictions } from '../../src/ingest/prediction/record-predictions.ts'
import { keepTime } from '../../src/ingest/shared/keep-time.ts'
import { kalshiDescription, keylessDescription } from '../../src/venues/kalshi/describe.ts'
import { VENUES } from '../../src/venues/list.ts'
import { POLYMARKET_TIMES, polymarketDescription } from '../../src/venues/polymarket/describe.ts'
import { beginDiskFault, DISK_FAULTS, RECORDER_FAULTS } from './common-faults.ts'
import { createLeakWatch } from './leaks.ts'
import { createMarketLaws } from './market-laws.ts'
import { watchPolling } from './polled-times.ts'
import { networkFaultsOf, startPredictionWorld, venueFault } from './prediction-world.ts'
import type { Random } from './random.ts'
import { startRecording } from './recording.ts'
import type { FaultKind, ScheduledFault } from './schedule.ts'
import { createSealedPages } from './sealed-pages.ts'
import type { Part, PartKind, Surroundings } from './simulation.ts'
import { createSlack, LOSSES } from './slack.ts'

type MarketVenue = 'polymarket' | 'kalshi'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const SYMBOLS: readonly AssetSymbol[] = ['BTC', 'ETH']
const HOSTS: Record<MarketVenue, readonly string[]> = {
  polymarket: ['gamma', 'clob', 'data', 'ws', 'rtds'],
  kalshi: ['kalshi'],
}
/** How many slots in a row may leave the books of the shortest market unchanged. */
const QUIET_SLOTS = 3
/** The share of frames that arrive in one read with the frame before, because the venue sends many at once. */
const JOINED_SHARE = 0.3
/** How long it takes to ask the venue whether a silent book has really not changed. */
const ASKED_WITHIN_MS = 30_000

/** Polymarket numbers nothing: its books are compared once a minute, and it answers within some seconds. */
const PROVEN_WITHIN_MS = { polymarket: POLYMARKET_TIMES.verifyEveryMs + 15_000, kalshi: undefined }

/** Figures of open interest are not numbered either: a lost one is replaced by the next one of its contract. */
const INTEREST_PROVEN_WITHIN_MS = 5 * MINUTE_MS

/** Channels of the sockets, and REST services; '' means all sockets. */
const CHANNELS: Record<MarketVenue, Record<'stream' | 'rest' | 'lists', readonly string[]>> = {
  polymarket: {
    stream: ['', '', 'price_change', 'book', 'last_trade_price'],
    rest: ['rest', 'gamma', 'clob', 'data'],
    // The order book service answers with a single book or market, not with a list.
    lists: ['rest', 'gamma', 'data'],
  },
  kalshi: {
    stream: ['', '', 'orderbook_delta', 'orderbook_snapshot', 'trade', 'ticker'],
    rest: ['rest'],
    lists: ['rest'],
  },
}

function faultsOf(venue: MarketVenue): FaultKind[] {
  const { stream, rest, lists } = CHANNELS[venue]
  const channel = (name: string) => (name === '' ? {} : { channel: name })
  const onStream = (random: Random) => channel(random.pick(stream))
  const onRequests = (random: Random) => ({ channel: random.pick(rest) })
  const onLists = (random: Random) => ({ channel: random.pick(lists) })
  const anywhere = (random: Random) => (random.chance(0.5) ? {} : onRequests(random))
  const some = (random: Random) => ({ ...onStream(random), count: random.int(1, 10) })
  const kinds = [
    venueFault('drop', 3, [200, 20 * MINUTE_MS], anywhere),
    venueFault('mute', 2, [SECOND_MS, 10 * MINUTE_MS], onStream),
    venueFault('hang', 2, [SECOND_MS, 5 * MINUTE_MS], anywhere),
    venueFault('reorder', 1, [SECOND_MS, 2 * MINUTE_MS], onStream),
    venueFault('duplicate', 1, [SECOND_MS, 2 * MINUTE_MS], onStream),
    // Some books are sent once an hour: the loss of one could have its effect at any time.
    venueFault('skip', 2, [0, 0], (random) => ({
      ...channel(random.pick(stream.filter((name) => name !== 'book'))),
      count: random.int(1, 10),
    })),
    venueFault('late', 1, [SECOND_MS, MINUTE_MS], (random) => ({
      ...onStream(random),
      delayMs: random.int(200, 20_000),
    })),
    venueFault('unknown-message', 1, [0, 0], some),
    venueFault('zero-fill', 1, [0, 0], (random) => ({ count: random.int(1, 5) })),
    venueFault('malformed', 1, [0, 0], some),
    venueFault('malformed', 1, [SECOND_MS, 2 * MINUTE_MS], onRequests),
    venueFault('wrong-time', 1, [0, 0], (random) => ({
      ...{ ...onStream(random), count: random.int(1, 6) },
      offsetMs: random.pick([-24 * 60, 1, 60, 24 * 60]) * MINUTE_MS,
    })),
    venueFault('unfit-value', 2, [0, 0], (random) => ({ ...onStream(random), count: random.int(1, 30) })),
    venueFault('unfit-value', 1, [SECOND_MS, 5 * MINUTE_MS], onRequests),
    venueFault('frozen-book', 2, [SECOND_MS, 10 * MINUTE_MS]),
    // The other venue sends no results.
    ...(venue === 'polymarket' ? [venueFault('lost-resolved', 1, [MINUTE_MS, 30 * MINUTE_MS])] : []),
    venueFault('late-resolution', 1, [MINUTE_MS, 30 * MINUTE_MS], (random) => ({
      delayMs: random.int(10_000, 15 * MINUTE_MS),
    })),
    venueFault('crossed-book', 1, [0, 0], (random) => ({ count: random.int(1, 3) })),
    venueFault('rate-limit', 1, [SECOND_MS, 5 * MINUTE_MS], (random) => ({
      ...onRequests(random),
      retryAfterS: random.int(0, 30),
    })),
    venueFault('http-error', 1, [SECOND_MS, 10 * MINUTE_MS], (random) => ({
      ...onRequests(random),
      status: random.pick([400, 403, 404, 500, 502, 503]),
    })),
    venueFault('maintenance', 1, [SECOND_MS, 10 * MINUTE_MS]),
    venueFault('skew', 1, [5 * SECOND_MS, 10 * MINUTE_MS], (random) => ({
      offsetMs: random.int(-1_500, 1_500),
    })),
    venueFault('delisted', 1, [MINUTE_MS, 20 * MINUTE_MS]),
    venueFault('stale', 2, [SECOND_MS, 10 * MINUTE_MS], (random) => ({
      ...onRequests(random),
      delayMs: random.int(500, random.pick([5_000, 120_000])),
    })),
    venueFault('partial', 1, [SECOND_MS, 10 * MINUTE_MS], onLists),
    venueFault('empty', 1, [SECOND_MS, 10 * MINUTE_MS], onLists),
    venueFault('other-symbol', 1, [SECOND_MS, 10 * MINUTE_MS], onRequests),
    venueFault('other-range', 1, [SECOND_MS, 5 * MINUTE_MS], (random) => ({
      ...onLists(random),
      offsetMs: random.pick([-1, 1]) * random.pick([1, 20, 60, 24 * 60]) * MINUTE_MS,
    })),
  ]
  if (venue === 'kalshi')
    kinds.push(
      venueFault('sequence-gap', 1, [0, 0], (random) => ({
        channel: random.pick(['orderbook_delta', 'trade']),
        count: random.int(1, 5),
      })),
      venueFault('wrong-shape', 1, [0, 0], (random) => ({ count: random.int(1, 3) })),
      venueFault('rejected-key', 1, [SECOND_MS, 5 * MINUTE_MS]),
    )
  return kinds
}

export function marketsKind(venue: MarketVenue): PartKind {
  return {
    name: venue,
    faults: [...faultsOf(venue), ...networkFaultsOf(HOSTS[venue]), ...DISK_FAULTS, ...RECORDER_FAULTS],
    start: (surroundings) => startMarkets(venue, surroundings),
  }
}

/**
 * How often the world changes its books, and how long before its start a market is listed. One venue has twice as many
 * markets and is slower, so that two simulated hours of it take no more than 10 s.
 */
const PACE = {
  kalshi: { slotsMs: [3_000, 4_000], tickMs: 500, aheadMs: 45 * MINUTE_MS },
  polymarket: { slotsMs: [8_000, 10_000], tickMs: 1_000, aheadMs: 20 * MINUTE_MS },
} as const

function drawWorld(venue: MarketVenue, random: Random) {
  const { slotsMs, tickMs, aheadMs } = PACE[venue]
  return {
    seed: random.int(1, 1_000_000),
    slotMs: random.pick(slotsMs),
    tickMs,
    strikes: 2,
    aheadMs,
    symbol: random.pick(SYMBOLS),
    /** Without an API key, everything is polled. */
    isKeyless: venue === 'kalshi' && random.chance(0.2),
    areTradesNumbered: random.chance(0.6),
    filledShare: random.pick([0, 0.05, 0.3]),
  }
}

/** A market that even the first lists leave out is unknown, and nothing shows that it exists. */
const UNLISTED_AFTER_MS = 10 * MINUTE_MS

/** Signatures are verified but never recorded, so a short key is enough. */
const KEYS = generateKeyPairSync('rsa', {
  modulusLength: 1_024,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

function silencesOf(venue: MarketVenue, isKeyless: boolean): { bookMs: number; longestMs: number } {
  const ofKalshi = isKeyless ? keylessDescription : kalshiDescription
  const { book, markets } = (venue === 'kalshi' ? ofKalshi : polymarketDescription).live
  const bookMs = book?.maxSilenceMs ?? 0
  return { bookMs, longestMs: Math.max(bookMs, markets?.maxSilenceMs ?? 0) }
}

async function startMarkets(venue: MarketVenue, surroundings: Surroundings): Promise<Part> {
  const { time, random, network, disk, note } = surroundings
  const { symbol, isKeyless, ...drawn } = drawWorld(venue, random.stream('world'))
  note(`${venue}: ${JSON.stringify({ symbol, isKeyless, ...drawn })}`)
  network.joinFrames(JOINED_SHARE)
  const outside = surroundings.startProcess(`${venue} world`)
  const world = await startPredictionWorld(surroundings, venue, HOSTS[venue], {
    ...drawn,
    tradesPerSecond: 0.05,
    splitShare: 0.02,
    isChanging: true,
    unlistedFromMs: time.nowMs + UNLISTED_AFTER_MS,
    clock: outside.clock,
    kalshiAccount: { keyId: 'simulated', publicKey: KEYS.publicKey },
  })
  const { sandbox } = world
  const { plan } = VENUES[venue]
  const withKey = sandboxPredictions({
    ...sandbox,
    kalshi: { ...sandbox.kalshi, privateKey: KEYS.privateKey },
  }).find(({ name }) => name === venue)
  const setting = isKeyless ? { hosts: withKey?.hosts ?? {} } : withKey
  const startedMs = time.nowMs
  const polling = watchPolling(time)
  const recording = await startRecording(surroundings, {
    name: venue,
    outside,
    createRecorder: ({ process, time, store, log, audit }) => {
      const { random } = process
      const recorded = VENUES[venue].create({
        ...{ clock: time, random, ...setting },
        dial: polling.through(network.dialFor(process)),
        fetch: time.through(world.fetchFor(process)),
      })
      const recorder = recordPredictions({
        ...{ plan, store, clock: time, random, log, audit, symbols: [symbol] },
        venue: recorded,
      })
      return keepTime(recorder, { time, random, log, venue: recorded })
    },
  })
  const { reader } = recording
  const silences = silencesOf(venue, isKeyless)
  const slack = createSlack(time, {
    provenWithinMs: PROVEN_WITHIN_MS[venue],
    unnoticedMs: silences.bookMs,
    isPolledAt: isKeyless ? () => true : polling.isPolledAt,
  })
  const interestSlack = createSlack(time, {
    ...{ provenWithinMs: INTEREST_PROVEN_WITHIN_MS, channels: ['ticker'], isPolledAt: () => true },
    losses: [...LOSSES, 'hang'],
  })
  const laws = createMarketLaws({
    ...{ reader, venue, plan, symbol, startedMs, truth: sandbox.truth, faults: sandbox.faults },
    // The silence of books or of lists, because a window that was not listed has no book.
    silenceMs: silences.longestMs + ASKED_WITHIN_MS,
    slackAt: slack.at,
    interestSlackAt: interestSlack.at,
    pauseMs: QUIET_SLOTS * drawn.slotMs,
  })
  const sealed = createSealedPages(
    reader,
    trackedMarketFeeds(plan, symbol).map(({ feed }) => feed),
    random.stream('sealed'),
  )
  const leaks = createLeakWatch(surroundings, () => ({ ...recording.counts(), ...network.counts() }))

  return {
    begin(fault: ScheduledFault) {
      slack.begin(fault)
      interestSlack.begin(fault)
      return recording.begin(fault) ?? beginDiskFault(disk, fault) ?? world.begin(fault)
    },
    look: async () => [...(await laws.look(time.nowMs)), ...(await sealed.look()), ...world.refusals()],
    judge: async () => [
      ...(await laws.judge(time.nowMs)),
      ...(await sealed.judge()),
      ...leaks.judge(),
      ...recording.judge(),
      ...world.refusals(),
    ],
    async stop() {
      await recording.end()
      await sandbox.close()
    },
  }
}
