/** A recording of the simulated prediction markets and the oracle over real sockets, with a clock that may run fast. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { recorderOf } from '../../src/app/open-venue.ts'
import { type PredictionsReady, sandboxPredictions } from '../../src/app/sandbox-venues.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { recordOracle } from '../../src/ingest/oracle/record-oracle.ts'
import { recordPredictions } from '../../src/ingest/prediction/record-predictions.ts'
import { type Supervisor, supervise } from '../../src/ingest/supervise.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { createLogger } from '../../src/kit/log.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { VENUES, type VenueName } from '../../src/venues/list.ts'
import { storesIn } from '../fakes/stores.ts'
import { startTestPredictions, type TestPredictions } from '../sandbox/start.ts'
import { type PacedClock, pacedClock } from './paced-clock.ts'

export type PredictionVenue = Extract<VenueName, 'polymarket' | 'kalshi' | 'chainlink'>
/** The number of contracts per event if a few prove as much as hundreds; the long sizes have all of them. */
export const FEW_STRIKES: { strikes?: number } = process.env.TAPELINE_SOAK === undefined ? { strikes: 6 } : {}
/** A thread and files add half of the cost again; in the short form only tests of kills and of the service use them. */
const IN_FILES = process.env.TAPELINE_SOAK !== undefined || process.env.TAPELINE_TEST_ENGINE !== undefined
export const HEARTBEAT_MS = 27_000
/**
 * A request hangs if it has no answer after this long on the clock of the test. Both ends are on one event loop, and
 * the clock moves only after a full turn of it, so an answer takes fewer steps however busy the machine is.
 */
const HANGS_AFTER_MS = 60_000

export interface PredictionsWorld<C extends Clock = Clock> {
  readonly clock: C
  readonly sandbox: TestPredictions
  close(): Promise<void>
}

export async function startPredictionsWorld<C extends Clock>(
  clock: C,
  options: { slotMs: number; v2FromMs?: number; strikes?: number },
): Promise<PredictionsWorld<C>> {
  const sandbox = await startTestPredictions({
    seed: 11,
    clock,
    ...FEW_STRIKES,
    ...options,
    tickMs: 250,
    budgetScale: 1_000,
    signatureToleranceMs: 60_000,
  })
  return { clock, sandbox, close: () => sandbox.close() }
}

export interface PredictionsRecording {
  readonly store: EnvironmentStore
  readonly supervisor: Supervisor
  readonly folder: string
  stop(): Promise<void>
  close(): Promise<void>
}

export type PredictionAddresses = PredictionsReady

export async function startPredictionsRecording(
  world: { clock: Clock; sandbox: PredictionAddresses },
  options: {
    venues: readonly PredictionVenue[]
    symbols: readonly AssetSymbol[]
    folder?: string
    /** Stores in files even in the short form, if a test examines them. */
    inFiles?: boolean
    oracleBackMs?: number
    /** Without a key the second venue is only polled, not streamed. */
    hasKey?: boolean
  },
): Promise<PredictionsRecording> {
  const { clock } = world
  const made =
    options.folder === undefined && (IN_FILES || options.inFiles === true)
      ? mkdtempSync(join(tmpdir(), 'tapeline-predictions-'))
      : undefined
  const folder = options.folder ?? made ?? ':memory:'
  const store = await storesIn(folder, clock).environment('test')
  const log = createLogger({ level: process.env.TAPELINE_LOG_LEVEL ?? 'silent' })
  const recorders = sandboxPredictions(world.sandbox)
    .filter(({ name }) => options.venues.some((wanted) => wanted === name))
    .map((setting) => {
      const venue = VENUES[setting.name].create({
        clock,
        ...setting,
        ...(options.hasKey === false ? { kalshi: {} } : {}),
        limits: { rest: { answerWithinMs: HANGS_AFTER_MS, answerClock: clock } },
      })
      const parts = { venue, store, clock, random: Math.random, log, symbols: options.symbols }
      if (setting.name === 'chainlink')
        return recordOracle({
          ...parts,
          heartbeatMs: HEARTBEAT_MS,
          backMs: options.oracleBackMs ?? 3_600_000,
        })
      if (setting.name === 'polymarket' || setting.name === 'kalshi')
        return recordPredictions({ ...parts, plan: VENUES[setting.name].plan })
      return recorderOf(setting.name, parts)
    })
  const supervisor = supervise({ recorders, coverage: store.coverage, clock, random: Math.random, log })
  return {
    store,
    supervisor,
    folder,
    stop: () => supervisor.close(),
    async close() {
      await supervisor.close()
      await store.close()
      if (made !== undefined) rmSync(made, { recursive: true, force: true })
    },
  }
}

export interface RecordedOnce {
  readonly world: PredictionsWorld<PacedClock>
  readonly recording: PredictionsRecording
}

/** One recording of BTC shared by all tests of a file: made before the first test, removed after the last. */
export function recordOnce(
  options: Parameters<typeof startPredictionsWorld>[1] &
    Omit<Parameters<typeof startPredictionsRecording>[1], 'symbols' | 'folder'> & {
      startMs: number
      stepMs: number
    },
  run: (made: RecordedOnce & { clock: PacedClock; sandbox: TestPredictions }) => Promise<void>,
): RecordedOnce {
  const { startMs, stepMs, slotMs, v2FromMs, strikes, ...recorded } = options
  let world: PredictionsWorld<PacedClock>
  let recording: PredictionsRecording
  before(async () => {
    const clock = pacedClock(startMs, stepMs)
    world = await startPredictionsWorld(clock, {
      slotMs,
      ...(v2FromMs === undefined ? {} : { v2FromMs }),
      ...(strikes === undefined ? {} : { strikes }),
    })
    recording = await startPredictionsRecording(world, { ...recorded, symbols: ['BTC'] })
    await run({ world, recording, clock, sandbox: world.sandbox })
    await clock.during(recording.stop())
  })
  after(async () => {
    await recording?.close()
    await world?.close()
  })
  return {
    get world() {
      return world
    },
    get recording() {
      return recording
    },
  }
}
