/** A clean stop on SIGTERM, with requests in flight and connections that do not end. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ask } from '../fakes/client.ts'
import { cliJson, dataFolder, printedKey, spawnService } from '../fakes/service.ts'
import { promisedMs } from '../promised-ms.ts'

async function withService(
  run: (service: Awaited<ReturnType<typeof spawnService>>, folder: string) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const folder = dataFolder()
  const service = await spawnService(folder.path, { env })
  try {
    await run(service, folder.path)
  } finally {
    service.child.kill('SIGKILL')
    await service.ended
    folder.remove()
  }
}

/** Opens a connection, sends the given bytes and collects the answer. */
function open(url: string, bytes: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  socket.on('connect', () => socket.write(bytes))
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  return { socket, closed, text: () => text }
}

test('SIGTERM finishes what is in flight, ends idle connections, settles charges and exits 0', async () => {
  await withService(async (service, folder) => {
    const key = await printedKey(service)
    const { id } = (await cliJson<{ id: string }[]>(folder, ['accounts', 'list']))[0] ?? { id: '' }
    for (let i = 0; i < 3; i++) {
      assert.equal((await ask(`${service.url}/v1/sources`, { key })).status, 200)
    }
    const idle = open(service.url, `GET /health HTTP/1.1\r\nHost: a\r\n\r\n`)
    while (!idle.text().includes('"status":"ok"')) await new Promise((resolve) => setTimeout(resolve, 5))
    // Delayed by the throttle after failed authentication, so it is in flight when the signal arrives.
    for (let i = 0; i < 25; i++) await ask(`${service.url}/v1/limits`)
    const held = open(service.url, `GET /v1/limits HTTP/1.1\r\nHost: a\r\n\r\n`)
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal(held.text(), '', 'it is still under way')
    const startedMs = performance.now()
    const code = await service.kill('SIGTERM')
    assert.equal(code, 0, service.printed())
    assert.ok(performance.now() - startedMs < promisedMs(10_000))
    assert.match(await held.closed, /^HTTP\/1\.1 401 /, 'it was answered')
    await idle.closed
    const balance = await cliJson<{ test_used: number }>(folder, ['accounts', 'credits', '--account', id])
    assert.equal(balance.test_used, 75)
  })
})

test('a connection that never sends its body does not keep the service from stopping in time', async () => {
  await withService(
    async (service) => {
      const stuck = open(
        service.url,
        'POST /v1/limits HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
      )
      const silent = open(service.url, '')
      const half = open(service.url, 'GET /health HTTP/1.1\r\nHo')
      await new Promise((resolve) => setTimeout(resolve, 200))
      const startedMs = performance.now()
      const code = await service.kill('SIGTERM')
      assert.ok(performance.now() - startedMs < promisedMs(5_000), `${performance.now() - startedMs} ms`)
      assert.equal(code, 0, service.printed())
      await Promise.all([stuck.closed, silent.closed, half.closed])
    },
    { TAPELINE_SHUTDOWN_SECONDS: '3' },
  )
})

test('a port that is taken stops the start with one sentence', async () => {
  await withService(async (service, folder) => {
    const { port } = new URL(service.url)
    await assert.rejects(spawnService(folder, { env: { TAPELINE_PORT: port } }), (error: Error) => {
      assert.match(error.message, /ended with 1/)
      assert.match(error.message, new RegExp(`port ${port} on 127.0.0.1 is taken`))
      assert.doesNotMatch(error.message, /\n\s+at /, 'no stack')
      return true
    })
  })
})

test('a service whose log nobody reads any more says so once, goes on, and stops in order', async () => {
  await withService(
    async (service) => {
      service.child.stdout?.destroy()
      // Its first line is logged at the signal, the others follow while it stops.
      assert.equal(await service.kill('SIGTERM'), 0, service.printed())
      assert.equal(service.printed().match(/The log cannot be written \(write EPIPE\)/g)?.length, 1)
    },
    { TAPELINE_LOG_LEVEL: 'debug' },
  )
})
