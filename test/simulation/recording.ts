/**
 * A recorder in a simulated process of its own, which faults kill, end and start again. Whatever overlaps: there is never
 * more than one, and there is one again when the last fault that kept it down is over.
 */
import { mkdirSync } from 'node:fs'
import { type AuditOptions, sumAudits } from '../../src/ingest/audit/audit.ts'
import type { Recorder } from '../../src/ingest/shared/recorder.ts'
import { type Supervisor, supervise } from '../../src/ingest/supervise.ts'
import type { Logger } from '../../src/kit/log.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { openStores, type SqliteAddress } from '../../src/store/open-stores.ts'
import { beginStrike } from './common-faults.ts'
import type { SimulatedProcess } from './process.ts'
import type { ScheduledFault } from './schedule.ts'
import type { Surroundings } from './simulation.ts'

interface Running {
  readonly process: SimulatedProcess
  readonly supervisor: Supervisor
  readonly store: EnvironmentStore
  readonly gone: PromiseWithResolvers<void>
}

export interface SimulatedRecording {
  /** What a reader in another process sees. */
  readonly reader: EnvironmentStore
  /** Timers of the process that runs now. */
  readonly timers: number
  /** What the service's own checks of laws 2, 3 and 5 have found wrong. */
  judge(): string[]
  /** Faults of the process; undefined for all others. */
  begin(fault: ScheduledFault): (() => void) | undefined
  /** Ends it as a signal would. */
  end(): Promise<void>
}

export async function startRecording(
  surroundings: Surroundings,
  options: {
    readonly name: string
    /** For the reader. */
    readonly outside: SimulatedProcess
    /** It has ended, or has started again. */
    readonly onChange?: () => void
    readonly createRecorder: (parts: {
      process: SimulatedProcess
      store: EnvironmentStore
      log: Logger
      audit: AuditOptions
    }) => Recorder
  },
): Promise<SimulatedRecording> {
  const { folder, disk, note } = surroundings
  mkdirSync(folder, { recursive: true })
  const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 8, writes: 'inline', sync: 'off' }
  let running: Running | undefined
  let incarnation = 0
  let skewMs = 0
  /** Faults that keep it down. */
  let holds = 0
  /** Of the processes before. */
  let differences = 0
  let samples: string | undefined
  const audit: AuditOptions = {
    samples: {
      load: async () => samples,
      async save(text) {
        samples = text
      },
    },
  }
  const differencesOf = ({ supervisor }: Running) =>
    supervisor.status().reduce((sum, { detail }) => sum + sumAudits(detail.audits).differences, 0)

  async function start(): Promise<void> {
    if (holds > 0 || running !== undefined) return
    const process = surroundings.startProcess(`${options.name} recorder ${++incarnation}`)
    process.setSkew(skewMs)
    const log = surroundings.logOf(process)
    const { clock, random } = process
    const store = await openStores(address, clock).environment('test', { use: 'recorder' })
    if (holds > 0 || running !== undefined) return store.close()
    const behindDisk = disk.behind(store, process, (operation) => operation === 'write')
    const recorder = options.createRecorder({ process, store: behindDisk, log, audit })
    const supervisor = supervise({ recorders: [recorder], coverage: behindDisk.coverage, clock, random, log })
    running = { process, supervisor, store, gone: Promise.withResolvers() }
    options.onChange?.()
  }

  async function kill(own: Running): Promise<void> {
    const { process, store, gone } = own
    if (process.isDead) return
    differences += differencesOf(own)
    process.kill()
    options.onChange?.()
    surroundings.lookSoon()
    await store.close()
    running = undefined
    gone.resolve()
  }

  async function endCleanly(own: Running): Promise<void> {
    const { process, supervisor, store, gone } = own
    await supervisor.close()
    if (process.isDead) return
    differences += differencesOf(own)
    await store.close()
    running = undefined
    gone.resolve()
  }

  function keepDown(end: (running: Running) => Promise<void>): () => void {
    holds++
    const gone = running?.gone.promise ?? Promise.resolve()
    if (running !== undefined) void end(running)
    return () => {
      holds--
      void gone.then(start)
    }
  }

  await start()
  const reader = await openStores(address, options.outside.clock).environment('test')
  return {
    reader,
    get timers() {
      return running?.process.timers ?? 0
    },
    judge() {
      const found = differences + (running === undefined ? 0 : differencesOf(running))
      return found === 0
        ? []
        : [`2 the service itself found ${found} differences between what it says and what is`]
    },
    begin(fault) {
      const { kind, settings } = fault
      if (kind === 'strike')
        return beginStrike(surroundings, fault, () => {
          note('killed at a write')
          return keepDown(kill)
        })
      if (kind === 'kill') return keepDown(kill)
      if (kind === 'restart') return keepDown(endCleanly)
      if (kind !== 'our-skew') return undefined
      const offsetMs = Number(settings.offsetMs)
      skewMs += offsetMs
      running?.process.setSkew(skewMs)
      return () => {
        skewMs -= offsetMs
        running?.process.setSkew(skewMs)
      }
    },
    async end() {
      holds++
      if (running !== undefined) await endCleanly(running)
      await reader.close()
    },
  }
}
