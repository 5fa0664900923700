/** Resolves names of receivers with our own DNS server: what it answers, and what it leaves unanswered. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { after, before, test } from 'node:test'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'
import { createGuard, TargetError } from './guard.ts'
import { dnsResolve } from './resolve-host.ts'

const TYPE_A = 1
const TYPE_AAAA = 28
const NOT_FOUND = 3
const PUBLIC = [93, 184, 216, 34]
const PUBLIC_6 = [0x26, 0x06, 0x47, 0, 0x47, 0, ...Array(8).fill(0), 0x11, 0x11]
const LOOPBACK_6 = [...Array(15).fill(0), 1]
const MAPPED = [...Array(10).fill(0), 255, 255, 127, 0, 0, 1]

/**
 * Raw addresses by name. Other names are unknown. Names that begin with `silent` are not answered, and those that begin
 * with `half` not for IPv6.
 */
const ZONE: Record<string, { a?: number[][]; aaaa?: number[][] }> = {
  'public.example': { a: [PUBLIC], aaaa: [PUBLIC_6] },
  'only-4.example': { a: [PUBLIC] },
  'half.example': { a: [PUBLIC] },
  'only-6.example': { aaaa: [PUBLIC_6] },
  'inside.example': { a: [PUBLIC, [10, 0, 0, 5]] },
  'loopback.example': { a: [PUBLIC], aaaa: [LOOPBACK_6] },
  'mapped.example': { a: [PUBLIC], aaaa: [MAPPED] },
  'zero.example': { a: [[0, 0, 0, 0]] },
  'nat64.example': { aaaa: [[0, 0x64, 0xff, 0x9b, ...Array(8).fill(0), 127, 0, 0, 1]] },
}

const server = createSocket('udp4')
const silent = new Set<string>()
let servers: string[] = []
before(async () => {
  server.on('message', (question, from) => {
    const name = nameIn(question)
    if (name.startsWith('silent')) silent.add(name)
    else if (name.startsWith('half') && typeIn(question, name) === TYPE_AAAA) return
    else server.send(answerTo(question, name), from.port, from.address)
  })
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  servers = [`127.0.0.1:${server.address().port}`]
})
after(() => server.close())

function nameIn(question: Buffer): string {
  const labels: string[] = []
  for (let at = 12; question[at] !== 0; at += (question[at] ?? 0) + 1)
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)))
  return labels.join('.').toLowerCase()
}

function typeIn(question: Buffer, name: string): number {
  return question.readUInt16BE(12 + name.length + 2)
}

function answerTo(question: Buffer, name: string): Buffer {
  const end = 12 + name.length + 2 + 4
  const type = typeIn(question, name)
  const known = ZONE[name]
  const found = (type === TYPE_A ? known?.a : type === TYPE_AAAA ? known?.aaaa : undefined) ?? []
  const head = Buffer.alloc(12)
  head.writeUInt16BE(question.readUInt16BE(0), 0)
  head.writeUInt16BE(0x8180 | (known === undefined ? NOT_FOUND : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(found.length, 6)
  const records = found.map((bytes) =>
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]),
  )
  return Buffer.concat([head, question.subarray(12, end), ...records])
}

test('the addresses of both families; a name that has only one of them, and one that has none', async () => {
  const resolve = dnsResolve(systemClock, servers)
  const four = { address: '93.184.216.34', family: 4 }
  const six = { address: '2606:4700:4700::1111', family: 6 }
  assert.deepEqual(await resolve('public.example'), [four, six])
  assert.deepEqual(await resolve('only-4.example'), [four])
  assert.deepEqual(await resolve('only-6.example'), [six])
  await assert.rejects(resolve('nobody.example'), TargetError)
})

test('a name whose server does not answer for one of the families has the addresses of the other', async () => {
  const four = { address: '93.184.216.34', family: 4 }
  assert.deepEqual(await dnsResolve(systemClock, servers)('half.example'), [four])
})

test('a name is refused for any of its addresses that is not public', async () => {
  const guard = createGuard({ allowPrivate: false, resolve: dnsResolve(systemClock, servers) })
  await guard.check('https://public.example/')
  for (const name of ['inside', 'loopback', 'mapped', 'zero', 'nat64']) {
    await assert.rejects(guard.check(`https://${name}.example/`), TargetError, name)
    await assert.rejects(guard.check(`https://${name}.example./`), TargetError, name)
  }
})

test('names whose server keeps silent hold up no other', async () => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const resolve = dnsResolve({ ...systemClock, sleep: () => over }, servers)
  const waiting = Array.from({ length: 40 }, (_, n) => resolve(`silent-${n}.example`))
  const refused = Promise.allSettled(waiting)
  await until('all silent names were asked', () => silent.size === 40)
  assert.equal((await dnsResolve(systemClock, servers)('public.example')).length, 2)
  end()
  for (const { status } of await refused) assert.equal(status, 'rejected')
})
