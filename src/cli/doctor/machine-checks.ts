/** The resources of the machine: disk, memory, files, time. */
import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { openFileLimit } from '../../kit/open-file-limit.ts'
import { type Advice, type DoctorCheck, type Machine, NOTHING } from './check.ts'

/** Each connection is a file, and so are databases and sockets to venues and nodes. */
const MIN_OPEN_FILES = 8_192
const MIN_FREE_SHARE = 0.1
/** Backfills stop below TAPELINE_MIN_FREE; the operator should be warned earlier. */
const TIMES_FLOOR = 2
const USUAL_FLOOR_BYTES = 1e9
/** The rest is for the service itself and the cache of the file system. */
const MAX_CACHE_SHARE = 0.5
/** Other clocks are read from headers, which have whole seconds. */
const MAX_OFFSET_MS = 2_000

export const disk: DoctorCheck = {
  name: 'disk',
  run({ config: { data, minFreeBytes } }) {
    const folder = existsSync(data) ? data : dirname(resolve(data))
    return diskAdvice(folder, statfsSync(folder), minFreeBytes)
  },
}

interface DiskSpace {
  readonly bsize: number
  readonly bavail: number
  readonly files: number
  readonly ffree: number
}

export function diskAdvice(
  folder: string,
  { bsize, bavail, files, ffree }: DiskSpace,
  floorBytes: number | null,
): Advice[] {
  const free = bavail * bsize
  const advice: Advice[] = []
  if (free < TIMES_FLOOR * (floorBytes ?? USUAL_FLOOR_BYTES))
    advice.push({
      finding: `The disk of ${folder} has ${(free / 1e9).toFixed(1)} GB left.`,
      todo: 'Give it more room, or keep less (TAPELINE_RETENTION).',
    })
  if (files > 0 && ffree < files * MIN_FREE_SHARE)
    advice.push({
      finding: `The file system of ${folder} has ${ffree} of ${files} files left.`,
      todo: 'Remove small files, or use a file system without such a limit.',
    })
  return advice
}

export const openFiles: DoctorCheck = {
  name: 'open files',
  run({ service }) {
    const limit = openFileLimit(service?.pid)
    if (limit === undefined || limit >= MIN_OPEN_FILES) return NOTHING
    const finding = `${service === undefined ? 'A process' : 'The service'} may open ${limit} files: it accepts only a part of that as connections.`
    return [{ finding, todo: 'Set LimitNOFILE=65536 in its unit, or ulimit -n before it starts.' }]
  },
}

export const memory: DoctorCheck = {
  name: 'memory',
  run({ config, memoryBytes }) {
    const { cacheMb, pageCacheMb, test, live, nodes } = config
    const environments = Number(test) + Number(live.length + nodes.length > 0)
    const caches = (cacheMb * environments + pageCacheMb) * 1024 ** 2
    if (caches <= memoryBytes * MAX_CACHE_SHARE) return NOTHING
    return [
      {
        finding: `The caches may take ${(caches / 1e9).toFixed(1)} of ${(memoryBytes / 1e9).toFixed(1)} GB of memory.`,
        todo: 'Lower TAPELINE_CACHE_MB or TAPELINE_PAGE_CACHE_MB.',
      },
    ]
  },
}

/** A wrong clock causes wrong receive times, and candles that close early or late. */
export const clock: DoctorCheck = {
  name: 'clock',
  async run(machine: Machine) {
    const clocks = await machine.clocks()
    const wrong = clocks.filter(({ aheadMs }) => Math.abs(aheadMs) > MAX_OFFSET_MS)
    // One of many hosts may itself be wrong.
    if (wrong.length * 2 <= clocks.length) return NOTHING
    const [first] = wrong
    if (first === undefined) return NOTHING
    const seconds = Math.abs(first.aheadMs / 1000).toFixed(1)
    return [
      {
        finding: `The clock is ${seconds} s ${first.aheadMs > 0 ? 'ahead of' : 'behind'} that of ${first.host}.`,
        todo: 'Let systemd-timesyncd or chrony set it (timedatectl set-ntp true).',
      },
    ]
  },
}
