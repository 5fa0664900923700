/**
 * Sends calls to the nodes of an environment (see `call-run.ts` for a single call). Reads are hedged after a time
 * derived from the node's 95th percentile for that method. A budget over all calls keeps hedges from doubling the load
 * when everything is slow.
 */
import type { Clock } from '../kit/clock.ts'
import { createDeadlineTimer } from '../kit/deadline-timer.ts'
import { HEDGE_BURST, HEDGE_SHARE } from './attempt-policy.ts'
import type { CallOptions, CallOutcome } from './call-outcome.ts'
import { type CallContext, CallRun } from './call-run.ts'
import type { NodeLink } from './node-link.ts'
import type { ValidCall } from './validate-params.ts'

export interface RequesterOptions {
  nodes: readonly NodeLink[]
  clock: Clock
  /** Resolves at the next change of any node's state or connection, or when the signal aborts. */
  nextChange: (signal: AbortSignal) => Promise<void>
  /** Called for every fault and for every refusal whose text matches no rule. */
  onTrouble?: CallContext['onTrouble']
}

export interface Requester {
  send(call: ValidCall, options: CallOptions): Promise<CallOutcome>
  /** To be called after the nodes are closed; deadlines are no longer checked. */
  close(): void
}

/** The precision of deadlines and hedges, and of noticing that a caller has left. */
const CHECK_STEP_MS = 5

export function createRequester(options: RequesterOptions): Requester {
  const { nodes, clock, nextChange, onTrouble = () => {} } = options
  const running = new Set<CallRun>()
  let hedgeTokens = HEDGE_BURST
  const timer = createDeadlineTimer(clock, CHECK_STEP_MS, (nowMs) => {
    for (const run of running) run.checkDeadlines(nowMs)
    let next: number | undefined
    for (const run of running) next = Math.min(next ?? Number.POSITIVE_INFINITY, run.nextCheckMs)
    return next
  })
  const context: CallContext = {
    nodes,
    links: new Map(nodes.map((node) => [node.name, node])),
    clock,
    nextChange,
    onTrouble,
    checkAt: timer.lookAt,
    mayHedge: () => {
      if (hedgeTokens < 1) return false
      hedgeTokens--
      return true
    },
    onEnd: (run) => running.delete(run),
  }

  return {
    send: (call, callOptions) =>
      new Promise((resolve) => {
        hedgeTokens = Math.min(HEDGE_BURST, hedgeTokens + HEDGE_SHARE)
        const run = new CallRun(context, call, callOptions, resolve)
        running.add(run)
        timer.lookAt(run.nextCheckMs)
        run.begin()
      }),
    close: () => timer.stop(),
  }
}
