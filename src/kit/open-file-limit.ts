import { existsSync, readFileSync } from 'node:fs'

/** How many files a process (by default this one) may open; undefined if the system does not report it. */
export function openFileLimit(pid: number | 'self' = 'self'): number | undefined {
  const file = `/proc/${pid}/limits`
  if (!existsSync(file)) return undefined
  const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync(file, 'utf8')) ?? []
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}
