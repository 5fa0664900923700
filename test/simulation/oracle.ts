/**
 * The simulated chain with its nodes, recorded by the real recorder of an on-chain price:
 *
 *   rounds ─▶ three nodes ─▶ network ─▶ quorum, history ─▶ candles ─▶ disk ─▶ store ◀─ readers (the judge)
 *
 * The chain keeps every round, so after the faults every candle is there; only those in which the chain itself stood
 * still are gaps.
 */
import { feedName } from '../../src/core/feed.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { ORACLE_INTERVALS } from '../../src/ingest/oracle/close-oracle-candles.ts'
import { recordOracle } from '../../src/ingest/oracle/record-oracle.ts'
import { candleFeed } from '../../src/ingest/shared/feeds.ts'
import { keepTime } from '../../src/ingest/shared/keep-time.ts'
import { uncovered } from '../../src/ingest/shared/uncovered.ts'
import { chainlinkDescription } from '../../src/venues/chainlink/describe.ts'
import { VENUES } from '../../src/venues/list.ts'
import { compareOracle, trueOracleCandles } from '../predictions/compare-oracle.ts'
import { HEARTBEAT_MS } from '../predictions/recording.ts'
import { beginDiskFault, DISK_FAULTS, RECORDER_FAULTS } from './common-faults.ts'
import { createLeakWatch } from './leaks.ts'
import { networkFaultsOf, PROVIDERS, startPredictionWorld, venueFault } from './prediction-world.ts'
import type { Random } from './random.ts'
import { startRecording } from './recording.ts'
import type { FaultKind } from './schedule.ts'
import { createSealedPages } from './sealed-pages.ts'
import type { Part, PartKind, Surroundings } from './simulation.ts'

const NAME = 'chainlink'
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOSTS = Array.from({ length: PROVIDERS }, (_, index) => `node ${index}`)
const SYMBOLS: readonly AssetSymbol[] = ['BTC', 'ETH']
/** A round is polled, agreed on and written within this time. */
const SETTLES_WITHIN_MS = 2 * MINUTE_MS
/** Above finality a false claim may last so long. */
const SILENCE_MS = (chainlinkDescription.live.oracle_rounds?.maxSilenceMs ?? 0) + 30_000

/** Two nodes that lie alike are a majority: it is always the same one that lies. */
const LIAR = 1

const ofSomeNode = (more?: FaultKind['settings']): FaultKind['settings'] => {
  return (random) => ({
    ...more?.(random),
    ...(random.chance(0.6) ? { provider: random.int(0, PROVIDERS - 1) } : {}),
  })
}

const VENUE_FAULTS: readonly FaultKind[] = [
  venueFault('drop', 3, [SECOND_MS, 15 * MINUTE_MS], ofSomeNode()),
  venueFault('hang', 2, [SECOND_MS, 10 * MINUTE_MS], ofSomeNode()),
  venueFault('malformed', 2, [SECOND_MS, 5 * MINUTE_MS], ofSomeNode()),
  venueFault(
    'rate-limit',
    2,
    [SECOND_MS, 5 * MINUTE_MS],
    ofSomeNode((random) => ({ retryAfterS: random.chance(0.3) ? 0 : random.int(1, 30) })),
  ),
  venueFault(
    'http-error',
    2,
    [SECOND_MS, 10 * MINUTE_MS],
    ofSomeNode((random) => ({ status: random.pick([400, 403, 404, 500, 502, 503]) })),
  ),
  venueFault('skew', 1, [5 * SECOND_MS, 10 * MINUTE_MS], (random) => ({
    offsetMs: random.int(-1_500, 1_500),
  })),
  venueFault('maintenance', 1, [SECOND_MS, 15 * MINUTE_MS], ofSomeNode()),
  venueFault(
    'stale',
    2,
    [SECOND_MS, 15 * MINUTE_MS],
    ofSomeNode((random) => ({ delayMs: random.int(1_000, 300_000) })),
  ),
  venueFault('partial', 1, [SECOND_MS, 10 * MINUTE_MS], ofSomeNode()),
  venueFault(
    'other-range',
    2,
    [SECOND_MS, 10 * MINUTE_MS],
    ofSomeNode((random) => ({ offsetMs: random.pick([-1, 1]) * random.int(1, 600) * MINUTE_MS })),
  ),
  venueFault('other-symbol', 2, [SECOND_MS, 10 * MINUTE_MS], ofSomeNode()),
  venueFault('lying-provider', 3, [SECOND_MS, 15 * MINUTE_MS], () => ({ provider: LIAR })),
  venueFault('chain-halt', 3, [SECOND_MS, 15 * MINUTE_MS], ofSomeNode()),
]

