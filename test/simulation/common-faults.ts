/** Faults that every part has: of its network, its disk and its process. */
import type { FaultSpec, FaultSwitches, FaultVenue } from '../../sandbox/server/faults.ts'
import type { Disk, DiskFault, Strike } from './disk.ts'
import type { Network, NetworkFault } from './network.ts'
import type { SimulatedProcess } from './process.ts'
import type { Random } from './random.ts'
import type { FaultKind, ScheduledFault } from './schedule.ts'
import type { VirtualTime } from './virtual-time.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MAX_CLOCK_ERROR_MS = 3_500

export const NETWORK_FAULTS: readonly FaultKind[] = [
  { kind: 'cut', weight: 3, durationMs: [50, 10 * MINUTE_MS] },
  { kind: 'half-open', weight: 2, durationMs: [0, 0] },
  { kind: 'half-open-up', weight: 1, durationMs: [0, 0] },
  { kind: 'stall', weight: 2, durationMs: [SECOND_MS, 5 * MINUTE_MS] },
  {
    kind: 'slow',
    weight: 1,
    durationMs: [SECOND_MS, 5 * MINUTE_MS],
    settings: (random) => ({ slowMs: random.int(100, 2_000) }),
  },
  { kind: 'truncate', weight: 1, durationMs: [SECOND_MS, 5 * MINUTE_MS] },
  { kind: 'unanswered', weight: 1, durationMs: [SECOND_MS, 10 * MINUTE_MS] },
]

/** From `shortest` to `longest`, short ones as often as long ones. */
export const magnitude = (random: Random, shortest: number, longest: number) =>
  Math.round(shortest * (longest / shortest) ** random())

const share = (random: { int(from: number, to: number): number }) => ({ share: random.int(1, 10) / 10 })

export const DISK_FAULTS: readonly FaultKind[] = [
  { kind: 'disk-full', weight: 1, durationMs: [100, 5 * MINUTE_MS], settings: () => ({ share: 1 }) },
  { kind: 'disk-io', weight: 1, durationMs: [100, 2 * MINUTE_MS], settings: share },
  { kind: 'disk-fsync', weight: 1, durationMs: [100, 2 * MINUTE_MS], settings: share },
  {
    kind: 'disk-slow',
    weight: 1,
    durationMs: [SECOND_MS, 5 * MINUTE_MS],
    settings: (random) => ({ share: 1, slowMs: random.int(50, 3_000) }),
  },
]

export const PROCESS_FAULTS: readonly FaultKind[] = [
  {
    kind: 'strike',
    weight: 6,
    durationMs: [30 * SECOND_MS, 10 * MINUTE_MS],
    settings: (random) => ({
      when: random.pick(['before', 'after']),
      what: random.pick(['kill', 'kill', 'fail']),
      count: magnitude(random, 1, 60),
      downMs: magnitude(random, 100, 10 * MINUTE_MS),
    }),
  },
  { kind: 'kill', weight: 3, durationMs: [100, 10 * MINUTE_MS] },
  { kind: 'restart', weight: 1, durationMs: [100, 2 * MINUTE_MS] },
  {
    kind: 'our-skew',
    weight: 1,
    durationMs: [SECOND_MS, 10 * MINUTE_MS],
    settings: (random) => ({ offsetMs: stepOf(random.int(-1_000, 1_000) / 1_000) }),
  },
]

/** The process is paused for a while. */
export const PAUSE_FAULT: FaultKind = { kind: 'pause', weight: 2, durationMs: [SECOND_MS, 10 * MINUTE_MS] }

/** Like a database server that cannot be reached: the store can neither be written nor read. */
export const AWAY_FAULT: FaultKind = {
  kind: 'disk-away',
  weight: 1,
  durationMs: [100, 10 * MINUTE_MS],
  settings: share,
}

export const RECORDER_FAULTS: readonly FaultKind[] = [AWAY_FAULT, ...PROCESS_FAULTS, PAUSE_FAULT]

/** Half of all clock steps are corrections of up to a second, the others reach ten minutes, in either direction. */
function stepOf(drawn: number): number {
  const size = Math.abs(drawn)
  if (size <= 0.5) return Math.round(drawn * 2 * SECOND_MS)
  return Math.round(Math.sign(drawn) * SECOND_MS * ((10 * MINUTE_MS) / SECOND_MS) ** (2 * size - 1))
}

/**
 * How far a recorder's time may be from the true time. It follows its venue, through dates of whole seconds, and a wall
 * clock that is at most some seconds off.
 */
export function clockErrorOf({ kind, settings }: ScheduledFault): number {
  if (kind !== 'skew' && kind !== 'our-skew') return 0
  return Math.min(Math.abs(Number(settings.offsetMs)), MAX_CLOCK_ERROR_MS)
}

export function beginNetworkFault(
  network: Network,
  server: string,
  { kind, settings }: ScheduledFault,
): (() => void) | undefined {
  if (!NETWORK_FAULTS.some((each) => each.kind === kind)) return undefined
  return network.set({ kind: kind as NetworkFault['kind'], server, ...settings })
}

export function beginDiskFault(disk: Disk, { kind, settings }: ScheduledFault): (() => void) | undefined {
  if (!kind.startsWith('disk-')) return undefined
  return disk.set({ kind: kind.slice('disk-'.length) as DiskFault['kind'], share: 1, ...settings })
}

/** Waits for a certain write. `kill` ends the process that made it and returns a function that starts it again. */
export function beginStrike(
  { disk, time }: { disk: Disk; time: VirtualTime },
  { kind, settings }: ScheduledFault,
  kill: (process: SimulatedProcess) => () => void,
): (() => void) | undefined {
  if (kind !== 'strike') return undefined
  return disk.arm({
    when: settings.when as Strike['when'],
    what: settings.what as Strike['what'],
    store: settings.store as string | undefined,
    left: Number(settings.count),
    kill: (process) => void time.after(Number(settings.downMs), kill(process)),
  })
}

/** A fault switch of a simulated venue. A fault that counts frames ends without being switched off. */
export function beginVenueFault(
  faults: FaultSwitches,
  venue: FaultVenue,
  { kind, durationMs, settings }: ScheduledFault,
): () => void {
  const { id } = faults.set({
    ...(settings as object),
    ...(durationMs > 0 ? { durationMs } : {}),
    kind: kind as FaultSpec['kind'],
    venue,
  })
  return () => {
    if (durationMs > 0) faults.clear(id)
  }
}
