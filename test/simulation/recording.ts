/**
 * A recorder in simulated processes, which faults kill, end, pause and start again. Some worlds have two processes, and
 * the real `leadPart` lets one of them record:
 *
 *   member ──lease──▶ leads ──▶ recorder ──▶ fenced store
 *   member ──waits for the lease
 *
 * However faults overlap, a member never runs twice, and it runs again once the last fault that kept it down is over.
 */
import { mkdirSync } from 'node:fs'
import { type Leader, type LedPart, leadPart } from '../../src/app/lead.ts'
import { type AuditOptions, sumAudits } from '../../src/ingest/audit/audit.ts'
import type { Recorder } from '../../src/ingest/shared/recorder.ts'
import { type Supervisor, supervise } from '../../src/ingest/supervise.ts'
import type { Logger } from '../../src/kit/log.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { openStores, type SqliteAddress } from '../../src/store/open-stores.ts'
import { createVenueClock, type VenueClock } from '../../src/venues/venue-clock.ts'
import { beginStrike } from './common-faults.ts'
import { behindFence, leasesOf } from './leases.ts'
import type { SimulatedProcess } from './process.ts'
import type { ScheduledFault } from './schedule.ts'
import type { Surroundings } from './simulation.ts'

/** A place in which one process runs after another. */
interface Member {
  readonly name: string
  incarnations: number
  skewMs: number
  /** Faults that keep it down. */
  holds: number
  running: Running | undefined
}

interface Running {
  readonly process: SimulatedProcess
  readonly leader: Promise<Leader>
  readonly gone: PromiseWithResolvers<void>
  supervisor: Supervisor | undefined
  store: EnvironmentStore | undefined
  isEnding: boolean
}

export interface SimulatedRecording {
  /** The store as a reader in another process sees it. */
  readonly reader: EnvironmentStore
  /** Timers of the processes that run now. */
  /** For the law about leaks. */
  counts(): { timers: number; openCalls: number }
  /** Violations found by the service's own checks of laws 2, 3 and 5. */
  judge(): string[]
  /** Begins faults of the process; undefined for all others. */
  begin(fault: ScheduledFault): (() => void) | undefined
  /** Stops it as a signal would. */
  end(): Promise<void>
}

/** The share of worlds in which two processes share the store. */
const SHARED_WORLDS = 0.3
const PART = 'record/simulated'

