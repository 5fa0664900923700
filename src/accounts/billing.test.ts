/** Hand-written, signed sample events in Stripe's format, against the real store. */
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import type { BillingStore } from '../store/billing.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { type Billing, createBilling, SignatureError } from './billing.ts'
import { BusyError } from './hash-queue.ts'
import { planBook } from './plans.ts'

const NOW_MS = Date.UTC(2026, 2, 14, 12)
const SECRET = 'whsec_sample_secret_of_the_tests'
const clock = manualClock(NOW_MS)
const folder = mkdtempSync(join(tmpdir(), 'tapeline-billing-'))
const store = storesIn(folder, clock).accounts()
let accounts: Accounts
let billing: Billing
let count = 0

before(() => {
  accounts = createAccounts({ store, plans: planBook(), clock, randomBytes })
  billing = createBilling({
    store,
    accounts,
    clock,
    secret: SECRET,
    planOfPrice: new Map([
      ['price_dev', 'developer'],
      ['price_biz', 'business'],
    ]),
  })
})
after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

function eventOf(type: string, object: object, createdS = NOW_MS / 1000, id = `evt_${count++}`): Buffer {
  return Buffer.from(JSON.stringify({ id, object: 'event', type, created: createdS, data: { object } }))
}

function sign(body: Buffer, secret = SECRET, timeS = NOW_MS / 1000): string {
  const tag = createHmac('sha256', secret).update(`${timeS}.`).update(body).digest('hex')
  return `t=${timeS},v1=${'0'.repeat(64)},v1=${tag},v0=ignored`
}

function subscription(customer: string, status: string, price: string, account?: string) {
  return {
    object: 'subscription',
    customer,
    status,
    metadata: account === undefined ? {} : { account_id: account },
    items: { data: [{ price: { id: price } }] },
  }
}

const receive = (body: Buffer) => billing.receive(body, sign(body))
const newAccount = () => accounts.create({ email: `${count++}@example.com`, plan: 'free' })

test('a paid subscription sets the plan, a past due one pauses, payment resumes, the end is the free plan', async () => {
  const { id } = await newAccount()
  await receive(eventOf('checkout.session.completed', { customer: 'cus_1', client_reference_id: id }))
  const step = async (status: string, price: string, atS: number) => {
    await receive(eventOf('customer.subscription.updated', subscription('cus_1', status, price), atS))
    const { plan, pausedReason } = await accounts.get(id)
    return { plan, pausedReason }
  }
  const atS = NOW_MS / 1000
  assert.deepEqual(await step('incomplete', 'price_dev', atS), { plan: 'free', pausedReason: null })
  assert.deepEqual(await step('active', 'price_dev', atS + 1), { plan: 'developer', pausedReason: null })
  assert.deepEqual(await step('past_due', 'price_dev', atS + 2), {
    plan: 'developer',
    pausedReason: 'payment_past_due',
  })
  assert.deepEqual(await step('active', 'price_biz', atS + 3), { plan: 'business', pausedReason: null })
  assert.deepEqual(await step('canceled', 'price_biz', atS + 4), { plan: 'free', pausedReason: null })
})

test('a payment does not end a pause by the operator', async () => {
  const { id } = await newAccount()
  await accounts.pause(id, 'operator')
  await receive(eventOf('customer.subscription.created', subscription('cus_2', 'active', 'price_dev', id)))
  assert.equal((await accounts.get(id)).pausedReason, 'operator')
})

test('a payment that is past due when the operator ends a pause pauses the account', async () => {
  for (const status of ['past_due', 'unpaid']) {
    const { id } = await newAccount()
    await accounts.pause(id, 'operator')
    const overdue = subscription(`cus_${id}`, status, 'price_dev', id)
    await receive(eventOf('customer.subscription.updated', overdue))
    assert.equal((await accounts.get(id)).pausedReason, 'operator')
    assert.equal((await accounts.resume(id)).pausedReason, 'payment_past_due')
    assert.equal((await accounts.resume(id)).pausedReason, null, 'the operator may let it go on')
  }
  const { id } = await newAccount()
  await accounts.pause(id, 'operator')
  assert.equal((await accounts.resume(id)).pausedReason, null)
})

test('late and repeated events change nothing', async () => {
  const { id } = await newAccount()
  const atS = NOW_MS / 1000
  await receive(
    eventOf('customer.subscription.created', subscription('cus_3', 'active', 'price_biz', id), atS),
  )
  const late = eventOf(
    'customer.subscription.updated',
    subscription('cus_3', 'past_due', 'price_biz'),
    atS - 60,
  )
  assert.equal((await receive(late)).applied, false)
  const once = eventOf(
    'customer.subscription.updated',
    subscription('cus_3', 'past_due', 'price_biz'),
    atS + 1,
  )
  assert.equal((await receive(once)).applied, true)
  await accounts.resume(id)
  assert.equal((await receive(once)).applied, false)
  assert.equal((await accounts.get(id)).pausedReason, null)
})

