/**
 * One simulation: a world and a schedule of faults from one seed, the real parts of the service in between, and a judge
 * that looks at random instants and once everything has settled.
 *
 *   seed ─▶ parts (worlds) ─▶ schedule ─▶ run: faults begin and end, readers look ─▶ quiet ─▶ laws
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '../../src/kit/log.ts'
import { createDisk, type Disk } from './disk.ts'
import { dumpFolder } from './dump.ts'
import { guardAgainstReality } from './guard.ts'
import { simulatedLogger } from './log.ts'
import { createNetwork, type Network } from './network.ts'
import { SimulatedProcess } from './process.ts'
import { createRandom, type Random } from './random.ts'
import {
  describeFault,
  drawSchedule,
  type FaultKind,
  formatElapsed,
  type ScheduledFault,
} from './schedule.ts'
import { VirtualTime } from './virtual-time.ts'

/** What a part gets of the simulation. */
export interface Surroundings {
  readonly time: VirtualTime
  readonly random: Random
  readonly network: Network
  readonly disk: Disk
  /** Of the part's stores. */
  readonly folder: string
  startProcess(name: string): SimulatedProcess
  logOf(process: SimulatedProcess): Logger
  /** When the simulation ends, in its own time. */
  readonly endMs: number
  /** A line in the log of the simulation. */
  note(text: string): void
  /** Something has just happened after which a reader should look. */
  lookSoon(): void
}

/** A part of the service with its world. */
export interface Part {
  /** Begins the fault; the returned function ends it. */
  begin(fault: ScheduledFault): (() => void) | undefined
  /** What a reader would see now: broken laws as texts, each beginning with the number of the law. */
  look(): Promise<string[]>
  /** Called once everything has settled: broken laws over the whole time. */
  judge(): Promise<string[]>
  /** Stops the part as a signal would stop its process, then its world. */
  stop(): Promise<void>
}

export interface PartKind {
  readonly name: string
  readonly faults: readonly FaultKind[]
  start(surroundings: Surroundings): Promise<Part>
}

export interface SimulationOptions {
  readonly seed: number
  readonly hours: number
  readonly parts: readonly PartKind[]
  /** Used instead of the schedule that the seed draws. */
  readonly schedule?: readonly ScheduledFault[]
  /** Only faults of these kinds, joined by commas. */
  readonly fault?: string
  readonly onLine?: (line: string) => void
}

