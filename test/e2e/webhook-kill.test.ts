/**
 * Must hold: whenever the whole service is killed, every event arrives at least once or is visible as pending, none is
 * charged twice, every delivery is signed, secrets overlap during a rotation and a replay delivers a range again, with
 * receivers that fail in every possible way. `TAPELINE_SOAK` sends 10,000 events and waits for the last one.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { CHARGE_NAME } from '../../src/webhooks/credits.ts'
import { openEventWriter } from '../fakes/event-writer.ts'
import { makeKey } from '../fakes/keys.ts'
import { type Answer, accept, hang, type Received, startReceiver, status } from '../fakes/receiver.ts'
import { type ChildService, dataFolder, spawnService, WIDE_PLAN } from '../fakes/service.ts'
import { chargesIn, storeEnv } from '../fakes/stores.ts'
import { until } from '../until.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const EVENTS = SOAK ? 10_000 : 160
const KILLS = SOAK ? 40 : 2
const EVENTS_AT_ONCE = 20
const BETWEEN_MS = SOAK ? 150 : 250
const SEED = 7

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const FAULTS: [share: number, answer: Answer][] = [
  [0.03, status(500)],
  [0.03, status(429, { 'Retry-After': '1' })],
  [0.03, status(301, { Location: 'http://169.254.169.254/' })],
  [0.02, (_received, response) => void response.destroy()],
  [0.005, hang],
]

/** A receiver that records what it accepted, and whether each signature was right when it arrived. */
async function startChecked(secrets: string[], answer: Answer) {
  const ids = new Set<string>()
  /** The events of each delivery. */
  const deliveries = new Map<string, string>()
  const wrong: string[] = []
  let overlapping = 0
  const receiver = await startReceiver((received, response) => {
    if (!isSigned(received, secrets)) wrong.push(String(received.headers['x-svc-delivery']))
    if (received.headers['x-svc-signature-previous'] !== undefined) overlapping++
    response.on('finish', () => {
      if (response.statusCode >= 300) return
      for (const { id } of received.events) ids.add(id)
      deliveries.set(String(received.headers['x-svc-delivery']), received.events[0]?.id ?? '')
    })
    answer(received, response)
    receiver.received.length = 0
  })
  return { receiver, ids, deliveries, wrong, overlapping: () => overlapping }
}

