/**
 * Must hold: with own TLS every kind of request works as without it; a renewed certificate is used for new connections
 * and cuts no open one; files that do not match change nothing.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectPlain, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { WebSocket } from 'ws'
import { type Certificate, openCertificate } from '../../src/api/http/certificate.ts'
import { createLogger } from '../../src/kit/log.ts'
import { makeCertificate, SKIP_CERTIFICATES } from '../fakes/certificates.ts'
import { paid } from '../fakes/endpoints.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { type SmallService, startSmallService } from '../fakes/small-service.ts'
import { until } from '../until.ts'

const LOOK_INTERVAL_MS = 20
const folder = mkdtempSync(join(tmpdir(), 'tapeline-tls-'))
const used = { cert: join(folder, 'used.pem'), key: join(folder, 'used.key') }
const lines: { level: number; msg: string; why?: string }[] = []
const log = createLogger({ level: 'info', write: (line) => void lines.push(JSON.parse(line)) })
let certificate: Certificate
let service: SmallService
let key = ''

before(async () => {
  if (SKIP_CERTIFICATES) return
  use(makeCertificate(folder, 'first'))
  makeCertificate(folder, 'second', 30)
  certificate = openCertificate(used, { log, lookIntervalMs: LOOK_INTERVAL_MS })
  const services = { runs: 0, wait: async () => {} } as never
  service = await startSmallService({ endpoints: [paid], services, certificate })
  key = await service.key()
})
after(async () => {
  certificate?.close()
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function use(files: { cert: string; key: string }): void {
  replace(used.cert, readFileSync(files.cert))
  replace(used.key, readFileSync(files.key))
}

/** Replaced atomically, so that nobody reads half of it. */
function replace(file: string, content: Buffer | string): void {
  writeFileSync(`${file}.new`, content)
  renameSync(`${file}.new`, file)
}

interface Client {
  readonly socket: TLSSocket
  /** The common name of the certificate that the client received. */
  readonly shown: string
  text(): string
  readonly closed: Promise<void>
}

async function open(url = service.url): Promise<Client> {
  const port = Number(new URL(url).port)
  // The option is documented, but missing in the types.
  const halfOpen: object = { allowHalfOpen: true }
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...halfOpen })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('end', resolve)
    socket.on('close', () => resolve())
  })
  await new Promise<void>((resolve) => socket.once('secureConnect', resolve))
  return { socket, shown: String(socket.getPeerCertificate().subject.CN), text: () => text, closed }
}

const request = (more = '') => `GET /v1/paid HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${more}\r\n`
/** A header that makes the fast path hand the request over to Node's parser. */
const PATHS = { 'the fast path': '', "Node's parser": 'Trailer: x\r\n' }
const answers = (client: Client) => client.text().match(/HTTP\/1\.1 200 OK/g)?.length ?? 0
const skip = SKIP_CERTIFICATES

for (const [path, more] of Object.entries(PATHS))
  test(`over TLS ${path} answers requests one after the other, and one whose client has closed its side`, {
    skip,
  }, async () => {
    const client = await open()
    client.socket.write(request(more))
    await until('an answer', () => answers(client) === 1)
    client.socket.write(request(more) + request(more))
    await until('two more', () => answers(client) === 3)
    client.socket.end(request(more))
    await client.closed
    assert.equal(answers(client), 4)
    assert.match(client.text(), /"runs":/)
  })

test('plain HTTP, other bytes and an old version of TLS get no answer, and harm nobody', {
  skip,
}, async () => {
  const { port } = new URL(service.url)
  for (const bytes of [request(), '\0'.repeat(600), '\x16\x03\x01\x02\x00\x01\x00']) {
    const socket = connectPlain({ host: '127.0.0.1', port: Number(port) })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.end(bytes)
    await new Promise<void>((resolve) => socket.on('close', () => resolve()))
    assert.doesNotMatch(text, /HTTP/)
  }
  const old = connect({
    host: '127.0.0.1',
    port: Number(port),
    rejectUnauthorized: false,
    maxVersion: 'TLSv1.1',
  })
  const refused = await new Promise<Error>((resolve) => old.once('error', resolve))
  assert.ok(refused)
  const client = await open()
  client.socket.write(request())
  await until('an answer', () => answers(client) === 1)
  client.socket.destroy()
})

