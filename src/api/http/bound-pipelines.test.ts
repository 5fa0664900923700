import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { boundPipelines } from './bound-pipelines.ts'
import { parseInTurns } from './parse-in-turns.ts'

test('a connection with too many waiting requests is answered those and closed; others go on', async (t) => {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    setImmediate(() => response.end('done'))
  })
  boundPipelines(server, parseInTurns(server), 8)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const requests = (count: number, last = '') =>
    Array.from({ length: count }, (_, at) => {
      const headers = at === count - 1 ? last : ''
      return `GET /${at} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
    }).join('')

  const flood = connect(port, '127.0.0.1')
  flood.write(requests(100))
  const answers = await text(flood)
  assert.equal(answers.split('HTTP/1.1 200 OK').length - 1, 8)
  assert.match(answers, /Connection: close/)
  assert.deepEqual(
    asked,
    Array.from({ length: 8 }, (_, at) => `/${at}`),
  )

  const few = connect(port, '127.0.0.1')
  few.write(requests(7, 'Connection: close\r\n'))
  assert.equal((await text(few)).split('HTTP/1.1 200 OK').length - 1, 7)
})
