import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import Fastify from 'fastify'
import { until } from '../../../test/until.ts'
import { DASHBOARD_API } from '../../dashboard/dashboard.ts'
import { UnreadAnswers } from '../../gate/unread-answers.ts'
import { addDashboard } from './dashboard-routes.ts'

const MEBIBYTE = 1024 * 1024
/** Far more than the connection buffers. */
const PARTS = Array.from({ length: 64 }, () => Buffer.alloc(MEBIBYTE))

test('an answer of the dashboard that nobody reads counts for its account, and holds its slots, until it is cut off', async (t) => {
  const unread = new UnreadAnswers()
  let sent = 0
  const reply = () => ({ status: 200, headers: [], body: PARTS, readBy: 'acc', onSent: () => sent++ })
  const app = Fastify()
  t.after(() => app.close())
  addDashboard(
    app,
    { handle: async () => reply(), accountOf: async () => undefined },
    { nextId: () => 'req_1', unread },
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const isRefused = () => {
    try {
      unread.check('acc')
      return false
    } catch {
      return true
    }
  }
  const sockets = Array.from({ length: 3 }, () => {
    const socket = connect(port, '127.0.0.1').pause()
    socket.write(`GET ${DASHBOARD_API}usage HTTP/1.1\r\nHost: x\r\n\r\n`)
    return socket
  })
  await until('it is refused', isRefused)
  assert.equal(sent, 0)
  for (const socket of sockets) socket.destroy()
  await until('it goes on', () => !isRefused() && sent === 3)
})
