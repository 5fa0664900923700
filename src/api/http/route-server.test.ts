import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { Gate } from '../../gate/gate.ts'
import type { GateReply } from '../../gate/request.ts'
import { UnreadAnswers } from '../../gate/unread-answers.ts'
import { createLogger } from '../../kit/log.ts'
import type { PublishedRoute } from '../publish/router.ts'
import { createCors } from './cors.ts'
import type { ResponseWriter } from './response-writer.ts'
import { routeServer } from './route-server.ts'

const REQUEST = {
  method: 'GET',
  target: '/',
  pathParams: {},
  headers: {},
  address: '127.0.0.1',
  body: undefined,
  socket: {} as Socket,
}
const ROUTE = { path: '/', endpoint: { access: { auth: 'key' } } } as PublishedRoute<unknown>

for (const [what, handle] of Object.entries<Gate<unknown>['handle']>({
  'breaks at once': () => {
    throw new Error('broken')
  },
  'breaks later': () => Promise.reject(new Error('broken')),
  'cannot be written': () => ({ status: 200, headers: [], body: 'x' }),
})) {
  test(`an answer that ${what} ends its connection and nothing else`, async () => {
    let destroyed = 0
    const response = {
      writeHead: () => {
        throw new Error('broken')
      },
      destroy: () => destroyed++,
    } as unknown as ResponseWriter
    const serve = routeServer(ROUTE, {
      gate: { handle } as Gate<unknown>,
      nextId: () => 'req_1',
      cors: createCors([]),
      log: createLogger({ level: 'silent' }),
      observe: () => {},
    })
    serve(REQUEST, response)
    await new Promise(setImmediate)
    assert.equal(destroyed, 1)
  })
}

/** A client that reads nothing until it is told to. */
class StalledResponse extends EventEmitter {
  destroyed = false
  socket: object | null = {}
  writableLength = 0
  writeHead() {}
  cork() {}
  uncork() {}
  write(part: Buffer): boolean {
    this.writableLength += part.length
    return false
  }
  end(body: string | Buffer = ''): void {
    this.writableLength += body.length
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
  read(): void {
    this.writableLength = 0
    this.emit('drain')
  }
}

/** A client that reads everything at once. */
class FastResponse extends StalledResponse {
  override write(): boolean {
    return true
  }
}

const PAGES = {
  'in one piece': 'x'.repeat(3_000_000),
  'in parts': Array.from({ length: 3 }, () => Buffer.alloc(1_000_000)),
}
const serverOf = (body: GateReply['body'], unread: UnreadAnswers) =>
  routeServer(ROUTE, {
    gate: {
      handle: () => ({ status: 200, headers: [], body, readBy: 'acc' }),
      unread,
    } as unknown as Gate<unknown>,
    nextId: () => 'req_1',
    cors: createCors([]),
    log: createLogger({ level: 'silent' }),
    observe: () => {},
  })

for (const [what, body] of Object.entries(PAGES)) {
  const unread = new UnreadAnswers()
  const serve = serverOf(body, unread)
  const send = (response = new StalledResponse()) => {
    serve(REQUEST, response as unknown as ResponseWriter)
    return response
  }

  test(`pages ${what} that nobody reads are counted until they are read or cut off`, async () => {
    const sent = Array.from({ length: 45 }, () => send())
    await new Promise(setImmediate)
    assert.throws(() => unread.check('acc'), /MiB of answers to this account wait to be sent or read/)
    unread.check('another')
    sent[0]?.destroy()
    sent[1]?.destroy()
    await new Promise(setImmediate)
    unread.check('acc')
    for (const response of sent.slice(2)) response.destroy()
    await new Promise(setImmediate)
    unread.hold('acc', 128 * 1024 * 1024)
    unread.check('acc')
  })

  test(`a client that reads a page ${what} at less than 8 kB a second is cut off, one that is faster is not`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const slow = send()
    const fast = send()
    t.mock.timers.tick(60_000)
    for (let part = 0; part < 4; part++) {
      fast.read()
      await Promise.resolve()
    }
    assert.equal(slow.destroyed, false)
    t.mock.timers.tick(3_000_000 / 8)
    assert.equal(slow.destroyed, true)
    assert.equal(fast.destroyed, false)
  })

  test(`a page ${what} behind other answers of its connection has all of its time when they were sent`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let nowMs = 0
    t.mock.method(performance, 'now', () => nowMs)
    const tick = (ms: number) => {
      nowMs += ms
      t.mock.timers.tick(ms)
    }
    const waiting = new StalledResponse()
    waiting.socket = null
    send(waiting)
    await new Promise(setImmediate)
    for (let minute = 0; minute < 20; minute++) tick(60_000)
    waiting.socket = {}
    for (let minute = 0; minute < 2; minute++) tick(60_000)
    assert.equal(waiting.destroyed, false)
    waiting.read()
    await new Promise(setImmediate)
    tick(60_000)
    assert.equal(waiting.destroyed, false)

    const stuck = new StalledResponse()
    stuck.socket = null
    send(stuck)
    await new Promise(setImmediate)
    for (let minute = 0; minute < 20; minute++) tick(60_000)
    stuck.socket = {}
    for (let minute = 0; minute < 20; minute++) tick(60_000)
    assert.equal(stuck.destroyed, true)
  })
}

for (const encoding of ['identity', 'gzip']) {
  test(`pages that are read as fast as they are sent are not counted (${encoding})`, async () => {
    const unread = new UnreadAnswers()
    const serve = serverOf(PAGES['in parts'], unread)
    const headers = { 'accept-encoding': encoding }
    for (let page = 0; page < 45; page++)
      serve({ ...REQUEST, headers }, new FastResponse() as unknown as ResponseWriter)
    unread.check('acc')
    await new Promise(setImmediate)
    unread.check('acc')
  })
}