test('a client cannot ask for another handshake on its connection', { skip }, async (t) => {
  let bytes = 0
  const relay = createServer((client) => {
    const server = connectPlain({ host: '127.0.0.1', port: Number(new URL(service.url).port) })
    server.on('data', (chunk) => {
      bytes += chunk.length
    })
    for (const socket of [client, server]) socket.on('error', () => {})
    client.pipe(server).pipe(client)
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const { port } = relay.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, maxVersion: 'TLSv1.2' })
  t.after(() => {
    socket.destroy()
    relay.close()
  })
  socket.on('error', () => {})
  await new Promise<void>((resolve) => socket.once('secureConnect', resolve))
  const before = bytes
  socket.renegotiate({ rejectUnauthorized: false }, () => {})
  await until('what the server says', () => bytes > before, 20_000)
  // An alert has a few bytes; a handshake would begin with the certificate.
  assert.ok(bytes - before < 100, `${bytes - before} bytes`)
})

test('a renewed certificate is shown to new connections, and open ones go on', { skip }, async () => {
  const client = await open()
  assert.equal(client.shown, 'first')
  client.socket.write(request())
  await until('an answer', () => answers(client) === 1)
  const expired = certificate.expiresAtMs
  use({ cert: join(folder, 'second.pem'), key: join(folder, 'second.key') })
  await until('the new certificate', () => certificate.expiresAtMs !== expired)
  const later = await open()
  assert.equal(later.shown, 'second')
  later.socket.write(request())
  client.socket.write(request())
  await until('an answer to both', () => answers(later) === 1 && answers(client) === 2)
  assert.ok(certificate.expiresAtMs < expired)
  for (const { socket } of [client, later]) socket.destroy()
})

test('a certificate without its key, or a broken file, is reported once and the old pair stays', {
  skip,
}, async () => {
  const shown = (await open()).shown
  const faults: [string, () => void, RegExp][] = [
    [
      'another key',
      () => replace(used.key, readFileSync(join(folder, 'first.key'))),
      /is not the one of the certificate/,
    ],
    ['no certificate', () => replace(used.cert, 'broken'), /is not a certificate in PEM/],
    ['no file', () => rmSync(used.cert), /TAPELINE_TLS_CERT names .* cannot be read/],
  ]
  use({ cert: join(folder, `${shown}.pem`), key: join(folder, `${shown}.key`) })
  for (const [what, plant, expected] of faults) {
    lines.length = 0
    plant()
    await until(what, () => lines.some(({ why }) => expected.test(why ?? '')))
    await new Promise((resolve) => setTimeout(resolve, 5 * LOOK_INTERVAL_MS))
    assert.equal(lines.filter(({ level }) => level === 50).length, 1, what)
    assert.equal((await open()).shown, shown, what)
  }
  use({ cert: join(folder, 'first.pem'), key: join(folder, 'first.key') })
  await until('a pair that fits', async () => (await open()).shown === 'first')
})

test('the service with own TLS: stream, metrics, and a sentence for what is missing', {
  skip,
}, async (t) => {
  const files = makeCertificate(folder, 'own')
  const env = { TAPELINE_TLS_CERT: files.cert, TAPELINE_TLS_KEY: files.key, TAPELINE_METRICS_PORT: '0' }
  const own: TestService = await startTestService({ env })
  t.after(() => own.stop())
  assert.match(own.url, /^https:/)
  const ca = readFileSync(files.cert)
  const socket = new WebSocket(`${own.url.replace('https', 'wss')}/v1/ws?api_key=${await own.key()}`, { ca })
  t.after(() => socket.terminate())
  const frames: string[] = []
  socket.on('message', (data: Buffer) => void frames.push(data.toString()))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.send(JSON.stringify({ type: 'ping' }))
  await until('a frame', () => frames.length > 0)
  const metrics = await (await fetch(own.service.metricsUrl ?? '')).text()
  const [, seconds] = /^tapeline_tls_certificate_expiry_timestamp_seconds (\S+)$/m.exec(metrics) ?? []
  const days = (Number(seconds) * 1000 - Date.now()) / 86_400_000
  assert.ok(days > 89 && days <= 90, `${days}`)

  await assert.rejects(
    startTestService({ env: { TAPELINE_TLS_CERT: files.cert } }),
    /TAPELINE_TLS_CERT and TAPELINE_TLS_KEY are set together/,
  )
  await assert.rejects(
    startTestService({ env: { ...env, TAPELINE_TLS_KEY: join(folder, 'first.key') } }),
    /is not the one of the certificate/,
  )
})

test('a start on an address that others reach without TLS or a proxy warns', async () => {
  lines.length = 0
  const started = await startTestService({ env: { TAPELINE_HOST: '0.0.0.0' }, log })
  await started.stop()
  assert.equal(lines.filter(({ level, msg }) => level === 40 && /without TLS/.test(msg)).length, 1)
})
