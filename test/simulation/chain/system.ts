/**
 * The whole chain half of a simulation:
 *
 *   chain ─▶ nodes ─▶ network ─▶ pool, relay, indexer ─▶ disk ─▶ index and event log ◀─ readers (the judge)
 *
 *   up ──kill / stop──▶ down ──every reason is over──▶ up: the next incarnation, on the same files
 *
 * Some worlds have two such processes, and the real `leadPart` lets one of them write the index.
 *
 * `startChainSystem` is the entry point for everything that runs on top of the event log: an extension is started with
 * every incarnation of a process, and ends with it.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ChainGap, ChainStores } from '../../../src/store/chain.ts'
import { openStores, type SqliteAddress } from '../../../src/store/open-stores.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Surroundings } from '../simulation.ts'
import { type ChainService, startChainService } from './service.ts'
import { shareIndex } from './shared-index.ts'
import { type ChainWorld, type ChainWorldSettings, drawChainWorld, startChainWorld } from './world.ts'

/** A running process with its chain half. */
export interface ChainIncarnation extends ChainService {
  readonly process: SimulatedProcess
  readonly address: SqliteAddress
}

/** Stops as on a signal. Not called when the process is killed, because its ports are dead. */
interface ChainExtension {
  stop(): Promise<void>
}

export interface ChainSystemOptions {
  readonly settings?: Partial<ChainWorldSettings>
  /** Started with every incarnation, after its chain half. */
  readonly extend?: (incarnation: ChainIncarnation) => Promise<ChainExtension>
  /** Called when the process was killed or has stopped: files that the extension opened itself can be closed. */
  readonly onDown?: (process: SimulatedProcess) => Promise<void>
  /** The highest number of an event that readers are known to have, read at every start. */
  readonly knownSeq?: () => Promise<number>
  readonly onGap?: (gap: ChainGap) => void
  /** Called if something of a process was left after it had stopped. */
  readonly onLeak?: (text: string) => void
  /** Called if a process has written a part that another one leads. */
  readonly onUnfenced?: (text: string) => void
}

const START_AGAIN_MS = 5_000
/** The share of worlds in which two processes share the index. */
const SHARED_WORLDS = 0.3

export interface ChainSystem {
  readonly world: ChainWorld
  readonly address: SqliteAddress
  /** The stores that the judge reads, without faults. */
  readonly reader: ChainStores
  /**
   * Faults of the process that indexes, or of the given one. The returned function removes this reason for being down;
   * when the last reason is removed, the next incarnation starts.
   */
  kill(process?: SimulatedProcess): () => void
  stopCleanly(): () => void
  /** Pauses the process until the returned function is called. */
  pause(): () => void
  /** Sets its clock wrong until the returned function is called. */
  skew(offsetMs: number): () => void
  /** Whether a clock was ever wrong: what it dated may be in the future. */
  wasSkewed(): boolean
  killIndexThread(): void
  /** Stops the processes permanently, then the world. */
  close(): Promise<void>
}

/** A place in which one process runs after another. */
interface Member {
  readonly name: string
  count: number
  skewMs: number
  /** The reasons why it is down. */
  readonly reasons: Set<object>
  running: Running | undefined
}

interface Running {
  readonly process: SimulatedProcess
  service: ReturnType<typeof startChainService> | undefined
  up: ChainIncarnation | undefined
  extension: ChainExtension | undefined
  /** Set while it is stopping cleanly. */
  isStopping: boolean
  isGone: boolean
}

const processesOf = ({ process, service }: Running) => service?.processes() ?? [process]