export interface Outcome {
  readonly seed: number
  readonly parts: readonly string[]
  readonly startMs: number
  readonly schedule: readonly ScheduledFault[]
  /** In the order in which they were found. */
  readonly broken: readonly string[]
  readonly log: readonly string[]
  /** Digests of every table and of the log: two runs of one seed must have the same. */
  readonly digest: { readonly tables: string; readonly log: string }
  readonly timers: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** No reader looks before the first data has arrived. */
const CALM_START_MS = 3 * MINUTE_MS
/** The quiet time after the last fault: longer than every documented repair time. */
const CALM_END_SHARE = 0.3
const LOOKS_PER_HOUR = 12
/** After something has happened, readers look within this time. */
const LOOK_SOON_MS = 20_000
const MAX_LOOKS_SOON = 12
const MAX_BROKEN = 20
/** How long stopping may take: the operator of the accounts finishes what it has begun. */
const STOP_WITHIN_MS = 3 * MINUTE_MS
const JUDGE_WITHIN_MS = 3 * MINUTE_MS

export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const { seed, hours, parts } = options
  const random = createRandom(seed)
  const startMs = drawStart(random.stream('start'))
  const time = new VirtualTime(startMs)
  const lengthMs = hours * HOUR_MS
  const schedule =
    options.schedule ??
    drawSchedule(random.stream('schedule'), parts, {
      startMs,
      fromMs: CALM_START_MS,
      toMs: Math.floor(lengthMs * (1 - CALM_END_SHARE)),
      count: drawCount(random.stream('count'), hours),
      only: options.fault,
    })
  const log: string[] = []
  const broken: string[] = []
  const note = (text: string) => {
    const line = `${formatElapsed(Math.round(time.elapsedMs))} ${text}`
    log.push(line)
    options.onLine?.(line)
  }
  const report = (texts: readonly string[]) => {
    for (const text of texts) {
      if (broken.length >= MAX_BROKEN || broken.includes(text)) continue
      broken.push(text)
      note(`BROKEN ${text}`)
    }
  }
  const folder = mkdtempSync(join(folderOfFiles(), 'tapeline-simulation-'))
  const giveBack = guardAgainstReality(time, (text) => report([`0 ${text}`]))
  const onRejection = (reason: unknown) => report([`0 a rejection that nobody handles: ${textOf(reason)}`])
  process.on('unhandledRejection', onRejection)
  try {
    const started = new Map<string, Part>()
    const starting = startAll()
    await settle(time, starting, time.nowMs + MINUTE_MS, 'starting')
    for (const fault of schedule) time.after(fault.atMs, () => begin(fault))
    const looks = random.stream('looks')
    const soon = random.stream('looks soon')
    let looksSoon = 0
    for (let index = 0; index < LOOKS_PER_HOUR * hours; index++)
      time.after(drawLook(looks, startMs, lengthMs), () => void look())
    await time.runUntil(startMs + lengthMs, () => broken.length > 0)
    if (broken.length === 0) report(await inTime(judge()))
    await settle(time, stop(), time.nowMs + STOP_WITHIN_MS, 'stopping')
    giveBack()
    return {
      seed,
      parts: parts.map(({ name }) => name),
      startMs,
      schedule,
      broken,
      log,
      digest: { tables: dumpFolder(folder), log: digestOf(log.join('\n')) },
      timers: time.ran,
    }

    async function startAll(): Promise<void> {
      for (const kind of parts) started.set(kind.name, await kind.start(surroundings(kind.name)))
    }
    async function judge(): Promise<string[]> {
      return (await Promise.all([...started.values()].map((part) => part.judge()))).flat()
    }
    async function stop(): Promise<void> {
      for (const part of started.values()) await part.stop()
    }
    async function look(): Promise<void> {
      for (const [name, part] of started)
        report(
          (await part.look()).map((text) => `${text} [${name}, seen at +${formatElapsed(time.elapsedMs)}]`),
        )
    }
    function begin(fault: ScheduledFault): void {
      note(`FAULT ${describeFault(fault)}`)
      lookSoon()
      const end = started.get(fault.part)?.begin(fault)
      if (end === undefined) return
      time.after(fault.durationMs, () => {
        note(`OVER ${fault.part} ${fault.kind}`)
        end()
        lookSoon()
      })
    }
    /** As often right after the event as a while after it. */
    function lookSoon(): void {
      if (soon.chance(0.5) || looksSoon++ >= MAX_LOOKS_SOON * Math.max(1, hours)) return
      time.after(Math.round(LOOK_SOON_MS ** soon()), () => void look())
    }
    function surroundings(name: string): Surroundings {
      const own = random.stream(name)
      let count = 0
      return {
        time,
        note,
        lookSoon,
        endMs: startMs + lengthMs,
        random: own,
        network: createNetwork(time, own.stream('network')),
        disk: createDisk(time, own.stream('disk')),
        folder: join(folder, name),
        startProcess: (title) => new SimulatedProcess(title, time, own.stream(`process ${count++}`)),
        logOf: (owner) =>
          simulatedLogger((line) => {
            if (!owner.isDead) note(`${owner.name} ${line}`)
          }),
      }
    }
    async function inTime(verdict: Promise<string[]>): Promise<string[]> {
      let texts: string[] = []
      const done = verdict.then((value) => {
        texts = value
      })
      await settle(time, done, time.nowMs + JUDGE_WITHIN_MS, 'judging')
      return texts
    }
  } finally {
    process.off('unhandledRejection', onRejection)
    giveBack()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In memory where the system has such a folder: power failures are not simulated, so no file has to outlive a seed. */
const folderOfFiles = () =>
  process.env.TMPDIR === undefined && existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Runs the simulation until the promise is settled. */
async function settle(
  time: VirtualTime,
  promise: Promise<void>,
  untilMs: number,
  what: string,
): Promise<void> {
  let isDone = false
  let failure: unknown
  promise.then(
    () => {
      isDone = true
    },
    (error) => {
      isDone = true
      failure = error
    },
  )
  await time.runUntil(untilMs, () => isDone)
  if (failure !== undefined) throw failure
  if (!isDone) throw new Error(`${what} did not end in time`)
}

/** Some instant of 2026: every phase of minute, hour, day and funding is equally likely. */
function drawStart(random: Random): number {
  return Date.UTC(2026, 1, 1) + random.int(0, 300 * 24 * 60 * 60) * 1_000 + random.int(0, 999)
}

const drawCount = (random: Random, hours: number) => random.int(1, Math.ceil(6 * hours))

/** Half of the looks fall shortly after a minute has ended. */
function drawLook(random: Random, startMs: number, lengthMs: number): number {
  const atMs = random.int(CALM_START_MS, lengthMs)
  if (random.chance(0.5)) return atMs
  const minuteMs = Math.ceil((startMs + atMs) / MINUTE_MS) * MINUTE_MS
  return minuteMs - startMs + random.int(0, 5_000)
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

const textOf = (reason: unknown) =>
  reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)
