import type { Network } from '../core/chain/network.ts'
import type { Plan } from '../core/plan.ts'
import { GAP_KIND } from '../events/gap-event.ts'
import { createMatcher } from '../events/match.ts'
import type { EventTail } from '../events/publish.ts'
import { AccountSteps } from '../kit/account-steps.ts'
import { ActiveCounts } from '../kit/active-counts.ts'
import { type Clock, runEvery } from '../kit/clock.ts'
import { countFailures } from '../kit/count-failures.ts'
import type { Logger } from '../kit/log.ts'
import type { EventStore, StoredEvent } from '../store/events.ts'
import { CLOSE_CODES, eventFrame, PING_MS } from './protocol.ts'
import { type SessionHost, type StreamConnection, StreamSession } from './session.ts'

/** All stream clients of one environment. Each new event is serialised once and sent to the clients that select it. */
export interface StreamHub {
  /** Returns undefined and closes the connection if the account already has as many connections as its plan allows. */
  open(connection: StreamConnection, client: StreamClient): StreamClientHandle | undefined
  readonly connections: number
  close(): Promise<void>
}

interface StreamClient {
  readonly accountId: string
  readonly plan: Plan
  /** Resolves to undefined while the key is valid, otherwise to the reason why the connection must end. */
  readonly recheck: () => Promise<StreamRefusal | undefined>
}

export interface StreamRefusal {
  readonly code: number
  readonly reason: string
}

interface StreamClientHandle {
  receive(text: string): void
  ping(data: Buffer): void
  pong(): void
  /** The client gave any sign of life. */
  alive(): void
  closed(): void
}

/** A revoked or paused key ends its connections within this time plus the store's delay. */
const RECHECK_MS = 2_000
const MAX_MISSED_PINGS = 2
const GOODBYE_MS = 500

interface Member {
  readonly session: StreamSession
  readonly connection: StreamConnection
  readonly client: StreamClient
  readonly uncount: () => void
  missedPings: number
}

export function createStreamHub(deps: {
  events: Pick<EventStore, 'after' | 'bounds'>
  tail: Pick<EventTail, 'seq' | 'listen'>
  network: Network
  watch: (addresses: readonly string[]) => () => void
  clock: Clock
  random: () => number
  log: Logger
  pingMs?: number
  /** Connections per account; counted by the hub itself if omitted. */
  connections?: ActiveCounts<string>
}): StreamHub {
  const { tail, clock, log } = deps
  const matcher = createMatcher<StreamSession>()
  const members = new Set<Member>()
  const perAccount = deps.connections ?? new ActiveCounts<string>()
  const failed = countFailures(clock)
  let nextConnection = 1
  let closing = false

  const host: SessionHost = {
    network: deps.network,
    events: deps.events,
    get seq() {
      return tail.seq
    },
    attach: (session, selection) => matcher.add(session, selection),
    watch: deps.watch,
    steps: { subscribe: new AccountSteps(), sync: new AccountSteps() },
    clock,
    random: deps.random,
    onFault(err) {
      const failures = failed()
      if (failures > 0) log.error({ err, failures }, 'the event log could not be read for a stream')
    },
  }

  /** Several events at once become one write per client. */
  const publish = (events: readonly StoredEvent[]) => {
    const held = new Set<StreamSession>()
    try {
      for (const event of events) {
        if (event.kind === GAP_KIND) {
          for (const { session } of members) session.sendGap(event)
          continue
        }
        let frame: Buffer | undefined
        for (const session of matcher.match(event)) {
          frame ??= eventFrame(event.text)
          if (events.length > 1 && !held.has(session)) {
            held.add(session)
            session.hold()
          }
          session.deliver(frame)
        }
      }
    } finally {
      for (const session of held) session.flush()
    }
  }
  const stopListening = tail.listen(publish, {
    isIdle: () => members.size === 0,
    onMissed: (afterSeq, upToSeq) => {
      for (const { session } of members) session.sendMissed(afterSeq, upToSeq)
    },
  })

  const leave = (member: Member) => {
    if (!members.delete(member)) return
    member.session.end()
    member.uncount()
  }

  const stopPings = runEvery(clock, deps.pingMs ?? PING_MS, () => {
    for (const member of members) {
      if (member.missedPings >= MAX_MISSED_PINGS) {
        member.connection.terminate()
        leave(member)
        continue
      }
      member.missedPings++
      member.connection.ping()
    }
  })

  const recheck = async (member: Member) => {
    const refusal = await member.client.recheck()
    if (refusal === undefined || !members.has(member)) return
    member.connection.close(refusal.code, refusal.reason)
    leave(member)
  }
  const stopRechecks = runEvery(clock, RECHECK_MS, () => {
    for (const member of members) {
      recheck(member).catch((err) => log.error({ err }, 'a key of a stream could not be checked'))
    }
  })

  return {
    get connections() {
      return members.size
    },
    open(connection, client) {
      const { plan, accountId } = client
      if (closing) {
        connection.close(CLOSE_CODES.goingAway, 'the service is stopping')
        return undefined
      }
      if (perAccount.left(accountId, plan.streamConnections) <= 0) {
        const reason = `the plan ${plan.name} allows ${plan.streamConnections} connections`
        connection.close(CLOSE_CODES.tooMany, reason)
        return undefined
      }
      const member: Member = {
        session: new StreamSession(host, connection, client),
        connection,
        client,
        uncount: perAccount.add(accountId),
        missedPings: 0,
      }
      members.add(member)
      connection.send(
        JSON.stringify({
          type: 'welcome',
          connection: `conn_${(nextConnection++).toString(36)}`,
          network: deps.network,
          seq: tail.seq,
          plan: plan.name,
          limits: { connections: plan.streamConnections, addresses: plan.streamAddresses },
          ping_seconds: PING_MS / 1000,
        }),
      )
      const alive = () => {
        member.missedPings = 0
      }
      return {
        receive: (text) => member.session.receive(text),
        ping: (data) => member.session.ping(data),
        pong: () => {
          alive()
          member.session.pong()
        },
        alive,
        closed: () => leave(member),
      }
    },
    async close() {
      closing = true
      stopPings()
      stopRechecks()
      stopListening()
      const open = [...members]
      for (const member of open) {
        member.connection.close(CLOSE_CODES.goingAway, 'the service is stopping')
        leave(member)
      }
      if (open.length === 0) return
      await clock.sleep(GOODBYE_MS)
      for (const { connection } of open) connection.terminate()
    },
  }
}
