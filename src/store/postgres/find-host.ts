/**
 * Which of several hosts is connected to: the one that was found last, then the others in their order. A host that does
 * not answer holds up the next one for a moment only, and is still taken when it answers first.
 *
 *   host 1 ──no answer for a moment──▶ host 2 as well ──…──▶ the first that accepts writes; the others are let go
 */
const HEAD_START_MS = 1_000

export interface HostAttempt<R> {
  readonly found: R
  /** It accepts writes; otherwise it is taken when no other does. */
  readonly isWritable: boolean
}

type Host = { readonly host: string; readonly port: number }

/** By all hosts of an address. */
const lastFound = new Map<string, Host>()

export async function findHost<R>(
  hosts: readonly Host[],
  deps: {
    /** Undefined: the host is of no use now, and `failures` says why. */
    attempt: (host: Host) => Promise<HostAttempt<R> | undefined>
    letGo: (found: R) => void
  },
): Promise<R | undefined> {
  const key = JSON.stringify(hosts)
  const last = lastFound.get(key)
  const order = last === undefined ? hosts : [last, ...hosts.filter((host) => host !== last)]
  let isOver = false
  let fallback: { readonly found: R } | undefined
  let left = order.length
  return new Promise<R | undefined>((resolve) => {
    const end = (found: R | undefined) => {
      isOver = true
      resolve(found)
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
      const timer = setTimeout(tryNext, HEAD_START_MS)
      const result = await deps.attempt(host)
      left--
      if (result !== undefined && isOver) deps.letGo(result.found)
      else if (result?.isWritable) {
        lastFound.set(key, host)
        if (fallback !== undefined) deps.letGo(fallback.found)
        end(result.found)
      } else if (result !== undefined && fallback === undefined) fallback = result
      else if (result !== undefined) deps.letGo(result.found)
      tryNext()
      if (left === 0 && !isOver) end(fallback?.found)
    }
    void tryFrom(0)
  })
}
