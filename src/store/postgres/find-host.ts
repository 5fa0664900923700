/**
 * Which of several hosts is connected to. Who has found one before tries that first, then the others in their order. A host
 * that does not answer holds up the next one for a moment only, and is still taken when it answers first.
 *
 *   host 1 ──no answer for a moment──▶ host 2 as well ──…──▶ the first that accepts writes; the others are let go
 *
 * A server that was replaced in a failover may come back and accept writes too: it knows nothing of what was written since.
 * Its timeline is older. So who has found none yet asks all of them, and takes the newest; later an older one than any that
 * was seen is refused.
 */
const HEAD_START_MS = 1_000

export interface HostAttempt<R> {
  /** Undefined: it is of no use now. */
  readonly found: R | undefined
  /** It accepts writes; otherwise it is taken when no other does. */
  readonly isWritable: boolean
  readonly server: ServerAge
}

interface ServerAge {
  /** The same for a server and its standbys. */
  readonly system: string
  /** Greater after each failover. */
  readonly timeline: number
}

type Host = { readonly host: string; readonly port: number }

/** By all hosts of an address. */
const lastFound = new Map<string, Host>()
/** By system. */
const newestTimeline = new Map<string, number>()

export async function findHost<R>(
  hosts: readonly Host[],
  deps: {
    /** Undefined: the host does not answer, or not in order. */
    attempt: (host: Host) => Promise<HostAttempt<R> | undefined>
    letGo: (found: R) => void
    /** It was replaced by another one. */
    onReplaced: (host: Host) => void
  },
): Promise<R | undefined> {
  const key = JSON.stringify(hosts)
  const last = lastFound.get(key)
  const order = last === undefined ? hosts : [last, ...hosts.filter((host) => host !== last)]
  const headStartMs = last === undefined ? 0 : HEAD_START_MS
  const answers: { readonly index: number; readonly found: R; readonly attempt: HostAttempt<R> }[] = []
  let isOver = false
  let left = order.length
  let latest: NodeJS.Timeout | undefined
  return new Promise<R | undefined>((resolve) => {
    const end = () => {
      if (isOver) return
      isOver = true
      clearTimeout(latest)
      answers.sort((a, b) => a.index - b.index)
      for (const { index, attempt } of answers)
        if (isReplaced(attempt.server)) deps.onReplaced(order[index] as Host)
      const usable = answers.filter(({ attempt }) => !isReplaced(attempt.server))
      const best = usable.find(({ attempt }) => attempt.isWritable) ?? usable[0]
      for (const answer of answers) if (answer !== best) deps.letGo(answer.found)
      if (best?.attempt.isWritable) lastFound.set(key, order[best.index] as Host)
      resolve(best?.found)
    }
    const take = (index: number, attempt: HostAttempt<R>) => {
      const { system, timeline } = attempt.server
      newestTimeline.set(system, Math.max(timeline, newestTimeline.get(system) ?? 0))
      const { found } = attempt
      if (found === undefined) return
      if (isOver) return deps.letGo(found)
      answers.push({ index, found, attempt })
      if (!attempt.isWritable || isReplaced(attempt.server)) return
      if (last === undefined) latest ??= setTimeout(end, HEAD_START_MS)
      else end()
    }
    const tryFrom = async (index: number): Promise<void> => {
      const host = order[index]
      if (host === undefined || isOver) return
      let isNextTried = false
      const tryNext = () => {
        if (isNextTried) return
        isNextTried = true
        clearTimeout(timer)
        void tryFrom(index + 1)
      }
      const timer = setTimeout(tryNext, headStartMs)
      const attempt = await deps.attempt(host)
      left--
      if (attempt !== undefined) take(index, attempt)
      tryNext()
      if (left === 0) end()
    }
    void tryFrom(0)
  })
}

function isReplaced({ system, timeline }: ServerAge): boolean {
  return timeline < (newestTimeline.get(system) ?? 0)
}
