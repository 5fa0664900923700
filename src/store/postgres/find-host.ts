/**
 * Chooses which of several hosts to connect to. The host that was found last is tried first, then the others in order.
 * A host that does not answer delays the next attempt only briefly, and is still used if it answers first.
 *
 *   host 1 ──no answer for a moment──▶ host 2 as well ──…──▶ the first that accepts writes; the others are released
 *
 * A server that was replaced in a failover may come back and accept writes as well, without knowing what was written
 * since. Its timeline is older. Therefore the first search asks all hosts and takes the newest, and later searches
 * refuse a server that is older than any seen before.
 */
const HEAD_START_MS = 1_000

export interface HostAttempt<R> {
  /** Undefined if the host cannot be used now. */
  readonly found: R | undefined
  /** Whether it accepts writes; otherwise it is used only if no other host does. */
  readonly isWritable: boolean
  readonly server: ServerAge
}

interface ServerAge {
  /** The same for a server and its standbys. */
  readonly system: string
  /** Increases with each failover. */
  readonly timeline: number
}

type Host = { readonly host: string; readonly port: number }

/** Keyed by all hosts of an address. */
const lastFound = new Map<string, Host>()
/** Keyed by system. */
const newestTimeline = new Map<string, number>()

export async function findHost<R>(
  hosts: readonly Host[],
  deps: {
    /** Undefined if the host does not answer, or answers with an error. */
    attempt: (host: Host) => Promise<HostAttempt<R> | undefined>
    letGo: (found: R) => void
    /** Called for a host that was replaced in a failover. */
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
