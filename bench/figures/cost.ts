/**
 * What the service costs while nobody calls it: resident memory of the whole process tree, share of one core and
 * growth of the data folder. Three installations: `npm start` with npm itself, without the sandbox, and recording all
 * six live sources from venues that are simulated in other processes.
 */
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure, Size } from '../frame.ts'
import { startBenchService, startSandboxVenues } from '../processes.ts'

const MEGABYTE = 1_000_000
const MINUTE_MS = 60_000
/**
 * The bounds are those of a service that has run for five minutes. Before, the first backfill is written, code is
 * compiled, and the rows of slow contracts wait in tails that are emptied in step.
 */
const SETTLE_MS: Record<Size, number> = { usual: 5 * MINUTE_MS, full: 8 * MINUTE_MS }
const WATCH_MS = 2 * MINUTE_MS
/** If nothing is recorded, nothing has to settle. */
const IDLE_SETTLE_MS = 20_000
const IDLE_WATCH_MS = 20_000
const LOOK_EVERY_MS = 2_000
/** Clock ticks per second in /proc, fixed on Linux. */
const TICKS = 100

export async function costFigures(size: Size): Promise<Figure[]> {
  return [...(await idleCost()), ...(await sandboxCost(size)), ...(await liveCost(size))]
}

async function idleCost(): Promise<Figure[]> {
  const service = await startBenchService({ environment: { TAPELINE_SANDBOX: 'off' } })
  const cost = await watch(service, IDLE_SETTLE_MS, IDLE_WATCH_MS).finally(() => service.stop())
  return [
    memoryFigure('sandbox off: resident MB', 150, cost),
    { name: 'sandbox off: share of one core', atMost: 0.02, value: cost.share, detail: cost.over },
  ]
}

async function sandboxCost(size: Size): Promise<Figure[]> {
  const service = await startBenchService({ byNpm: true })
  const cost = await watch(service, SETTLE_MS[size], WATCH_MS).finally(() => service.stop())
  return [
    memoryFigure('npm start: resident MB of all processes', 600, cost),
    { name: 'npm start: share of one core', atMost: 0.15, value: cost.share, detail: cost.over },
    { name: 'npm start: MB of data per minute', atMost: 3, value: cost.growth, detail: cost.over },
  ]
}

async function liveCost(size: Size): Promise<Figure[]> {
  const venues = await startSandboxVenues()
  const service = await startBenchService({
    environment: { TAPELINE_TEST: 'off', TAPELINE_LIVE: 'all', ...venues.environment },
    keyFor: 'live',
  })
  const cost = await watch(service, SETTLE_MS[size], WATCH_MS)
    .finally(() => service.stop())
    .finally(() => venues.stop())
  return [
    memoryFigure('six live sources: resident MB', 350, cost),
    { name: 'six live sources: share of one core', value: cost.share, detail: cost.over },
    { name: 'six live sources: MB of data per minute', value: cost.growth, detail: cost.over },
  ]
}

interface Cost {
  /** Megabytes at the end of the watched time, and the most that was seen in it. */
  resident: number
  peak: number
  share: number
  growth: number
  over: string
}

function memoryFigure(name: string, atMost: number, cost: Cost): Figure {
  return { name, atMost, value: cost.resident, detail: `${cost.over}, peak ${cost.peak.toFixed(0)}` }
}

async function watch(
  service: { pid: number; folder: string },
  settleMs: number,
  watchMs: number,
): Promise<Cost> {
  await sleep(settleMs)
  const [startedAt, cpuBefore, bytesBefore] = [
    performance.now(),
    cpuSeconds(service.pid),
    folderBytes(service.folder),
  ]
  const looks: number[] = []
  while (performance.now() - startedAt < watchMs) {
    await sleep(LOOK_EVERY_MS)
    looks.push(residentMegabytes(service.pid))
  }
  const seconds = (performance.now() - startedAt) / 1_000
  return {
    resident: looks.at(-1) ?? Number.NaN,
    peak: Math.max(...looks),
    share: (cpuSeconds(service.pid) - cpuBefore) / seconds,
    growth: (folderBytes(service.folder) - bytesBefore) / MEGABYTE / (seconds / 60),
    over: `from ${settleMs / 1_000} s to ${Math.round(settleMs / 1_000 + seconds)} s after the start`,
  }
}

/** The process and all its descendants. */
function treeOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(/\s+/),
  )
  return [pid, ...children.filter((child) => child !== '').flatMap((child) => treeOf(Number(child)))]
}

function cpuSeconds(pid: number): number {
  const secondsOf = (one: number) => {
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  }
  return treeOf(pid).reduce((sum, one) => sum + secondsOf(one), 0)
}

function residentMegabytes(pid: number): number {
  const megabytesOf = (one: number) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1]) * (1_024 / MEGABYTE)
  return treeOf(pid).reduce((sum, one) => sum + megabytesOf(one), 0)
}

/** The size of the files. A write-ahead log is reused and no longer grows once it has reached its full size. */
function folderBytes(folder: string): number {
  return globSync('**/*', { cwd: folder })
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
    .reduce((sum, file) => sum + (file?.isFile() === true ? file.size : 0), 0)
}