/** Verifies with the official library and a plain HMAC, using every secret that a receiver may have at that moment. */
function isSigned({ headers, body }: Received, secrets: readonly string[]): boolean {
  const given = [headers['x-svc-signature'], headers['x-svc-signature-previous']]
  const isPlain = (secret: string) =>
    given.includes(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  const isStandard = (secret: string) => {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  }
  const [first = '', second] = secrets
  if (!isPlain(first) || !isStandard(first)) return false
  // A delivery that was signed just before the rotation knows the first secret only.
  return second === undefined || given[1] === undefined || (isPlain(second) && isStandard(second))
}

test(`${EVENTS} events survive ${KILLS} kills of the service: none lost, none charged twice`, {
  timeout: SOAK ? 1_500_000 : 600_000,
}, async (t) => {
  const random = seeded(SEED)
  const folder = dataFolder()
  const env = { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' }
  let service: ChildService = await spawnService(folder.path, { env })
  const { config } = loadConfig({
    ...storeEnv(folder.path),
    TAPELINE_PLANS: `${folder.path}/plans.json`,
  })
  const parts = openAccounts(config, systemClock)
  const key = await makeKey(parts.accounts, { plan: WIDE_PLAN.name, credits: 10 * EVENTS })
  const writer = openEventWriter(folder.path)

  const secrets: string[] = []
  const goneSecrets: string[] = []
  const tries = new Map<string, number>()
  const failing = await startChecked(secrets, (received, response) => {
    const id = received.events[0]?.id ?? ''
    const count = (tries.get(id) ?? 0) + 1
    tries.set(id, count)
    let left = count === 1 ? random() : 1
    const fault = FAULTS.find(([share]) => {
      left -= share
      return left < 0
    })
    ;(fault?.[1] ?? accept)(received, response)
  })
  let isGone = false
  const leaving = await startChecked(goneSecrets, (received, response) => {
    const leaves = !isGone && leaving.ids.size > EVENTS / 4
    if (leaves) isGone = true
    ;(leaves ? status(410) : accept)(received, response)
  })
  t.after(async () => {
    await service.kill('SIGKILL')
    await writer.close()
    await parts.store.close()
    await Promise.all([failing.receiver.close(), leaving.receiver.close()])
    folder.remove()
  })

  async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: { 'X-API-Key': key, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${text}`)
    return JSON.parse(text)
  }
  async function create(url: string, known: string[]): Promise<string> {
    const made = await call('POST', '/v1/webhooks', { url, kinds: ['block_added'] })
    known.push(String(made.secret))
    return String(made.id)
  }
  /** State by event id; an event with several deliveries has the best of them. */
  async function listed(id: string): Promise<Map<string, string>> {
    const states = new Map<string, string>()
    let cursor: unknown = null
    do {
      const from = cursor === null ? '' : `&cursor=${cursor}`
      const page = await call('GET', `/v1/webhooks/${id}/deliveries?limit=200${from}`)
      for (const row of page.deliveries as { event_id: string; state: string }[]) {
        if (states.get(row.event_id) !== 'delivered') states.set(row.event_id, row.state)
      }
      cursor = page.next_cursor
    } while (cursor !== null)
    return states
  }

  const failingId = await create(failing.receiver.url, secrets)
  const leavingId = await create(leaving.receiver.url, goneSecrets)
  const startSeq = (await writer.events.bounds()).newestSeq
  const rotated = Promise.withResolvers<void>()
  const writing = (async () => {
    for (let sent = 0; sent < EVENTS; sent += EVENTS_AT_ONCE) {
      // The last events are written after the rotation, so that some are signed with both secrets in any case.
      if (sent === EVENTS - EVENTS_AT_ONCE) await rotated.promise
      await writer.blocks(EVENTS_AT_ONCE)
      await sleep(BETWEEN_MS)
    }
  })()
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(200 + random() * 1_000)
    if (kill === Math.floor(KILLS / 2)) {
      secrets.push(String((await call('POST', `/v1/webhooks/${failingId}/rotate`)).secret))
      rotated.resolve()
    }
    await service.kill('SIGKILL')
    service = await spawnService(folder.path, { env })
  }
  await writing
  const all: string[] = []
  for (let after = startSeq, more = true; more; ) {
    const page = await writer.events.after({ afterSeq: after, limit: 500 })
    all.push(...page.events.map(({ id }) => id))
    after = page.upToSeq
    more = page.more
  }
  assert.equal(all.length, EVENTS)

  await until(
    'every event has arrived or is visible as pending',
    async () => {
      const states = await listed(failingId)
      assert.ok(![...states.values()].includes('failed'))
      return all.every((id) => failing.ids.has(id) || states.get(id) === 'pending')
    },
    120_000,
  )
  if (SOAK) await until('every event has arrived', () => all.every((id) => failing.ids.has(id)), 600_000)

  // 410 has switched the other webhook off; later events are delivered by a replay of the whole range.
  await until('a receiver that is gone', () => isGone)
  const isOff = async () => {
    const { webhooks } = (await call('GET', '/v1/webhooks')) as { webhooks: Record<string, unknown>[] }
    const shown = webhooks.find(({ id }) => id === leavingId)
    return shown?.active === false && shown.disabled_reason === 'gone'
  }
  // The 410 is stored a moment after it was answered.
  for (let turn = 0; turn < 200 && !(await isOff()); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // A kill may have happened before the 410 was stored: then the same delivery arrived again and was accepted.
  if (await isOff()) await call('PATCH', `/v1/webhooks/${leavingId}`, { active: true })
  const takenBefore = leaving.ids.size
  const replayed = await call('POST', `/v1/webhooks/${leavingId}/replay`, { after_seq: startSeq })
  // Events that are still pending are not sent twice.
  assert.equal(Number(replayed.events) + Number(replayed.already_pending), EVENTS)
  await until('the replayed range', () => all.every((id) => leaving.ids.has(id)), 120_000)
  assert.ok(takenBefore >= EVENTS / 4)

  assert.deepEqual([...failing.wrong, ...leaving.wrong], [], 'every delivery is signed')
  await until('both secrets sign after a rotation', () => failing.overlapping() > 0)
  const webhooksMade = 2 * 10
  let used = 0
  await until('the charges', async () => {
    const { credits } = (await call('GET', '/v1/limits')) as { credits: { used: number } }
    const before = used
    used = credits.used - webhooksMade
    return used === before && used > 0
  })
  const delivered = failing.deliveries.size + leaving.deliveries.size
  let charges = await chargesIn(folder.path, CHARGE_NAME)
  // Charges are journalled a moment after they are made.
  await until('the balance is the sum of the charges', async () => {
    charges = await chargesIn(folder.path, CHARGE_NAME)
    return charges.reduce((sum, { credits }) => sum + credits, 0) === used
  })
  assert.ok(charges.every(({ credits }) => credits === 1))
  const brought = new Map([...failing.deliveries, ...leaving.deliveries])
  assert.deepEqual(
    charges.filter(({ id }) => !brought.has(id)),
    [],
    'nothing is charged that was not taken',
  )
  const paid = charges.filter(({ id }) => failing.deliveries.has(id)).map(({ id }) => brought.get(id))
  assert.equal(new Set(paid).size, paid.length, 'no event is charged twice')
  assert.equal(new Set(charges.map(({ id }) => id)).size, charges.length, 'and no delivery')
  // A killed process loses the charges of its last moments, never more.
  assert.ok(used > delivered * 0.7, `${used} credits for ${delivered} deliveries`)
})