export async function startChainSystem(
  surroundings: Surroundings,
  options: ChainSystemOptions = {},
): Promise<ChainSystem> {
  const { folder, random, note, time } = surroundings
  const settings = { ...drawChainWorld(random.stream('chain world')), ...options.settings }
  const isShared = random.stream('processes').chance(SHARED_WORLDS)
  note(`chain: ${JSON.stringify(settings)}${isShared ? ', two processes' : ''}`)
  mkdirSync(folder, { recursive: true })
  const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 8, writes: 'inline', sync: 'off' }
  const world = await startChainWorld(surroundings, settings)
  const outside = surroundings.startProcess('judge')
  await nameLog(address, settings.seed, outside)
  const reader = openStores(address, outside.clock).chain('test')
  const shared = isShared
    ? shareIndex({
        leases: openStores(address, outside.clock).leases(),
        ...{ reader, time, random: random.stream('notices') },
        onBroken: (text) => options.onUnfenced?.(text),
      })
    : undefined
  const members: Member[] = (isShared ? [' a', ' b'] : ['']).map((suffix) => ({
    name: `service${suffix}`,
    ...{ count: 0, skewMs: 0, reasons: new Set<object>(), running: undefined },
  }))

  let wasSkewed = false

  function startAgain(member: Member): void {
    if (member.running !== undefined || member.reasons.size > 0) return
    startOne(member).catch((error: unknown) => {
      // Like a service that could not start: it exits, and its supervisor starts it again.
      note(`the service could not start: ${error instanceof Error ? error.message : String(error)}`)
      const end = kill(member)
      time.after(START_AGAIN_MS, end)
    })
  }

  async function startOne(member: Member): Promise<void> {
    const number = ++member.count
    const process = surroundings.startProcess(`${member.name} ${number}`)
    process.setSkew(member.skewMs)
    const own: Running = {
      ...{ process, service: undefined, up: undefined, extension: undefined },
      isStopping: false,
      isGone: false,
    }
    member.running = own
    const knownSeq = (await options.knownSeq?.()) ?? 0
    if (process.isDead) return
    const onGap = options.onGap
    own.service = startChainService({
      ...{ surroundings, process, address, nodes: world.nodes, knownSeq, shared },
      ...(onGap === undefined ? {} : { onGap }),
    })
    const up: ChainIncarnation = { ...(await own.service.ready), process, address }
    own.extension = await options.extend?.(up)
    own.up = up
    if (own.isStopping) await stopOne(member, own)
  }

  async function stopOne(member: Member, own: Running): Promise<void> {
    const { up, extension } = own
    own.up = undefined
    await extension?.stop()
    await up?.stop()
    const { timers } = own.process
    if (timers > 0 && !own.process.isDead) options.onLeak?.(`${timers} timers are left after a clean stop`)
    await isDown(member, own)
  }

  async function isDown(member: Member, own: Running): Promise<void> {
    if (own.isGone) return
    own.isGone = true
    own.process.kill()
    await own.service?.closeFiles()
    await options.onDown?.(own.process)
    if (member.running === own) member.running = undefined
    startAgain(member)
  }

  const endOf = (member: Member, reason: object) => () => {
    member.reasons.delete(reason)
    startAgain(member)
  }

  function kill(member: Member): () => void {
    const reason = {}
    member.reasons.add(reason)
    const own = member.running
    if (own !== undefined) {
      own.up = undefined
      own.process.kill()
      void isDown(member, own)
    }
    return endOf(member, reason)
  }

  const ownerOf = (process: SimulatedProcess) =>
    members.find(({ running }) => running !== undefined && processesOf(running).includes(process))
  /** The process that indexes, or the first that is running. */
  const leading = (): Member =>
    members.find(({ running }) => running?.up?.isLeading()) ??
    members.find(({ running }) => running !== undefined) ??
    (members[0] as Member)

  for (const member of members) await startOne(member)
  return {
    world,
    address,
    reader,
    kill: (process) => kill((process && ownerOf(process)) ?? leading()),
    stopCleanly() {
      const reason = {}
      const member = leading()
      member.reasons.add(reason)
      const own = member.running
      if (own !== undefined && !own.isStopping) {
        own.isStopping = true
        // A process that is still starting stops once it is up; while the process is paused, the signal waits.
        own.process.reach(() => {
          if (own.up !== undefined) void stopOne(member, own)
        })
      }
      return endOf(member, reason)
    },
    pause() {
      const { running } = leading()
      const stopped = running === undefined ? [] : processesOf(running)
      for (const process of stopped) process.stop()
      return () => {
        for (const process of stopped) process.goOn()
      }
    },
    skew(offsetMs) {
      const member = leading()
      const change = (byMs: number) => {
        member.skewMs += byMs
        member.running?.process.setSkew(member.skewMs)
      }
      change(offsetMs)
      wasSkewed = true
      return () => change(-offsetMs)
    },
    wasSkewed: () => wasSkewed,
    killIndexThread: () => leading().running?.service?.killIndexThread(),
    async close() {
      for (const member of members) {
        member.reasons.add({})
        const own = member.running
        if (own === undefined) continue
        // A broken law ends the simulation in the middle of a fault.
        for (const process of processesOf(own)) while (process.isStopped) process.goOn()
        if (own.up !== undefined && !own.isStopping) {
          own.isStopping = true
          await stopOne(member, own)
        } else await isDown(member, own)
      }
      await shared?.close()
      await reader.close()
      await world.close()
    },
  }
}

/** The engine gives the log a random name; here it is derived from the seed, so that event ids are reproducible. */
async function nameLog(address: SqliteAddress, seed: number, owner: SimulatedProcess): Promise<void> {
  await openStores(address, owner.clock).chain('test').close()
  const database = new DatabaseSync(join(address.folder, 'test-chain.db'))
  const name = createHash('sha256').update(`log ${seed}`).digest('hex').slice(0, 8)
  database.prepare('UPDATE event_log SET name = ?').run(name)
  database.close()
}
