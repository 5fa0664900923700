/**
 * The simulated chain with its nodes, recorded by the real recorder of an on-chain price:
 *
 *   rounds ─▶ three nodes ─▶ network ─▶ quorum, history ─▶ candles ─▶ disk ─▶ store ◀─ readers (the judge)
 *
 * The chain keeps every round, so after the faults every candle must be there; only the time in which the chain itself
 * was halted is a gap. Rounds disappear with the blocks that the chain replaces, come back earlier or later, with another
 * price or not at all: final candles contain only those that stay.
 */
import type { ForkKind } from '../../sandbox/server/faults.ts'
import { feedName } from '../../src/core/feed.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { ORACLE_INTERVALS } from '../../src/ingest/oracle/close-oracle-candles.ts'
import { recordOracle } from '../../src/ingest/oracle/record-oracle.ts'
import { candleFeed } from '../../src/ingest/shared/feeds.ts'
import { keepTime } from '../../src/ingest/shared/keep-time.ts'
import { uncovered } from '../../src/ingest/shared/uncovered.ts'
import { CHAINLINK_TIMES, chainlinkDescription } from '../../src/venues/chainlink/describe.ts'
import { VENUES } from '../../src/venues/list.ts'
import { compareOracle, trueOracleCandles } from '../predictions/compare-oracle.ts'
import { HEARTBEAT_MS } from '../predictions/recording.ts'
import { beginDiskFault, DISK_FAULTS, RECORDER_FAULTS } from './common-faults.ts'
import { createLeakWatch } from './leaks.ts'
import { networkFaultsOf, PROVIDERS, startPredictionWorld, venueFault } from './prediction-world.ts'
import type { Random } from './random.ts'
import { startRecording } from './recording.ts'
import type { FaultKind, ScheduledFault } from './schedule.ts'
import { createSealedPages } from './sealed-pages.ts'
import type { Part, PartKind, Surroundings } from './simulation.ts'

const NAME = 'chainlink'
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOSTS = Array.from({ length: PROVIDERS }, (_, index) => `node ${index}`)
const SYMBOLS: readonly AssetSymbol[] = ['BTC', 'ETH']
/** Within this time a round is polled, confirmed by the quorum and written. */
const SETTLES_WITHIN_MS = 2 * MINUTE_MS
/** How long coverage above finality may be wrong. */
const SILENCE_MS = (chainlinkDescription.live.oracle_rounds?.maxSilenceMs ?? 0) + 30_000

/** Within this time after a chain has replaced blocks, their rounds are read again and written. */
const REPLACED_WITHIN_MS = CHAINLINK_TIMES.readAgainEveryMs + SILENCE_MS
/** How much earlier a round may be in a block that is replaced. */
const REPLACED_EARLIER_MS = 10_000

const FORKS: readonly ForkKind[] = ['early', 'late', 'twice', 'phase']

/** In one of four, the process is killed before the end, and the nodes are away when it starts again. */
function drawReorganisation(random: Random): ScheduledFault['settings'] {
  const fork = random.pick(FORKS)
  if (!random.chance(0.25)) return { fork, ...ofSomeNode()?.(random) }
  return {
    fork,
    killedBeforeMs: random.int(0, 30 * SECOND_MS),
    downMs: random.int(SECOND_MS, 3 * MINUTE_MS),
    awayMs: random.int(0, 10) * MINUTE_MS,
  }
}

/** It is always the same node that lies, because two nodes with the same lie would be a majority. */
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
  venueFault(
    'other-range',
    2,
    [SECOND_MS, 10 * MINUTE_MS],
    ofSomeNode((random) => ({ offsetMs: random.pick([-1, 1]) * random.int(1, 600) * MINUTE_MS })),
  ),
  // Nothing in an answer says which feed it belongs to, so this is a lie too.
  venueFault('other-symbol', 2, [SECOND_MS, 10 * MINUTE_MS], () => ({ provider: LIAR })),
  venueFault('lying-provider', 3, [SECOND_MS, 15 * MINUTE_MS], () => ({ provider: LIAR })),
  venueFault('reorg', 8, [SECOND_MS, 250 * SECOND_MS], drawReorganisation),
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
    /** Usually no phase ends; if one does, it ends within the hour. */
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
  /** Since when a process records; infinite while none does. */
  let runsSinceMs = startedMs
  const recording = await startRecording(surroundings, {
    name: NAME,
    outside,
    onChange: (isRunning) => {
      runsSinceMs = isRunning ? time.nowMs : Number.POSITIVE_INFINITY
    },
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

  /** A chain has no rounds from the time in which it was halted. */
  function isLost(updatedMs: number): boolean {
    return sandbox.faults
      .history('chain-halt', 'ethereum')
      .some(
        ({ provider, startedAtMs, endsAtMs }) =>
          provider === undefined && updatedMs > startedAtMs && updatedMs < (endsAtMs ?? Infinity),
      )
  }
  /**
   * Above finality, while a chain has blocks that it will replace, or until a running recorder must have noticed that it
   * has replaced them.
   */
  function isReplaced(fromMs: number, toMs: number): boolean {
    return sandbox.faults
      .history('reorg', 'ethereum')
      .some(
        ({ provider, startedAtMs, endsAtMs }) =>
          provider === undefined &&
          fromMs < (endsAtMs ?? Infinity) + REPLACED_EARLIER_MS &&
          toMs > startedAtMs - REPLACED_EARLIER_MS &&
          time.nowMs < Math.max(endsAtMs ?? Infinity, runsSinceMs) + REPLACED_WITHIN_MS,
      )
  }
  const about = { store: reader, truth: sandbox.truth, isLost }

  async function look(): Promise<string[]> {
    const nowMs = time.nowMs
    const wrong: string[] = []
    for (const { feed, ...each } of feeds) {
      const [finality] = await reader.series.finality([feed])
      const finalMs = finality?.before ?? 0
      const settledMs = Math.max(finalMs, nowMs - SILENCE_MS)
      const isUnknown = (from: number, to: number) => to > finalMs && isReplaced(from, to)
      const range = { fromMs: Math.max(startedMs, nowMs - 45 * MINUTE_MS), toMs: nowMs }
      wrong.push(
        ...(await compareOracle({ ...about, ...each, range, settledMs, mayBeOpen: true, isUnknown })),
      )
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

  function beginReorganisation(fault: ScheduledFault): (() => void) | undefined {
    const { killedBeforeMs, downMs, awayMs, ...settings } = fault.settings
    if (killedBeforeMs !== undefined)
      time.after(Math.max(0, fault.durationMs - Number(killedBeforeMs)), () => {
        const start = recording.begin({ ...fault, kind: 'kill' })
        time.after(Number(downMs), () => {
          if (Number(awayMs) > 0)
            sandbox.faults.set({ kind: 'drop', venue: 'ethereum', durationMs: Number(awayMs) })
          start?.()
        })
      })
    return world.begin({ ...fault, settings })
  }

  return {
    begin: (fault) =>
      fault.kind === 'reorg'
        ? beginReorganisation(fault)
        : (recording.begin(fault) ?? beginDiskFault(disk, fault) ?? world.begin(fault)),
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
