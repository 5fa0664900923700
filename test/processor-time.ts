/** The processor time of processes so far, in milliseconds; what the system does not report counts as 0. */
import { existsSync, readFileSync } from 'node:fs'

/** A clock tick is a hundredth of a second. */
const TICK_MS = 10

/** Of this process and of the processes it started that have ended. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage()
  const [, , ofChildren = 0, systemOfChildren = 0] = ticksOf('self')
  return (user + system) / 1_000 + (ofChildren + systemOfChildren) * TICK_MS
}

/** Of another process and of the processes it started, whether they have ended or not. */
export function processorMsOf(pid: number): number {
  const file = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ') : []
  const own = ticksOf(pid).reduce((sum, ticks) => sum + ticks, 0) * TICK_MS
  return children
    .filter((child) => child !== '')
    .reduce((sum, child) => sum + processorMsOf(Number(child)), own)
}

/** User and system time of the process and of its ended children. */
function ticksOf(pid: number | 'self'): number[] {
  const file = `/proc/${pid}/stat`
  const fields = existsSync(file) ? readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') : undefined
  return fields?.slice(11, 15).map(Number) ?? []
}
