/**
 * The whole chain half of a simulation:
 *
 *   chain ─▶ nodes ─▶ network ─▶ pool, relay, indexer ─▶ disk ─▶ index and event log ◀─ readers (the judge)
 *
 *   up ──kill / stop──▶ down ──every reason is over──▶ up: the next incarnation, on the same files
 *
 * `startChainSystem` is the entrance for everything that runs on top of the event log: an extension is started with
 * every incarnation of the process, and ends with it.
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
import { type ChainWorld, type ChainWorldSettings, drawChainWorld, startChainWorld } from './world.ts'

/** A running process with its chain half. */
export interface ChainIncarnation extends ChainService {
  readonly process: SimulatedProcess
  /** From 1 on. */
  readonly number: number
  readonly address: SqliteAddress
}

/** Ends as on a signal. When the process is killed it is not called: its ports are dead. */
interface ChainExtension {
  stop(): Promise<void>
}

export interface ChainSystemOptions {
  readonly settings?: Partial<ChainWorldSettings>
  /** Started with every incarnation, after its chain half. */
  readonly extend?: (incarnation: ChainIncarnation) => Promise<ChainExtension>
  /** The process was killed or has stopped: files that an extension opened itself can be closed. */
  readonly onDown?: () => Promise<void>
  /** The highest number of an event that readers are known to have, read at every start. */
  readonly knownSeq?: () => Promise<number>
  readonly onGap?: (gap: ChainGap) => void
  /** Something of a process was left when it had stopped. */
  readonly onLeak?: (text: string) => void
}

const START_AGAIN_MS = 5_000

export interface ChainSystem {
  readonly world: ChainWorld
  readonly address: SqliteAddress
  /** The judge's own, without faults. */
  readonly reader: ChainStores
  /** Undefined while the process is down or starting. */
  readonly up: ChainIncarnation | undefined
  readonly process: SimulatedProcess | undefined
  /** The returned function ends the reason why it is down; with the last one the next incarnation starts. */
  kill(): () => void
  stopCleanly(): () => void
  /** Stops the process for good, then the world. */
  close(): Promise<void>
}

export async function startChainSystem(
  surroundings: Surroundings,
  options: ChainSystemOptions = {},
): Promise<ChainSystem> {
  const { folder, random, note } = surroundings
  const settings = { ...drawChainWorld(random.stream('chain world')), ...options.settings }
  note(`chain: ${JSON.stringify(settings)}`)
  mkdirSync(folder, { recursive: true })
  const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 8, writes: 'inline', sync: 'off' }
  const world = await startChainWorld(surroundings, settings)
  const outside = surroundings.startProcess('judge')
  await nameLog(address, settings.seed, outside)
  const reader = openStores(address, outside.clock).chain('test')

  interface Running {
    readonly process: SimulatedProcess
    closeFiles(): Promise<void>
    up: ChainIncarnation | undefined
    extension: ChainExtension | undefined
    /** Set while it stops cleanly. */
    isStopping: boolean
    isGone: boolean
  }
  let running: Running | undefined
  let count = 0
  const reasons = new Set<object>()

  function startAgain(): void {
    if (running !== undefined || reasons.size > 0) return
    startOne().catch((error: unknown) => {
      // As a service that could not start: it ends, and whoever looks after it starts it again.
      note(`the service could not start: ${error instanceof Error ? error.message : String(error)}`)
      const end = kill()
      surroundings.time.after(START_AGAIN_MS, end)
    })
  }

  async function startOne(): Promise<void> {
    const number = ++count
    const process = surroundings.startProcess(`service ${number}`)
    const own: Running = {
      process,
      closeFiles: async () => {},
      up: undefined,
      extension: undefined,
      isStopping: false,
      isGone: false,
    }
    running = own
    const knownSeq = (await options.knownSeq?.()) ?? 0
    if (process.isDead) return
    const onGap = options.onGap
    const { ready, closeFiles } = startChainService({
      ...{ surroundings, process, address, nodes: world.nodes, knownSeq },
      ...(onGap === undefined ? {} : { onGap }),
    })
    own.closeFiles = closeFiles
    const service = await ready
    const up: ChainIncarnation = { ...service, process, number, address }
    own.extension = await options.extend?.(up)
    own.up = up
    if (own.isStopping) await stopOne(own)
  }

  async function stopOne(own: Running): Promise<void> {
    const { up, extension } = own
    own.up = undefined
    await extension?.stop()
    await up?.stop()
    const { timers } = own.process
    if (timers > 0 && !own.process.isDead) options.onLeak?.(`${timers} timers are left after a clean stop`)
    await isDown(own)
  }

  async function isDown(own: Running): Promise<void> {
    if (own.isGone) return
    own.isGone = true
    own.process.kill()
    await own.closeFiles()
    await options.onDown?.()
    if (running === own) running = undefined
    startAgain()
  }

  const endOf = (reason: object) => () => {
    reasons.delete(reason)
    startAgain()
  }

  function kill(): () => void {
    const reason = {}
    reasons.add(reason)
    const own = running
    if (own !== undefined) {
      own.up = undefined
      own.process.kill()
      void isDown(own)
    }
    return endOf(reason)
  }

  await startOne()
  return {
    world,
    address,
    reader,
    get up() {
      return running?.up
    },
    get process() {
      return running?.process
    },
    kill,
    stopCleanly() {
      const reason = {}
      reasons.add(reason)
      const own = running
      if (own !== undefined && !own.isStopping) {
        own.isStopping = true
        // One that is still starting stops when it is up.
        if (own.up !== undefined) void stopOne(own)
      }
      return endOf(reason)
    },
    async close() {
      reasons.add({})
      const own = running
      if (own?.up !== undefined && !own.isStopping) {
        own.isStopping = true
        await stopOne(own)
      } else if (own !== undefined) await isDown(own)
      await reader.close()
      await world.close()
    },
  }
}

/** The engine gives the log a random name; here it follows from the seed, so that event ids are the same in every run. */
async function nameLog(address: SqliteAddress, seed: number, owner: SimulatedProcess): Promise<void> {
  await openStores(address, owner.clock).chain('test').close()
  const database = new DatabaseSync(join(address.folder, 'test-chain.db'))
  const name = createHash('sha256').update(`log ${seed}`).digest('hex').slice(0, 8)
  database.prepare('UPDATE event_log SET name = ?').run(name)
  database.close()
}