export const oracleKind: PartKind = {
  name: NAME,
  faults: [...VENUE_FAULTS, ...networkFaultsOf(HOSTS), ...DISK_FAULTS, ...RECORDER_FAULTS],
  start: startOracle,
}

function drawWorld(random: Random) {
  return {
    seed: random.int(1, 1_000_000),
    symbols: random.chance(0.8) ? [random.pick(SYMBOLS)] : [...SYMBOLS],
    /** Mostly no phase ends; where one does, it does so within the hour. */
    phaseRounds: random.chance(0.3) ? random.int(60, 200) : 80_000,
    backMs: random.pick([10 * MINUTE_MS, 60 * MINUTE_MS]),
  }
}

async function startOracle(surroundings: Surroundings): Promise<Part> {
  const { time, random, network, disk, note } = surroundings
  const { symbols, backMs, ...drawn } = drawWorld(random.stream('world'))
  note(`${NAME}: ${JSON.stringify({ symbols, backMs, ...drawn })}`)
  const outside = surroundings.startProcess(`${NAME} world`)
  const world = await startPredictionWorld(surroundings, 'ethereum', HOSTS, {
    ...drawn,
    clock: outside.clock,
    slotMs: 60_000,
    strikes: 2,
    tickMs: 60_000,
  })
  const { sandbox } = world
  const startedMs = time.nowMs
  const recording = await startRecording(surroundings, {
    name: NAME,
    outside,
    createRecorder: ({ process, time, store, log, audit }) => {
      const { random } = process
      const recorded = VENUES[NAME].create({
        ...{ clock: time, random },
        dial: network.dialFor(process),
        fetch: time.through(world.fetchFor(process)),
        chainlink: { providers: sandbox.ethereum.urls, proxies: sandbox.ethereum.proxies },
      })
      const recorder = recordOracle({
        ...{ store, log, audit, symbols, backMs, random, clock: time },
        venue: recorded,
        heartbeatMs: HEARTBEAT_MS,
      })
      return keepTime(recorder, { time, random, log, venue: recorded })
    },
  })
  const { reader } = recording
  const feeds = symbols.flatMap((symbol) =>
    ORACLE_INTERVALS.map((interval) => ({ symbol, interval, feed: candleFeed('oracle', symbol, interval) })),
  )
  const sealed = createSealedPages(
    reader,
    feeds.map(({ feed }) => feed),
    random.stream('sealed'),
  )
  const leaks = createLeakWatch(surroundings, () => ({ ...recording.counts(), ...network.counts() }))

  /** A chain that stood still has no rounds of that time. */
  function isLost(updatedMs: number): boolean {
    return sandbox.faults
      .history('chain-halt', 'ethereum')
      .some(
        ({ provider, startedAtMs, endsAtMs }) =>
          provider === undefined && updatedMs > startedAtMs && updatedMs < (endsAtMs ?? Infinity),
      )
  }
  const about = { store: reader, truth: sandbox.truth, isLost }

  async function look(): Promise<string[]> {
    const nowMs = time.nowMs
    const wrong: string[] = []
    for (const { feed, ...each } of feeds) {
      const [finality] = await reader.series.finality([feed])
      const settledMs = Math.max(finality?.before ?? 0, nowMs - SILENCE_MS)
      const range = { fromMs: Math.max(startedMs, nowMs - 45 * MINUTE_MS), toMs: nowMs }
      wrong.push(...(await compareOracle({ ...about, ...each, range, settledMs, mayBeOpen: true })))
    }
    return wrong.map((text) => `2 ${text}`)
  }

  async function judge(): Promise<string[]> {
    const toMs = time.nowMs - SETTLES_WITHIN_MS
    const range = { fromMs: startedMs - backMs, toMs }
    const wrong: string[] = []
    for (const { feed, symbol, interval } of feeds) {
      const each = { ...about, symbol, interval, range }
      wrong.push(...(await compareOracle({ ...each, settledMs: toMs })).map((text) => `1 ${text}`))
      const { hollow, fromMs, toMs: endMs } = trueOracleCandles(each)
      const { gaps } = await reader.coverage.read([feed], fromMs, endMs)
      for (const gap of gaps)
        for (const left of uncovered({ fromMs: gap.from, toMs: gap.to }, hollow))
          wrong.push(
            `4 ${feedName(feed)}: ${gap.reason} from ${new Date(left.fromMs).toISOString()} to ${new Date(left.toMs).toISOString()} was not repaired`,
          )
    }
    return wrong
  }

  return {
    begin: (fault) => recording.begin(fault) ?? beginDiskFault(disk, fault) ?? world.begin(fault),
    look: async () => [...(await look()), ...(await sealed.look()), ...world.refusals()],
    judge: async () => [
      ...(await judge()),
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
