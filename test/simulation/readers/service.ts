/**
 * The readers in one process of the service: the gate with its ledger and, if the process has the event log, also the
 * webhooks and the stream. These are the real parts, assembled as in `src/app`, on the ports of a simulated process.
 */

import type { Endpoint, Listen, ServerSocket } from '../../../sandbox/server/transport.ts'
import { createIdempotency } from '../../../src/accounts/idempotency.ts'
import { KeyRing } from '../../../src/accounts/key-ring.ts'
import { Ledger } from '../../../src/accounts/ledger.ts'
import { createViewAllowances } from '../../../src/accounts/view-allowance.ts'
import type { EventTail } from '../../../src/events/publish.ts'
import { createAuthThrottle } from '../../../src/gate/auth-throttle.ts'
import { createGate, type Gate } from '../../../src/gate/gate.ts'
import { createStreamGate } from '../../../src/gate/stream-gate.ts'
import { createSecretBox } from '../../../src/kit/secret-box.ts'
import type { EventStore } from '../../../src/store/events.ts'
import { openStores, type SqliteAddress } from '../../../src/store/open-stores.ts'
import { createStreamHub } from '../../../src/stream/hub.ts'
import { CLOSE_CODES } from '../../../src/stream/protocol.ts'
import type { StreamConnection } from '../../../src/stream/session.ts'
import { createCredits } from '../../../src/webhooks/credits.ts'
import { startWebhooks, type WebhookService } from '../../../src/webhooks/webhooks.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Surroundings } from '../simulation.ts'
import type { ApiServices } from './endpoints.ts'
import type { Receivers } from './receivers.ts'
import { PLANS, READER_NETWORK, RETRY_DELAYS_MS } from './world.ts'

const BOX_KEY = Buffer.alloc(32, 9)
const GOODBYE_MS = 500
/** Every operation of these stores that changes something. */
const READS =
  /^(get|find|list|budget$|usage|position$|pending$|deliver|due$|event|subscription(s|Ids|Places)|backlog$|highest|views|balance|probe$|watch$|close$|after$|by|bounds$|logId$|seqBefore$)/

export interface ReaderService {
  readonly process: SimulatedProcess
  readonly gate: Gate<ApiServices>
  readonly ledger: Ledger
  /** Undefined in a process that only answers requests. */
  readonly webhooks: WebhookService | undefined
  /** Stops as on a signal; false if charges could not be written. */
  stop(): Promise<boolean>
}

export interface ReaderServiceOptions {
  readonly surroundings: Surroundings
  readonly process: SimulatedProcess
  readonly address: SqliteAddress
  readonly events: EventStore
  /** Set if webhooks and stream run in this process. */
  readonly log?: {
    readonly tail: EventTail
    readonly watch: (addresses: readonly string[]) => () => void
    readonly receivers: Receivers
    readonly listen: Listen
  }
}

