/**
 * Must hold: whenever the delivering process is killed, every event arrives at least once or is visible as
 * pending, and none is charged twice, with a receiver that fails in every way there is.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Answer, accept, hang, startReceiver, status, until } from '../../test/fakes/receiver.ts'
import { blockEvent, startRig } from '../../test/fakes/webhook-rig.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined
const EVENTS = SOAK ? 10_000 : 200
const KILLS = SOAK ? 40 : 3
const CHILD = join(import.meta.dirname, '../../test/fakes/webhook-process.ts')

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test(`${EVENTS} events survive ${KILLS} kills: none lost, none charged twice`, {
  timeout: SOAK ? 900_000 : 60_000,
}, async (t) => {
  const random = seeded(7)
  const setup = await startRig()
  const { folder } = setup
  const owner = await setup.createOwner()
  const tries = new Map<string, number>()
  const nasty: Answer[] = [
    status(500),
    status(429, { 'Retry-After': '0' }),
    status(301, { Location: 'http://169.254.169.254/' }),
    hang,
    status(410),
    (_received, response) => void response.destroy(),
  ]
  const receiver = await startReceiver((received, response) => {
    const id = received.events[0]?.id ?? ''
    const count = (tries.get(id) ?? 0) + 1
    tries.set(id, count)
    const fault = count <= 3 && random() < 0.15 ? nasty[Math.floor(random() * nasty.length)] : undefined
    ;(fault ?? accept)(received, response)
  })
  t.after(() => receiver.close())
  const { subscription } = await setup.webhooks.subscriptions.create(owner, {
    url: receiver.url,
    kinds: ['block_added'],
    addresses: [],
    batch: false,
  })
  // From here on only the other process delivers; this one writes events and switches the webhook on again.
  await setup.webhooks.close()
  const { jobs, events } = setup

  let child = await start(folder)
  const writing = (async () => {
    for (let sent = 0; sent < EVENTS; sent += 20) {
      await events.append(Array.from({ length: 20 }, (_, index) => blockEvent(sent + index)))
      await sleep(SOAK ? 60 : 40)
    }
  })()
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(300 + random() * 900)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await jobs.updateSubscription(subscription.id, { active: true, disabledReason: null })
    child = await start(folder)
  }
  await writing
  await until(
    'everything delivered',
    async () => {
      const current = await jobs.getSubscription(subscription.id)
      if (current?.active === false) await jobs.updateSubscription(subscription.id, { active: true })
      return (
        receiver.accepted.size + (await jobs.pending()).count >= EVENTS && (await jobs.pending()).count === 0
      )
    },
    SOAK ? 600_000 : 40_000,
  )
  child.send('stop')
  await once(child, 'exit')

  assert.equal(receiver.accepted.size, EVENTS)
  assert.equal((await jobs.position()) ?? 0, EVENTS)
  const used = await setup.creditsUsed(owner.accountId)
  assert.ok(used <= EVENTS, `${used} credits for ${EVENTS} events`)
  // A killed process takes the charges of its last moments with it, never more.
  assert.ok(used > EVENTS * 0.8, `${used} credits for ${EVENTS} events`)
  await setup.tail.close()
  await setup.close()
})

async function start(folder: string): Promise<ChildProcess> {
  const child = fork(CHILD, [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  await once(child, 'message')
  return child
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
