/**
 * Every request that reached the node, so that a test can prove which requests did not. Bounded: old requests are only
 * counted.
 */
export type MethodLog = ReturnType<typeof createMethodLog>

const MAX_RECENT = 10_000

export function createMethodLog() {
  let counts = new Map<string, number>()
  let recent: { method: string | null; bytes: number }[] = []
  return {
    /** `method` is null for a frame that was not a request. */
    record(entry: { method: string | null; bytes: number }) {
      const name = entry.method ?? '(malformed)'
      counts.set(name, (counts.get(name) ?? 0) + 1)
      recent.push(entry)
      if (recent.length > 2 * MAX_RECENT) recent = recent.slice(-MAX_RECENT)
    },
    counts: (): Record<string, number> => Object.fromEntries(counts),
    recent: (): { method: string | null; bytes: number }[] => recent.slice(-MAX_RECENT),
    clear() {
      counts = new Map()
      recent = []
    },
  }
}
