/**
 * Keeps one route alive: reconnects with full jitter after a loss, and replaces the socket before the venue's
 * own cut, new before old.
 *
 *   down ──link open──▶ serving ──link ended──▶ down (wait, full jitter)
 *                          │ ▲
 *             renewal due  ▼ │ successor ready, both heard for `overlapMs`, old one closed
 *                        renewing ──successor failed──▶ serving (tried again later)
 *
 * While renewing both sockets are heard, so repeats are expected and recognised by their keys downstream.
 */
import { type BackoffPolicy, backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'
import type { Link, Route } from './link.ts'

export interface LineLimits {
  readonly backoff: BackoffPolicy
  /** A link that lived so long resets the backoff. */
  readonly steadyAfterMs: number
  readonly renewAfterMs: number | null
  /** Renewals are spread over this share before their time, so that routes do not renew together. */
  readonly renewSpread: number
  /** How long a successor may take to become ready. */
  readonly handoverMs: number
  readonly overlapMs: number
}

export interface LineEvents {
  connected(): void
  disconnected(reason: string, sinceMs: number): void
  renewed(reason: string): void
}

export interface Line {
  readonly route: Route
  readonly isUp: boolean
  /** Asks for a successor; without effect while one is already on its way. */
  renew(reason: string): void
  setPaused(paused: boolean): void
  /** Speaks on the serving link; false when there is none. */
  send(frame: string): boolean
  cut(reason: string): void
  /** Resolves when the line has stopped, which only its signal makes it do. */
  readonly stopped: Promise<void>
}

export function startLine(options: {
  route: Route
  open: () => Link
  clock: Clock
  random: () => number
  limits: LineLimits
  events: LineEvents
  /** Resolves when reading is allowed; a consumer that is behind gets no new socket. */
  whenReading: () => Promise<void>
  signal: AbortSignal
}): Line {
  const { clock, limits, events, signal } = options
  let serving: Link | undefined
  let successor: Link | undefined
  let wish = Promise.withResolvers<string>()
  let attempt = 0

  const pause = () => clock.sleep(backoffMs(limits.backoff, attempt++, options.random), signal)

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await options.whenReading()
      if (signal.aborted) return
      wish = Promise.withResolvers()
      const link = options.open()
      successor = link
      const isOpen = await link.opened
      successor = undefined
      if (isOpen) await serve(link)
      if (!signal.aborted) await pause()
    }
  }

  /** From the first open link until the route is down. */
  async function serve(first: Link): Promise<void> {
    let link: Link | undefined = first
    while (link !== undefined) {
      serving = link
      const openedMs = clock.now()
      events.connected()
      const reason = await stay(link)
      events.disconnected(reason, (serving ?? link).lastTrafficMs)
      if (clock.now() - openedMs >= limits.steadyAfterMs) attempt = 0
      serving = undefined
      link = await adopt()
    }
  }

  /** A successor that was still dialling when the old link died takes its place. */
  async function adopt(): Promise<Link | undefined> {
    const link = successor
    if (link === undefined || !(await link.opened)) return undefined
    successor = undefined
    return link
  }

  /** Serves, renewing as often as it is due; returns why the serving link ended. */
  async function stay(first: Link): Promise<string> {
    let link = first
    for (;;) {
      const due = await nextRenewal(link)
      if (due.ended !== undefined) return due.ended
      wish = Promise.withResolvers()
      const next = options.open()
      successor = next
      const took = await handover(link, next)
      if (took === 'lost') return link.ended
      successor = undefined
      if (took === 'failed') {
        next.cut('did not become ready')
        await Promise.race([pause(), link.ended])
        wish.resolve(due.reason)
        continue
      }
      serving = next
      attempt = 0
      events.renewed(due.reason)
      link.close('replaced')
      link = next
    }
  }

  async function nextRenewal(link: Link): Promise<{ ended?: string; reason: string }> {
    const timer = new AbortController()
    const planned =
      limits.renewAfterMs === null
        ? new Promise<never>(() => {})
        : clock
            .sleep(limits.renewAfterMs * (1 - limits.renewSpread * options.random()), timer.signal)
            .then(() => ({ reason: "before the venue's cut" }))
    planned.catch(() => {})
    try {
      return await Promise.race([
        link.ended.then((ended) => ({ ended, reason: ended })),
        wish.promise.then((reason) => ({ reason })),
        planned,
      ])
    } finally {
      timer.abort()
    }
  }

  async function handover(link: Link, next: Link): Promise<'taken' | 'failed' | 'lost'> {
    const timer = new AbortController()
    const late = clock.sleep(limits.handoverMs, timer.signal).then(() => 'late' as const)
    late.catch(() => {})
    try {
      const lost = link.ended.then(() => 'lost' as const)
      const first = await Promise.race([lost, next.ready, late])
      if (first === 'lost') return 'lost'
      // A route whose channels are all quiet never speaks: being accepted is then enough.
      if (first === false || (first === 'late' && !next.accepted)) return 'failed'
      const overlap = clock.sleep(limits.overlapMs, timer.signal).then(() => 'taken' as const)
      overlap.catch(() => {})
      return await Promise.race([lost, overlap, next.ended.then(() => 'failed' as const)])
    } finally {
      timer.abort()
    }
  }

  const onAbort = () => {
    successor?.close('stopped')
    serving?.close('stopped')
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const stopped = run()
    .catch(() => {})
    .then(async () => {
      successor?.close('stopped')
      await successor?.ended
    })

  return {
    route: options.route,
    get isUp() {
      return serving !== undefined
    },
    renew(reason) {
      if (successor === undefined) wish.resolve(reason)
    },
    setPaused(paused) {
      serving?.setPaused(paused)
      successor?.setPaused(paused)
    },
    send: (frame) => serving?.send(frame) ?? false,
    cut(reason) {
      successor?.cut(reason)
      serving?.cut(reason)
    },
    stopped,
  }
}