test('a wrong, old or missing signature is refused before the body is read', async () => {
  const { id } = await newAccount()
  const body = eventOf('customer.subscription.created', subscription('cus_4', 'active', 'price_biz', id))
  const old = sign(body, SECRET, NOW_MS / 1000 - 301)
  for (const signature of [
    undefined,
    '',
    't=1',
    sign(body, 'another secret'),
    old,
    sign(Buffer.from('{}')),
  ]) {
    await assert.rejects(billing.receive(body, signature), SignatureError)
  }
  const garbage = Buffer.from('not json')
  await assert.rejects(billing.receive(garbage, sign(garbage)), /not an event/)
  assert.equal((await accounts.get(id)).plan, 'free')
})

test('a subscription that arrives before its checkout is refused, and applied when it is sent again', async () => {
  const { id } = await newAccount()
  const atS = NOW_MS / 1000
  const early = eventOf(
    'customer.subscription.created',
    subscription('cus_early', 'active', 'price_dev'),
    atS - 2,
  )
  await assert.rejects(receive(early), /no account yet/)
  await receive(eventOf('checkout.session.completed', { customer: 'cus_early', client_reference_id: id }))
  assert.deepEqual(await receive(early), { applied: true, accountId: id })
  assert.equal((await accounts.get(id)).plan, 'developer')
})

test('a checkout that arrives after the subscription does not bring older events back', async () => {
  const { id } = await newAccount()
  const atS = NOW_MS / 1000
  const named = subscription('cus_named', 'active', 'price_biz', id)
  await receive(eventOf('customer.subscription.created', named, atS))
  await receive(eventOf('checkout.session.completed', { customer: 'cus_named', client_reference_id: id }))
  const older = subscription('cus_named', 'past_due', 'price_biz')
  const outcome = await receive(eventOf('customer.subscription.updated', older, atS - 60))
  assert.equal(outcome.applied, false)
  assert.equal((await accounts.get(id)).pausedReason, null)
})

test('a customer unknown for a day or another kind of event is taken and ignored; an unknown price is an error', async () => {
  const foreign = subscription('cus_x', 'active', 'price_dev')
  const unknown = eventOf('customer.subscription.created', foreign, NOW_MS / 1000 - 86_400)
  assert.equal((await receive(unknown)).applied, false)
  assert.equal((await receive(eventOf('invoice.created', {}))).applied, false)
  const { id } = await newAccount()
  const priceless = eventOf('customer.subscription.created', subscription('cus_5', 'active', 'price_new', id))
  await assert.rejects(receive(priceless), /No plan is set for the price price_new/)
})

const link = (customer: string, account: string) =>
  receive(eventOf('checkout.session.completed', { customer, client_reference_id: account }))
const update = (customer: string, status: string, price: string, more: object, atS = NOW_MS / 1000) =>
  receive(
    eventOf('customer.subscription.updated', { ...subscription(customer, status, price), ...more }, atS),
  )

test('a second customer changes nothing of an account that another one pays for, in any state of either', async () => {
  for (const state of ['active', 'trialing', 'past_due', 'unpaid']) {
    const { id } = await newAccount()
    await link(`cus_${id}`, id)
    await update(`cus_${id}`, 'active', 'price_biz', { id: 'sub_1' })
    await update(`cus_${id}`, state, 'price_biz', { id: 'sub_1' }, NOW_MS / 1000 + 1)
    const before = await accounts.get(id)
    const attempts = [
      await link(`evil_${id}`, id),
      await update(`evil_${id}`, 'active', 'price_dev', { id: 'sub_2', metadata: { account_id: id } }),
      await update(`evil_${id}`, 'past_due', 'price_dev', { id: 'sub_2', metadata: { account_id: id } }),
      await update(`evil_${id}`, 'canceled', 'price_dev', { id: 'sub_2', metadata: { account_id: id } }),
    ]
    for (const outcome of attempts) assert.equal(outcome.applied, false, state)
    assert.deepEqual(await accounts.get(id), before, state)
    assert.equal((await billing.customers()).get(id), `cus_${id}`)
  }
})

test('after a customer’s subscription has ended, the next paying customer takes over the account', async () => {
  const { id } = await newAccount()
  await link('cus_first', id)
  await update('cus_first', 'active', 'price_dev', { id: 'sub_1' })
  await update('cus_first', 'canceled', 'price_dev', { id: 'sub_1' }, NOW_MS / 1000 + 1)
  assert.equal((await link('cus_next', id)).applied, true)
  await update('cus_next', 'active', 'price_biz', { id: 'sub_2' }, NOW_MS / 1000 + 2)
  assert.equal((await accounts.get(id)).plan, 'business')
  const late = await update('cus_first', 'canceled', 'price_dev', { id: 'sub_1' }, NOW_MS / 1000 + 3)
  assert.equal(late.applied, false, 'the first has no say any more')
  assert.equal((await accounts.get(id)).plan, 'business')
})