/** Starts immediately; its files are known before it is ready, so that it can be killed in between. */
export function startReaderService(options: ReaderServiceOptions) {
  const { surroundings, process, address } = options
  const { clock, random } = process
  const log = surroundings.logOf(process)
  const randomBytes = (count: number) => random.bytes(count)
  const stores = openStores(address, clock, { randomBytes })
  const files: { close(): Promise<void> }[] = []
  const isWrite = (name: string) => !READS.test(name)
  const open = <S extends { close(): Promise<void> }>(name: string, store: S): S => {
    files.push(store)
    return surroundings.disk.behind(store, process, isWrite, name)
  }
  let closeListener = async () => {}

  async function start(): Promise<ReaderService> {
    const accounts = open('accounts', stores.accounts())
    const box = createSecretBox(BOX_KEY, randomBytes)
    const ledger = new Ledger({ store: accounts, holder: process.name, clock, log })
    const keys = new KeyRing({ store: accounts, plans: PLANS, ledger })
    const onAccounts: ((ids: string[]) => void)[] = []
    const unwatch = await accounts.watch({
      onAccounts: (ids) => {
        keys.forget(ids)
        ledger.reload(ids)
        for (const each of onAccounts) each(ids)
      },
      onWanted: () => ledger.yieldLeases(),
    })
    const authThrottle = createAuthThrottle(clock)
    const services: ApiServices = { events: options.events }
    const gate = createGate<ApiServices>({
      ...{ keys, ledger, authThrottle, clock, log },
      idempotency: createIdempotency({ store: accounts, box, clock }),
      allowances: createViewAllowances({ store: accounts, clock }),
      services: { test: services },
      openServices: services,
      plans: PLANS.list(),
      upgradeUrl: '/upgrade',
      pageCacheBytes: 65_536,
    })
    const stops: (() => Promise<void> | void)[] = []
    let webhooks: WebhookService | undefined
    if (options.log !== undefined) {
      const { tail, watch, receivers, listen } = options.log
      const jobs = open('jobs', stores.jobs('test'))
      webhooks = await startWebhooks({
        store: jobs,
        events: options.events,
        tail,
        credits: createCredits({
          ...{ ledger, accounts, plans: PLANS, webhooks: jobs, environment: 'test', clock },
        }),
        ...{ box, network: READER_NETWORK, watch, allowPrivate: false, clock, random, randomBytes, log },
        openPoster: receivers.posterFor(process),
        resolve: async () => [{ address: '93.184.216.34', family: 4 }],
        retryDelaysMs: RETRY_DELAYS_MS,
      })
      const started = webhooks
      onAccounts.push((ids) => started.accountsChanged(ids))
      stops.push(() => started.close())
      const hub = createStreamHub({
        events: options.events,
        tail,
        network: READER_NETWORK,
        watch,
        clock,
        random,
        log,
      })
      const streamGate = createStreamGate({ keys, authThrottle, clock })
      const listener = await listen(streamEndpoint(process, streamGate, hub), 0)
      closeListener = () => listener.close()
      stops.push(async () => {
        await hub.close()
        await listener.close()
      })
    }
    return {
      ...{ process, gate, ledger, webhooks },
      async stop() {
        for (const stop of stops.reverse()) await stop()
        unwatch()
        const isWritten = await ledger.close().then(
          () => true,
          () => false,
        )
        await closeFiles()
        return isWritten
      },
    }
  }

  async function closeFiles(): Promise<void> {
    await closeListener()
    for (const file of files.splice(0)) await file.close()
  }

  return { ready: start(), closeFiles }
}

/** Does what `src/api/http/websocket.ts` does with `ws`. */
function streamEndpoint(
  process: SimulatedProcess,
  gate: ReturnType<typeof createStreamGate>,
  hub: ReturnType<typeof createStreamHub>,
): Endpoint {
  return {
    answer: async () => 'cut',
    upgrade: ({ url, headers }) => ({
      accept(socket) {
        if (process.isDead) return socket.terminate()
        const early: Buffer[] = []
        let receive: (data: Buffer) => void = (data) => early.push(data)
        const reached =
          <A extends unknown[]>(run: (...args: A) => void) =>
          (...args: A) =>
            process.reach(() => run(...args))
        socket.on(
          'message',
          reached((data: Buffer) => receive(data)),
        )
        const admit = async () => {
          const { credential, recheck } = await gate.admit({
            headers,
            search: url.search.slice(1),
            address: '203.0.113.7',
          })
          if (process.isDead || socket.readyState !== 1) return
          const { accountId, plan } = credential
          const client = hub.open(connectionOf(process, socket), {
            ...{ accountId, plan },
            recheck: async () => {
              const error = await recheck()
              return error && { code: CLOSE_CODES.forbidden, reason: error.message }
            },
          })
          if (client === undefined) return
          receive = (data) => {
            client.alive()
            client.receive(data.toString('utf8'))
          }
          socket.on(
            'ping',
            reached((data) => client.ping(data)),
          )
          socket.on(
            'pong',
            reached(() => client.pong()),
          )
          socket.on(
            'close',
            reached(() => client.closed()),
          )
          for (const data of early.splice(0)) receive(data)
        }
        process.reach(() => void admit().catch(() => socket.close(CLOSE_CODES.tryLater, 'not now')))
      },
    }),
  }
}

function connectionOf(process: SimulatedProcess, socket: ServerSocket): StreamConnection {
  return {
    send(frame) {
      if (!process.isDead) socket.send(frame.toString())
    },
    get unsentBytes() {
      return socket.bufferedAmount
    },
    hold() {},
    flush() {},
    close(code, reason) {
      socket.close(code, reason)
      const cancel = process.clock.after?.(GOODBYE_MS, () => socket.terminate())
      socket.on('close', () => cancel?.())
    },
    ping: () => socket.ping(),
    pong: (data) => socket.pong(data),
    terminate: () => socket.terminate(),
  }
}
