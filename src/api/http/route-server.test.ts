import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { Gate } from '../../gate/gate.ts'
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
    const serve = routeServer({ endpoint: { access: { auth: 'key' } } } as PublishedRoute<unknown>, {
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
