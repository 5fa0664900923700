import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type ConnectionLimits, startConnection } from './connection.ts'
import type { SocketRoute, VenueSocket } from './socket.ts'

const LIMITS: ConnectionLimits = {
  backoff: { baseMs: 1_000, capMs: 1_000 },
  ...{ steadyAfterMs: 60_000, renewAfterMs: null, renewSpread: 0, handoverMs: 10_000, overlapMs: 5_000 },
}

const once = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

function fakeSocket(onOpened: () => void) {
  const [opened, ready, ended] = [
    Promise.withResolvers<boolean>(),
    Promise.withResolvers<boolean>(),
    Promise.withResolvers<string>(),
  ]
  let isOpen = false
  let refusedForMs = 0
  const end = (reason: string) => {
    isOpen = false
    opened.resolve(false)
    ready.resolve(false)
    ended.resolve(reason)
  }
  return {
    open() {
      isOpen = true
      onOpened()
      opened.resolve(true)
    },
    end,
    refuse(forMs: number) {
      refusedForMs = forMs
      end('refused')
    },
    socket: {
      ...{ opened: opened.promise, ready: ready.promise, ended: ended.promise },
      ...{ accepted: true, isProven: true, lostSinceMs: 0, wasSilent: false },
      get isOpen() {
        return isOpen
      },
      get refusedForMs() {
        return refusedForMs
      },
      ...{ cut: end, close: end, isDeadBeside: () => false, succeed() {} },
    } as unknown as VenueSocket,
  }
}

function connect(whenReading: (signal: AbortSignal) => Promise<void> = async () => {}) {
  const clock = manualClock(0)
  const stop = new AbortController()
  const sockets: ReturnType<typeof fakeSocket>[] = []
  const events: string[] = []
  const connection = startConnection({
    ...{ route: {} as SocketRoute, clock, random: () => 1, limits: LIMITS, signal: stop.signal },
    open(onOpened) {
      const made = fakeSocket(onOpened)
      sockets.push(made)
      return made.socket
    },
    events: {
      connected: () => events.push('connected'),
      disconnected: (reason) => events.push(reason),
      refused() {},
      successorFailed() {},
      renewed: (reason) => events.push(reason),
    },
    whenReading: () => whenReading(stop.signal),
  })
  return { clock, stop, sockets, events, connection }
}

test('a successor that is lost together with its predecessor is dialled again after a pause', async () => {
  const { clock, stop, sockets, events, connection } = connect()
  await turn()
  sockets[0]?.open()
  connection.renew('silent')
  await turn()
  sockets[1]?.open()
  for (const { end } of sockets) end('cut')
  await turn()
  assert.deepEqual(events, ['connected', 'cut'])
  assert.equal(sockets.length, 2, 'not dialled again at once')
  assert.equal(connection.isUp, false)
  clock.advance(1_001)
  await turn()
  sockets[2]?.open()
  await turn()
  assert.deepEqual(events, ['connected', 'cut', 'connected'])
  stop.abort()
  await connection.stopped
})

test('a venue that refuses sockets because of a limit is dialled again when it allows it', async () => {
  const { clock, stop, sockets, connection } = connect()
  await turn()
  sockets[0]?.refuse(60_000)
  await turn()
  clock.advance(59_999)
  await turn()
  assert.equal(sockets.length, 1)
  clock.advance(1)
  await turn()
  assert.equal(sockets.length, 2)
  stop.abort()
  sockets[1]?.end('stopped')
  await connection.stopped
})

test('a venue that refuses a successor is dialled again when it allows it, also if the old socket is lost', async () => {
  const { clock, stop, sockets, connection } = connect()
  await turn()
  sockets[0]?.open()
  connection.renew('silent')
  await turn()
  sockets[1]?.refuse(60_000)
  await turn()
  clock.advance(1_000)
  sockets[0]?.end('lost')
  await turn()
  clock.advance(58_999)
  await turn()
  assert.equal(sockets.length, 2)
  clock.advance(1)
  await turn()
  assert.equal(sockets.length, 3)
  stop.abort()
  sockets[2]?.end('stopped')
  await connection.stopped
})

test('a consumer that is behind gets no successor, and none takes over before what the old socket sent is read', async () => {
  let reading = Promise.withResolvers<void>()
  reading.resolve()
  const { clock, stop, sockets, events, connection } = connect((signal) =>
    Promise.race([reading.promise, once(signal)]),
  )
  await turn()
  sockets[0]?.open()
  reading = Promise.withResolvers()
  connection.renew('silent')
  await turn()
  assert.equal(sockets.length, 1, 'nobody reads')
  reading.resolve()
  await turn()
  assert.equal(sockets.length, 2)
  sockets[1]?.open()
  reading = Promise.withResolvers()
  clock.advance(LIMITS.handoverMs)
  await turn()
  clock.advance(LIMITS.overlapMs)
  await turn()
  assert.deepEqual([events, sockets[0]?.socket.isOpen], [['connected'], true])
  reading.resolve()
  await turn()
  assert.deepEqual([events, sockets[0]?.socket.isOpen], [['connected', 'silent'], false])
  reading = Promise.withResolvers()
  connection.renew('silent')
  await turn()
  stop.abort()
  await connection.stopped
  assert.equal(sockets.length, 2, 'a connection that stops dials no more')
})
