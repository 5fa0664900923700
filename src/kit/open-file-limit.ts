import { existsSync, readFileSync } from 'node:fs'

/** How many files a process may open, by default this one; undefined where the system does not say. */
export function openFileLimit(pid: number | 'self' = 'self'): number | undefined {
  const file = `/proc/${pid}/limits`
  if (!existsSync(file)) return undefined
  const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync(file, 'utf8')) ?? []
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}
