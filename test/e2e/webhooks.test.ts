/** The webhook endpoints over real sockets: every status code, and the whole path from the log to a receiver. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openEventWriter, testAddress } from '../fakes/event-writer.ts'
import { type Receiver, startReceiver } from '../fakes/receiver.ts'
import { startTestService, type TestService, WIDE_PLAN } from '../fakes/service.ts'
import { storedBytes } from '../fakes/stores.ts'
import { until } from '../until.ts'

let service: TestService
let receiver: Receiver
let writer: ReturnType<typeof openEventWriter>
let key: string

before(async () => {
  const fast = { ...WIDE_PLAN, name: 'fast-developer', extends: 'developer' }
  service = await startTestService({
    env: { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' },
    plans: [WIDE_PLAN, fast],
  })
  receiver = await startReceiver()
  writer = openEventWriter(service.folder)
  key = await service.key()
})
after(async () => {
  await writer.close()
  await receiver.close()
  await service.stop()
})

interface Reply {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

async function call(method: string, path: string, body?: unknown, as = key, headers = {}): Promise<Reply> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(as === '' ? {} : { 'X-API-Key': as }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

const create = (extra: object = {}, as = key) =>
  call('POST', '/v1/webhooks', { url: receiver.url, kinds: ['block_added'], ...extra }, as)

test('create answers 201 with the secret once, costs 10; list and delete cost 0', async () => {
  const own = await service.key()
  const created = await create({}, own)
  assert.equal(created.status, 201)
  assert.equal(created.headers.get('x-credits-charged'), '10')
  assert.deepEqual(Object.keys(created.body).sort(), [
    'active',
    'addresses',
    'batch',
    'created_at',
    'credits_used',
    'id',
    'kinds',
    'secret',
    'url',
  ])
  assert.match(String(created.body.secret), /^whsec_/)
  const { id } = created.body
  const list = await call('GET', '/v1/webhooks', undefined, own)
  assert.equal(list.status, 200)
  assert.equal(list.headers.get('x-credits-charged'), '0')
  const [shown] = list.body.webhooks as Record<string, unknown>[]
  assert.equal(shown?.id, id)
  assert.ok(!JSON.stringify(list.body).includes('whsec_'))
  const one = await call('GET', `/v1/webhooks/${id}`, undefined, own)
  assert.deepEqual(one.body, { ...shown, credits_used: 0 })
  assert.equal(one.headers.get('x-credits-charged'), '0')
  assert.equal((await call('GET', `/v1/webhooks/${id}`, undefined, await service.key())).status, 404)
  assert.deepEqual((await call('DELETE', `/v1/webhooks/${id}`, undefined, own)).body, {
    id,
    deleted: true,
    credits_used: 0,
  })
  assert.equal((await call('DELETE', `/v1/webhooks/${id}`, undefined, own)).status, 404)
  assert.equal((await call('GET', `/v1/webhooks/${id}`, undefined, own)).status, 404)
})

test('an event goes from the log to the receiver, signed; deliveries, status and limits show it', async () => {
  const own = await service.key()
  const { body } = await create({}, own)
  const before = receiver.received.length
  await writer.blocks(3)
  await until('three deliveries', () => receiver.received.length === before + 3)
  for (const { headers, body: text } of receiver.received.slice(before)) {
    new Webhook(String(body.secret)).verify(text, headers as Record<string, string>)
  }
  await until('history', async () => {
    const { body: page } = await call('GET', `/v1/webhooks/${body.id}/deliveries?limit=2`, undefined, own)
    const rows = page.deliveries as { state: string }[]
    return rows.length === 2 && page.next_cursor !== null && rows.every((row) => row.state === 'delivered')
  })
  const { body: first } = await call('GET', `/v1/webhooks/${body.id}/deliveries?limit=2`, undefined, own)
  const { body: second } = await call(
    'GET',
    `/v1/webhooks/${body.id}/deliveries?limit=2&cursor=${first.next_cursor}`,
    undefined,
    own,
  )
  const other = await create({}, own)
  const foreign = await call(
    'GET',
    `/v1/webhooks/${other.body.id}/deliveries?cursor=${first.next_cursor}`,
    undefined,
    own,
  )
  assert.equal(foreign.status, 422, 'a cursor belongs to its webhook')
  await call('DELETE', `/v1/webhooks/${other.body.id}`, undefined, own)
  assert.equal((second.deliveries as unknown[]).length, 1)
  assert.equal(second.next_cursor, null)
  const { body: limits } = await call('GET', '/v1/limits', undefined, own)
  assert.equal((limits.features as Record<string, boolean>).webhooks, true)
  await until('23 credits used', async () => {
    const { body: now } = await call('GET', '/v1/limits', undefined, own)
    return (now.credits as { used: number }).used === 23
  })
  await until('nothing pending', async () => {
    const { body: status } = await call('GET', '/v1/status', undefined, own)
    return (status.webhooks as { pending: number }).pending === 0
  })
  await call('DELETE', `/v1/webhooks/${body.id}`, undefined, own)
})

test('test, rotate, patch and replay', async () => {
  const own = await service.key()
  const { body } = await create({}, own)
  const path = `/v1/webhooks/${body.id}`
  const tested = await call('POST', `${path}/test`, undefined, own)
  assert.equal(tested.status, 200)
  assert.equal(tested.body.delivered, true)
  assert.equal(tested.body.status, 204)

  const rotated = await call('POST', `${path}/rotate`, undefined, own)
  assert.equal(rotated.status, 200)
  assert.notEqual(rotated.body.secret, body.secret)
  const again = await call('POST', `${path}/test`, undefined, own)
  assert.equal(again.body.delivered, true)
  const last = receiver.received.at(-1)
  assert.ok(last)
  new Webhook(String(body.secret)).verify(last.body, last.headers as Record<string, string>)
  new Webhook(String(rotated.body.secret)).verify(last.body, last.headers as Record<string, string>)

  const patched = await call('PATCH', path, { active: false, batch: true }, own)
  assert.equal(patched.status, 200)
  assert.equal(patched.body.active, false)
  assert.equal(patched.body.batch, true)
  assert.equal((await call('PATCH', path, { active: true, batch: false }, own)).body.active, true)

  const seq = await writer.blocks(4)
  await until('four events', () => receiver.accepted.size >= 4)
  await until('all planned', async () => {
    const { body: page } = await call('GET', `${path}/deliveries`, undefined, own)
    const rows = page.deliveries as { seq: number; state: string }[]
    return rows.filter((row) => row.seq > seq - 4 && row.state === 'delivered').length === 4
  })
  const count = receiver.received.length
  const replayed = await call('POST', `${path}/replay`, { after_seq: seq - 4 }, own)
  assert.equal(replayed.status, 200)
  assert.equal(replayed.body.events, 4)
  await until('four again', () => receiver.received.length === count + 4)
  const since = await call(
    'POST',
    `${path}/replay`,
    { since: new Date(Date.now() + 60_000).toISOString() },
    own,
  )
  assert.equal(since.body.events, 0)
  await call('DELETE', path, undefined, own)
})

test('a replay with an end brings that range and nothing beside it', async () => {
  const own = await service.key()
  const { body } = await create({}, own)
  const path = `/v1/webhooks/${body.id}`
  const arrived = (least: number) =>
    until(`${least} deliveries`, async () => {
      const { body: page } = await call('GET', `${path}/deliveries`, undefined, own)
      const rows = page.deliveries as { state: string }[]
      return rows.filter(({ state }) => state === 'delivered').length >= least
    })
  const before = await writer.blocks(3)
  await arrived(3)
  await new Promise((resolve) => setTimeout(resolve, 20))
  const middle = new Date().toISOString()
  await new Promise((resolve) => setTimeout(resolve, 20))
  const last = await writer.blocks(3)
  await arrived(6)
  const seqsOf = async (range: object) => {
    const count = receiver.received.length
    const { status: code, body: answer } = await call('POST', `${path}/replay`, range, own)
    assert.equal(code, 200, JSON.stringify(answer))
    await until('the range again', () => receiver.received.length >= count + Number(answer.events))
    // An event is pending until its delivery is stored, and pending events are not replayed.
    await until('settled', async () => {
      const { body: page } = await call('GET', `${path}/deliveries`, undefined, own)
      return (page.deliveries as { state: string }[]).every(({ state }) => state === 'delivered')
    })
    const seqs = receiver.received.slice(count).map(({ events }) => Number(events[0]?.seq))
    return { answer, seqs: seqs.sort((a, b) => a - b) }
  }
  const numbers = await seqsOf({ after_seq: before - 2, up_to_seq: before + 1 })
  assert.deepEqual(numbers.seqs, [before - 1, before, before + 1])
  assert.equal(numbers.answer.up_to_seq, before + 1)
  assert.equal(numbers.answer.next_after_seq, null)
  assert.deepEqual((await seqsOf({ after_seq: before - 3, until: middle })).seqs, [
    before - 2,
    before - 1,
    before,
  ])
  assert.deepEqual((await seqsOf({ since: middle, up_to_seq: last - 1 })).seqs, [before + 1, before + 2])
  const hour = new Date(Date.parse(middle) + 3_600_000).toISOString()
  assert.deepEqual((await seqsOf({ since: middle, until: hour })).seqs, [before + 1, before + 2, last])
  const refused = {
    up_to_seq: [
      { after_seq: 5, up_to_seq: 5 },
      { after_seq: 5, up_to_seq: 9, until: middle },
    ],
    until: [
      { since: middle, until: middle },
      { since: middle, until: 'tomorrow' },
    ],
  }
  for (const [param, ranges] of Object.entries(refused)) {
    for (const range of ranges) {
      const { status: code, body: answer } = await call('POST', `${path}/replay`, range, own)
      assert.equal(code, 422)
      assert.equal(answer.param, param, JSON.stringify(answer))
    }
  }
  await call('DELETE', path, undefined, own)
})

test('401 without a key, 403 on the free plan, without the scope and above the cap, 402 without credits', async () => {
  assert.equal((await create({}, '')).status, 401)
  const free = await create({}, await service.key({ plan: 'free' }))
  assert.equal(free.status, 403)
  assert.equal(free.body.error, 'tier_restricted')
  assert.equal(free.body.required_tier, 'pro')
  assert.equal((await create({}, await service.key({ scopes: ['node'] }))).body.reason, 'scope')
  const poor = await create({}, await service.key({ credits: 9 }))
  assert.equal(poor.status, 402)
  assert.equal(poor.body.error, 'credits_exhausted')

  const developer = await service.key({ plan: 'fast-developer' })
  for (let count = 0; count < 25; count++) {
    const reply = await create({}, developer)
    assert.equal(reply.status, 201, JSON.stringify(reply.body))
  }
  const over = await create({}, developer)
  assert.equal(over.status, 403)
  assert.equal(over.body.reason, 'too_many_webhooks')
  assert.deepEqual([over.body.required_tier, over.body.upgrade_url], ['business', '/plans'])
  assert.equal(over.headers.get('x-credits-charged'), '0')
})

test('POST and PATCH list what the schema finds and what lies behind it in one answer', async () => {
  const wrong = {
    url: 'ftp://10.0.0.1/hook',
    kinds: ['block_addded', 'utxos_changed'],
    addresses: ['kaspatest:qqqq'],
    batch: 'no',
    colour: 'red',
  }
  const places = ({ body }: Reply) =>
    [...new Set((body.errors as { param: string }[]).map(({ param }) => param))].sort()
  const posted = await call('POST', '/v1/webhooks?limitt=1', wrong)
  assert.equal(posted.status, 422)
  assert.deepEqual(places(posted), ['addresses.0', 'batch', 'colour', 'kinds', 'limitt', 'url'])
  // If the body has the right form, faults of the target and of the selection are reported together as well.
  const { url, kinds, addresses } = wrong
  assert.deepEqual(places(await call('POST', '/v1/webhooks', { url, kinds, addresses })), [
    'addresses.0',
    'kinds',
    'url',
  ])
  const { id } = (await create()).body
  const { url: _url, ...change } = wrong
  const patched = await call('PATCH', `/v1/webhooks/${id}`, change)
  assert.equal(patched.status, 422)
  assert.deepEqual(places(patched), ['addresses.0', 'batch', 'colour', 'kinds'])
  assert.deepEqual(places(await call('PATCH', '/v1/webhooks/nonsense', { batch: 1 })), ['batch', 'id'])
  // A member of a wrong form is a single fault; its missing contents are not reported again.
  assert.deepEqual(places(await call('POST', '/v1/webhooks', { kinds: 7, addresses: [] })), ['kinds', 'url'])
  const many = { url: receiver.url, kinds: Array.from({ length: 200 }, (_, index) => `kind_${index}`) }
  assert.deepEqual(places(await call('POST', '/v1/webhooks', many)), ['kinds'], 'each fault is named once')
})

test('422 names every fault of the body; 415 and 413 before it', async () => {
  const cases: [object, string][] = [
    [{ kinds: [] }, 'kinds'],
    [{ kinds: ['block_add'] }, 'kinds'],
    [{ kinds: ['utxos_changed'] }, 'addresses'],
    [{ kinds: ['utxos_changed'], addresses: ['kaspa:nonsense'] }, 'addresses.0'],
    [{ url: 'http://example.com:8080/' }, 'url'],
    [{ url: 'https://169.254.169.254/' }, 'url'],
    [{ url: 'https://user@example.com/' }, 'url'],
    [{ url: 'nonsense' }, 'url'],
  ]
  for (const [extra, param] of cases) {
    const reply = await create(extra)
    assert.equal(reply.status, 422, JSON.stringify(extra))
    assert.equal(reply.body.error, 'invalid_param')
    assert.equal(reply.body.param, param, JSON.stringify(reply.body))
  }
  assert.equal((await call('POST', '/v1/webhooks', { kinds: ['block_added'] })).status, 422)
  assert.equal((await create({ extra: 1 })).status, 422)
  assert.equal((await call('POST', '/v1/webhooks', '{')).status, 422)
  assert.equal((await call('POST', '/v1/webhooks', 'x', key, { 'Content-Type': 'text/plain' })).status, 415)
  assert.equal((await call('POST', '/v1/webhooks', ' '.repeat(1_048_577))).status, 413)
  const mixed = await create({ kinds: ['a', 'b'] })
  assert.equal((mixed.body.errors as unknown[]).length, 2)
})

test('a webhook of another account does not exist; an id that is none is 422; a wrong method is 405', async () => {
  const { body } = await create()
  const stranger = await service.key()
  const path = `/v1/webhooks/${body.id}`
  for (const [method, rest, payload] of [
    ['DELETE', '', undefined],
    ['PATCH', '', { active: false }],
    ['GET', '/deliveries', undefined],
    ['POST', '/test', undefined],
    ['POST', '/rotate', undefined],
    ['POST', '/replay', { after_seq: 0 }],
  ] as const) {
    assert.equal((await call(method, `${path}${rest}`, payload, stranger)).status, 404, `${method} ${rest}`)
    assert.equal(
      (await call(method, `/v1/webhooks/nonsense${rest}`, payload)).status,
      422,
      `${method} ${rest}`,
    )
  }
  assert.equal((await call('PUT', path, {})).status, 405)
  assert.equal((await call('POST', `${path}/replay`, {})).status, 422)
  assert.equal((await call('POST', `${path}/replay`, { after_seq: 1, since: '2026-01-01' })).status, 422)
  assert.equal((await call('POST', `${path}/replay`, { since: 'yesterday' })).status, 422)
  assert.equal((await call('PATCH', path, {})).status, 422)
  assert.equal((await call('PATCH', path, { url: 'https://example.com' })).status, 422)
  assert.equal((await call('PATCH', path, { kinds: ['utxos_changed'] })).status, 422)
  const narrowed = await call('PATCH', path, { kinds: ['utxos_changed'], addresses: [testAddress(5)] })
  assert.deepEqual(narrowed.body.addresses, [testAddress(5)])
  await call('DELETE', path)
})

test('an idempotency key creates one webhook however often it is sent', async () => {
  const own = await service.key()
  const body = { url: receiver.url, kinds: ['block_added'] }
  const first = await call('POST', '/v1/webhooks', body, own, { 'Idempotency-Key': 'once' })
  const second = await call('POST', '/v1/webhooks', body, own, { 'Idempotency-Key': 'once' })
  assert.equal(first.status, 201)
  assert.deepEqual(second.body, first.body, 'the secret too')
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
  assert.equal(((await call('GET', '/v1/webhooks', undefined, own)).body.webhooks as unknown[]).length, 1)
  const path = `/v1/webhooks/${first.body.id}`
  const [rotated, again] = [
    await call('POST', `${path}/rotate`, undefined, own, { 'Idempotency-Key': 'turn' }),
    await call('POST', `${path}/rotate`, undefined, own, { 'Idempotency-Key': 'turn' }),
  ]
  assert.equal(rotated.status, 200)
  assert.deepEqual(again.body, rotated.body)
  // Stored answers must not be readable without the key.
  const secrets = [first.body.secret, rotated.body.secret].map(String)
  const forms = secrets.flatMap((secret) => {
    const bare = secret.slice('whsec_'.length)
    const bytes = Buffer.from(bare, 'base64')
    return [Buffer.from(bare), Buffer.from(Buffer.from(secret).toString('base64').slice(0, 40)), bytes]
  })
  const stored = await storedBytes(service.folder)
  assert.ok(
    stored.some(({ bytes }) => bytes.includes(receiver.url)),
    'the webhook itself is found',
  )
  for (const { name, bytes } of stored) {
    for (const form of forms) assert.ok(!bytes.includes(form), `${name} holds a signing secret`)
  }
  await call('DELETE', path, undefined, own)
})
