/** What the service costs while nobody asks: without recorders, so that it is the service itself. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from '../frame.ts'
import { startBenchService } from '../processes.ts'

const SETTLE_MS = 5_000
const WATCH_MS = 15_000
/** Clock ticks per second of /proc, fixed on Linux. */
const TICKS = 100

export async function idleFigures(): Promise<Figure[]> {
  const service = await startBenchService({ environment: { TAPELINE_SANDBOX: 'off' } })
  try {
    await sleep(SETTLE_MS)
    const before = cpuSeconds(service.pid)
    await sleep(WATCH_MS)
    const share = (cpuSeconds(service.pid) - before) / (WATCH_MS / 1_000)
    const megabytes = residentMegabytes(service.pid)
    return [
      {
        name: 'idle service: share of one core',
        atMost: 0.1,
        value: share,
        detail: `over ${WATCH_MS / 1_000} s`,
      },
      { name: 'idle service: resident MB', atMost: 250, value: megabytes, detail: 'after start and one key' },
    ]
  } finally {
    await service.stop()
  }
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

function residentMegabytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1_024
}
