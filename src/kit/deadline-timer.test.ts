import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { systemClock } from './clock.ts'
import { createDeadlineTimer } from './deadline-timer.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('looks while there is a deadline, at the nearest, and again after a restart', async () => {
  let left = 3
  let ticks = 0
  const timer = createDeadlineTimer(systemClock, 2, (nowMs) => {
    ticks++
    return --left > 0 ? nowMs : undefined
  })
  const lookIn = (ms: number) => timer.lookAt(performance.now() + ms)
  const ticked = async (count: number) => {
    while (ticks < count) await pause(2)
    await pause(10)
    assert.equal(ticks, count)
  }
  lookIn(60_000)
  lookIn(0)
  lookIn(1)
  await ticked(3)
  left = 1
  lookIn(0)
  await ticked(4)
  left = 1_000
  lookIn(0)
  timer.stop()
  await pause(30)
  assert.equal(ticks, 4)
})

test('after the event loop was blocked, received data is read before the tick', async () => {
  const order: string[] = []
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = createConnection((server.address() as { port: number }).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  client.on('data', () => order.push('data'))
  const timer = createDeadlineTimer(systemClock, 5, () => {
    order.push('tick')
    return undefined
  })
  timer.lookAt(performance.now())
  peer.write('pong')
  const untilMs = performance.now() + 120
  while (performance.now() < untilMs);
  while (order.length < 2) await pause(2)
  assert.deepEqual(order, ['data', 'tick'])
  client.destroy()
  server.close()
})