export async function startRecording(
  surroundings: Surroundings,
  options: {
    readonly name: string
    /** For the reader. */
    readonly outside: SimulatedProcess
    /** Called when the recorder has ended or started again. */
    readonly onChange?: (isRunning: boolean) => void
    readonly createRecorder: (parts: {
      process: SimulatedProcess
      time: VenueClock
      store: EnvironmentStore
      log: Logger
      audit: AuditOptions
    }) => Recorder
  },
): Promise<SimulatedRecording> {
  const { folder, disk, note } = surroundings
  const { outside } = options
  mkdirSync(folder, { recursive: true })
  const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 8, writes: 'inline', sync: 'off' }
  const isShared = surroundings.random.stream('processes').chance(SHARED_WORLDS)
  const leases = isShared ? openStores(address, outside.clock).leases() : undefined
  const members: Member[] = (isShared ? [' a', ' b'] : ['']).map((suffix) => ({
    name: `${options.name} recorder${suffix}`,
    ...{ incarnations: 0, skewMs: 0, holds: 0, running: undefined },
  }))
  if (isShared) note(`${options.name}: two processes`)
  /** Summed over the earlier processes. */
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
    (supervisor?.status() ?? []).reduce((sum, { detail }) => sum + sumAudits(detail.audits).differences, 0)

  function start(member: Member): void {
    if (member.holds > 0 || member.running !== undefined) return
    const process = surroundings.startProcess(`${member.name} ${++member.incarnations}`)
    process.setSkew(member.skewMs)
    const log = surroundings.logOf(process)
    const { clock, random } = process
    const own: Running = {
      ...{ process, gone: Promise.withResolvers<void>(), supervisor: undefined, store: undefined },
      isEnding: false,
      leader: leadPart(
        PART,
        { leases: leases && leasesOf(process, leases, surroundings.time), holder: process.name, clock, log },
        async (fence): Promise<LedPart> => {
          const opening = openStores(address, clock).environment('test', { use: 'recorder' })
          void opening.then((store) => {
            if (process.isDead) void store.close()
            else own.store = store
          })
          const opened = await process.outside(opening)
          const isWrite = (operation: string) => operation === 'write'
          const fenced = fence === undefined ? opened : behindFence(opened, leases, fence, isWrite)
          const store = disk.behind(fenced, process, isWrite)
          const time = createVenueClock({ clock })
          const recorder = options.createRecorder({ process, time, store, log, audit })
          const supervisor = supervise({
            ...{ recorders: [recorder], coverage: store.coverage, clock, random, log },
          })
          own.supervisor = supervisor
          options.onChange?.(true)
          return {
            async close() {
              await supervisor.close()
              if (process.isDead) return
              differences += differencesOf(own)
              own.supervisor = undefined
              own.store = undefined
              await opened.close()
            },
          }
        },
      ),
    }
    member.running = own
  }

  async function kill(member: Member, own: Running): Promise<void> {
    const { process, gone } = own
    if (process.isDead) return
    differences += differencesOf(own)
    process.kill()
    options.onChange?.(false)
    surroundings.lookSoon()
    await own.store?.close()
    member.running = undefined
    gone.resolve()
  }

  async function endCleanly(member: Member, own: Running): Promise<void> {
    if (own.isEnding) return
    own.isEnding = true
    const leader = await own.leader
    await leader.close()
    if (own.process.isDead) return
    member.running = undefined
    own.gone.resolve()
  }

  function keepDown(member: Member, end: typeof kill): () => void {
    const { running } = member
    member.holds++
    const gone = running?.gone.promise ?? Promise.resolve()
    if (running !== undefined) void end(member, running)
    return () => {
      member.holds--
      void gone.then(() => start(member))
    }
  }

  /** The member that records, or the first one. */
  const leading = () =>
    members.find(({ running }) => running?.supervisor !== undefined) ?? (members[0] as Member)

  for (const member of members) start(member)
  await members[0]?.running?.leader
  const reader = await openStores(address, outside.clock).environment('test')
  return {
    reader,
    counts() {
      const processes = members.flatMap(({ running }) => running?.process ?? [])
      const sum = (name: 'timers' | 'openCalls') => processes.reduce((all, each) => all + each[name], 0)
      return { timers: sum('timers'), openCalls: sum('openCalls') }
    },
    judge() {
      const found = members.reduce(
        (sum, { running }) => sum + (running === undefined ? 0 : differencesOf(running)),
        differences,
      )
      return found === 0
        ? []
        : [`2 the service itself found ${found} differences between what it says and what is`]
    },
    begin(fault) {
      const { kind, settings } = fault
      const member = leading()
      switch (kind) {
        case 'strike':
          return beginStrike(surroundings, fault, (process) => {
            note('killed at a write')
            return keepDown(members.find(({ running }) => running?.process === process) ?? member, kill)
          })
        case 'kill':
          return keepDown(member, kill)
        case 'restart':
          return keepDown(member, endCleanly)
        case 'pause': {
          const process = member.running?.process
          process?.stop()
          return () => process?.goOn()
        }
        case 'our-skew': {
          const change = (offsetMs: number) => {
            member.skewMs += offsetMs
            member.running?.process.setSkew(member.skewMs)
          }
          const offsetMs = Number(settings.offsetMs)
          change(offsetMs)
          return () => change(-offsetMs)
        }
      }
      return undefined
    },
    async end() {
      for (const member of members) {
        member.holds++
        // A broken law ends the simulation in the middle of a fault.
        while (member.running?.process.isStopped) member.running.process.goOn()
        if (member.running !== undefined) await endCleanly(member, member.running)
      }
      await leases?.close()
      await reader.close()
    },
  }
}