test('a customer that pays for one account is not moved to another', async () => {
  const [mine, other] = [await newAccount(), await newAccount()]
  await link('cus_mover', mine.id)
  await update('cus_mover', 'active', 'price_biz', { id: 'sub_1' })
  assert.equal((await link('cus_mover', other.id)).applied, false)
  await update('cus_mover', 'canceled', 'price_biz', { id: 'sub_1' }, NOW_MS / 1000 + 1)
  assert.equal((await accounts.get(mine.id)).plan, 'free', 'its end still ends the plan that it paid for')
  assert.equal((await accounts.get(other.id)).plan, 'free')
})

test('the end of an old subscription is not the end of the new one of the same customer', async () => {
  const { id } = await newAccount()
  await link('cus_two', id)
  await update('cus_two', 'active', 'price_dev', { id: 'sub_old' })
  await update('cus_two', 'active', 'price_biz', { id: 'sub_new' }, NOW_MS / 1000 + 1)
  await update('cus_two', 'canceled', 'price_dev', { id: 'sub_old' }, NOW_MS / 1000 + 2)
  assert.equal((await accounts.get(id)).plan, 'business')
  await update('cus_two', 'canceled', 'price_biz', { id: 'sub_new' }, NOW_MS / 1000 + 3)
  assert.equal((await accounts.get(id)).plan, 'free')
})

test('events at the same time leave one payer', async () => {
  const { id } = await newAccount()
  const outcomes = await Promise.all(['cus_a', 'cus_b', 'cus_c'].map((customer) => link(customer, id)))
  assert.equal(outcomes.filter(({ applied }) => applied).length, 1)
})

test('of events of one second the beginning of a subscription is the oldest and its end the newest', async () => {
  const { id } = await newAccount()
  const atS = NOW_MS / 1000
  await link('cus_second', id)
  await update('cus_second', 'active', 'price_dev', { id: 'sub_1' }, atS)
  const incomplete = { ...subscription('cus_second', 'incomplete', 'price_dev'), id: 'sub_1' }
  await receive(eventOf('customer.subscription.created', incomplete, atS))
  await update('cus_second', 'past_due', 'price_dev', { id: 'sub_1' }, atS)
  assert.equal((await accounts.get(id)).pausedReason, 'payment_past_due')
  await update('cus_second', 'canceled', 'price_dev', { id: 'sub_1' }, atS + 1)
  assert.equal((await update('cus_second', 'active', 'price_dev', { id: 'sub_1' }, atS + 1)).applied, false)
  assert.equal((await accounts.get(id)).plan, 'free')
  assert.equal((await update('cus_second', 'active', 'price_biz', { id: 'sub_2' }, atS + 1)).applied, true)
})

test('events that are not signed do not wait, and of those that are a bounded number', async () => {
  const body = eventOf('invoice.created', {})
  const many = Array.from({ length: 1_100 }, () => billing.receive(body, sign(body)).catch((error) => error))
  await assert.rejects(billing.receive(body, sign(body, 'another secret')), SignatureError)
  const busy = (await Promise.all(many)).filter((outcome) => outcome instanceof BusyError)
  assert.equal(busy.length, 100)
  assert.equal((await receive(body)).applied, false, 'the queue is free again')
})

test('a subscription that is refused for its price does not decide about the plan', async () => {
  const { id } = await newAccount()
  const atS = NOW_MS / 1000
  const step = (sub: string, status: string, price: string, afterS: number) => {
    const object = { ...subscription('cus_refused', status, price, id), id: sub }
    return receive(eventOf('customer.subscription.updated', object, atS + afterS))
  }
  await step('sub_1', 'active', 'price_dev', 0)
  await assert.rejects(step('sub_2', 'active', 'price_unknown', 1), /No plan is set/)
  assert.equal((await accounts.get(id)).plan, 'developer')
  assert.equal((await step('sub_1', 'canceled', 'price_dev', 2)).applied, true)
  assert.equal((await accounts.get(id)).plan, 'free')
})

test('a newer status that another process applied meanwhile is applied again', async () => {
  const { id } = await newAccount()
  const customer = 'cus_two_processes'
  const linking = {
    ...bind(store),
    async linkBilling(link: Parameters<typeof store.linkBilling>[0]) {
      const isNewest = await store.linkBilling(link)
      await store.linkBilling({ ...link, lastEventAtMs: link.lastEventAtMs + 1000, status: 'canceled' })
      return isNewest
    },
  }
  const planOfPrice = new Map([['price_dev', 'developer']])
  const slow = createBilling({ store: linking, accounts, clock, secret: SECRET, planOfPrice })
  const body = eventOf('customer.subscription.updated', subscription(customer, 'active', 'price_dev', id))
  await slow.receive(body, sign(body))
  assert.equal((await accounts.get(id)).plan, 'free')
})

const bind = (of: BillingStore): BillingStore => ({
  findBilling: (customer) => of.findBilling(customer),
  listBilling: () => of.listBilling(),
  linkBilling: (link) => of.linkBilling(link),
  hasBillingEvent: (event) => of.hasBillingEvent(event),
  noteBillingEvent: (event, atMs) => of.noteBillingEvent(event, atMs),
})
