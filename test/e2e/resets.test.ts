/**
 * Connections that are reset or half-closed at any moment, in every state that a connection to the service can be
 * in: the process survives, serves others and keeps none of them open. The moments are drawn from a printed seed.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { makeKeyBeside } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'
import { until } from '../until.ts'

const SEED = Number(process.env.TAPELINE_SOAK_SEED ?? randomBytes(4).readUInt32LE())
const ROUNDS = process.env.TAPELINE_SOAK === 'on' ? 20_000 : 80
const AT_ONCE = 20
const MAX_WAIT_MS = 30

const folder = dataFolder()
let service: ChildService
let key: string
before(async () => {
  service = await spawnService(folder.path)
  key = await makeKeyBeside(folder.path)
})
after(async () => {
  await service.kill('SIGKILL')
  folder.remove()
})

let state = SEED
/** xorshift32: the same seed draws the same moments. */
function draw(below: number): number {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) % below
}

const WS_KEY = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const asksUpgrade = (path: string, to: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n${more}\r\n`
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`

/** A masked text frame of a client. */
function frame(text: string, opcode = 1): Buffer {
  const body = Buffer.from(text)
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | body.length, 0, 0, 0, 0]), body])
}

/** What a client sends, in parts between which it may wait or disconnect. */
function statesOf(): Record<string, (string | Buffer)[]> {
  const withKey = `X-API-Key: ${key}\r\n`
  const body = '{"jsonrpc":"2.0","id":1,"method":"getInfo","params":{}}'
  const post = (length: number, more = '') =>
    `POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${withKey}${more}Content-Length: ${length}\r\n\r\n`
  const stream = asksUpgrade(`/v1/ws?api_key=${key}`, 'websocket', WS_KEY)
  const list = get('/v1/markets?limit=500', withKey)
  return {
    'before the head': [''],
    'in the head': ['GET /health HT', 'TP/1.1\r\nHost: x\r\n'],
    'a plain request': [get('/health')],
    'an answer that is being written': [get('/openapi.json')],
    'in the body': [post(body.length), body.slice(0, 20), body.slice(20)],
    'a whole body': [post(body.length) + body],
    'handed over': [post(body.length, 'Expect: 100-continue\r\n'), body],
    pipelined: [get('/health') + list + list, list + get('/docs'), list],
    'an upgrade to h2c': [asksUpgrade('/health', 'h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__\r\n')],
    'a refused upgrade': [asksUpgrade('/nowhere', 'websocket', WS_KEY)],
    'an upgrade in two parts': [stream.slice(0, 60), stream.slice(60)],
    'an upgrade with a body': [asksUpgrade('/v1/ws', 'websocket', `${WS_KEY}Content-Length: 9\r\n`), '12345'],
    'a broken handshake': [asksUpgrade('/v1/ws', 'websocket')],
    'a stream without a key': [asksUpgrade('/v1/ws', 'websocket', WS_KEY), frame('{"op":"ping"}')],
    'a stream that opens': [stream],
    'an open stream': [stream, frame('{"op":"ping"}'), frame('', 9), frame('', 10)],
    'a subscribed stream': [
      stream,
      frame('{"op":"subscribe","kinds":["block_added"]}'),
      frame('{"op":"ping"}'),
    ],
    'a stream with a broken frame': [stream, Buffer.from([0xff, 0xff, 0xff])],
    'a stream that says goodbye': [stream, frame('\u0003\u00e8', 8)],
    'no HTTP at all': ['\u0016\u0003\u0001 hello', '\r\n\r\n'],
    CONNECT: ['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function meet(parts: readonly (string | Buffer)[]): Promise<void> {
  const { port } = new URL(service.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  socket.on('error', () => {})
  // Some clients read, some leave the answers unread.
  if (draw(2) === 0) socket.on('data', () => {})
  const leavesAfter = draw(parts.length + 1)
  const halfCloses = draw(3) === 0
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  for (const part of parts.slice(0, leavesAfter)) {
    if (part.length > 0) socket.write(part)
    if (draw(2) === 0) await pause(draw(MAX_WAIT_MS))
  }
  if (halfCloses) {
    socket.end()
    await pause(draw(MAX_WAIT_MS))
  }
  if (draw(4) === 0) socket.destroy()
  else socket.resetAndDestroy()
}

function socketsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}

test(`${ROUNDS} connections reset or half-closed at random (seed ${SEED}) harm neither the process nor others`, async () => {
  const states = Object.entries(statesOf())
  assert.equal((await fetch(`${service.url}/health`, { headers: { connection: 'close' } })).status, 200)
  const before = process.platform === 'linux' ? socketsOf(service.pid) : 0
  for (let round = 0; round < ROUNDS; round += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => meet(states[(round + index) % states.length]?.[1] ?? [])),
    )
    assert.equal(service.child.exitCode, null, `the service ended:\n${service.printed()}`)
  }
  const answer = await fetch(`${service.url}/health`, { headers: { connection: 'close' } })
  assert.equal(answer.status, 200)
  assert.doesNotMatch(service.printed(), /uncaught|unhandled|"level":(50|60)/i)
  if (process.platform === 'linux') {
    await until('no connection is held', () => socketsOf(service.pid) <= before)
  }
})

test('a request for another protocol is answered as plain HTTP', async () => {
  const ask = async (text: string, answers: number): Promise<string> => {
    const socket: Socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' })
    let got = ''
    socket.on('data', (chunk) => {
      got += chunk
    })
    socket.write(text)
    await until('the answers', () => (got.match(/HTTP\/1\.1 /g)?.length ?? 0) >= answers)
    socket.destroy()
    return got
  }
  // What follows on the connection is read as the next request, because the protocol was not switched.
  const h2c = await ask(asksUpgrade('/health', 'h2c', 'HTTP2-Settings: AAMAAABk\r\n') + get('/v1/health'), 2)
  assert.match(h2c, /^HTTP\/1\.1 200 OK[\s\S]*"status":"ok"[\s\S]*HTTP\/1\.1 200 OK[\s\S]*"status":"ok"/)
  const posted = (more: string) =>
    `POST /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n${more}Content-Length: 2\r\n\r\n[]`
  assert.match(await ask(posted('') + get('/health'), 2), /"code":-32600[\s\S]*"status":"ok"/)
  // The same with Node's parser; that connection ends with the answer.
  assert.match(await ask(posted('Trailer: x\r\n'), 1), /Connection: close[\s\S]*"code":-32600/i)
  assert.match(
    await ask(asksUpgrade('/nowhere', 'websocket', WS_KEY), 1),
    /^HTTP\/1\.1 404[\s\S]*Connection: close[\s\S]*"not_found"/i,
  )
})

test('curl --http2 gets its answer', async (t) => {
  const curl = promisify(execFile)
  const version = await curl('curl', ['--version']).catch(() => undefined)
  if (version === undefined || !/HTTP2/.test(version.stdout)) return t.skip('no curl that speaks HTTP/2')
  const { stdout } = await curl('curl', ['-s', '--max-time', '60', '--http2', `${service.url}/health`])
  assert.equal(JSON.parse(stdout).status, 'ok')
})
