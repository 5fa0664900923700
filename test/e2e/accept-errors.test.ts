/** A connection that the system cannot accept is an error of the listening server, not the end of the process. */
import assert from 'node:assert/strict'
import { Server } from 'node:net'
import { afterEach, test } from 'node:test'
import { startHttpServer } from '../../sandbox/server/http.ts'
import { bindPort } from '../../src/api/http/bind-port.ts'
import { createLogger } from '../../src/kit/log.ts'
import { ask, assertError } from '../fakes/client.ts'
import { silentLog, startTestService } from '../fakes/service.ts'

const ENFILE = -23
const ends: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** What Node does when the system reports such an error; done twice, for listeners that handle only the first. */
function failToAccept(): number {
  const handles: unknown[] = Reflect.get(process, '_getActiveHandles').call(process)
  const servers = handles.filter((handle) => handle instanceof Server && handle.listening)
  for (const server of [...servers, ...servers]) Reflect.get(server as Server, '_handle').onconnection(ENFILE)
  return servers.length
}

test('the service goes on after connections could not be accepted, and says so once for each port', async () => {
  const lines: string[] = []
  const log = createLogger({ level: 'warn', write: (line) => lines.push(line) })
  const started = await startTestService({ env: { TAPELINE_METRICS_PORT: '0' }, log })
  ends.push(() => started.stop())
  assert.equal(failToAccept(), 2)
  assert.equal((await ask(`${started.url}/health`)).status, 200)
  assert.equal((await ask(started.service.metricsUrl ?? '')).status, 200)
  const said = lines.filter((line) => line.includes('connections could not be accepted'))
  assert.equal(said.length, 2)
  assert.match(said[0] ?? '', /ENFILE/)
})

test('a port that is bound before the service is up goes on too', async () => {
  const bound = await bindPort({ host: '127.0.0.1', port: 0, log: silentLog })
  ends.push(() => bound.close())
  assert.equal(failToAccept(), 1)
  assertError(await ask(bound.url), 503, 'environment_unavailable')
})

test('so does a server of the sandbox', async () => {
  const server = await startHttpServer({ port: 0, handle: (_, response) => void response.end('here') })
  ends.push(() => server.close())
  assert.equal(failToAccept(), 1)
  assert.equal((await ask(`http://127.0.0.1:${server.port}`)).text, 'here')
})
