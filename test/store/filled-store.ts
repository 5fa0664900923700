/** Something in every table of a store, and what is read of it through the ports: the same from every engine. */
import type { Environment } from '../../src/core/environment.ts'
import type { AcceptedTransaction, ChainGap } from '../../src/store/chain.ts'
import { address, block, event, hash, payment, readAll } from '../../src/store/conformance/chain-engine.ts'
import type { Stores } from '../../src/store/stores.ts'
import type { ManualClock } from '../fakes/manual-clock.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { drawn, START_MS } from './drawn-data.ts'

const ENVIRONMENT: Environment = 'test'
const DAY_MS = 86_400_000
/** More than are stored one by one: the embedded engine packs older ones. */
const CHAIN_BLOCKS = 60
const PAYMENTS_PER_BLOCK = 14
const EVENTS_PER_BLOCK = 12
const ABOVE_2_53 = 2n ** 60n + 1n

const text = (random: SeededRandom) =>
  random.pick(['plain', 'two\nlines', 'with "quotes" \\ and é𝒳', '', '{NULL}', 'a,b'])

export async function fillStores(stores: Stores, random: SeededRandom, clock: ManualClock): Promise<void> {
  await fillAccounts(stores, random, clock)
  await fillMarket(stores, random, clock)
  await fillChain(stores)
  await fillJobs(stores, random, clock)
}

async function fillAccounts(stores: Stores, random: SeededRandom, clock: ManualClock): Promise<void> {
  const store = stores.accounts()
  const coordination = stores.coordination()
  for (let i = 0; i < 5; i++) {
    const id = `acc_${i}`
    await store.createAccount({
      id,
      email: `Person${i}@example.com`,
      plan: 'free',
      billingDay: 1 + i,
      createdAtMs: i,
    })
    await store.createKey({
      ...{
        id: `key_${i}`,
        accountId: id,
        environment: ENVIRONMENT,
        name: text(random),
        hash: `hash-${i}`,
        hint: 'abcd',
      },
      ...{ scopes: i % 2 === 0 ? null : ['market'], allowedCidrs: null, creditCap: i === 3 ? 5 : null },
      ...{ createdAtMs: i, expiresAtMs: null },
    })
    const entries = Array.from({ length: 20 }, (_, n) => ({
      ...{
        id: `req_${i}_${n}`,
        atMs: clock.now() + n,
        accountId: id,
        environment: ENVIRONMENT,
        keyId: `key_${i}`,
      },
      ...{
        endpoint: 'candles',
        credits: n,
        rows: n,
        charges: [{ id: `req_${i}_${n}`, credits: n }],
        budgets: [{ id: `${id}/test`, periodStartMs: 0, initialLimit: 10_000 }],
      },
    }))
    await store.settle({
      holder: 'process',
      entries,
      counts: [],
      keysSeen: [{ keyId: `key_${i}`, atMs: clock.now() }],
      leases: [
        { id: `${id}/test`, periodStartMs: 0, initialLimit: 10_000, keep: 0, need: 5, release: false },
      ],
    })
    await store.createUser({
      ...{
        id: `usr_${i}`,
        email: `User${i}@example.com`,
        role: 'customer',
        accountId: id,
        passwordHash: 'x',
        createdAtMs: i,
      },
    })
    const expiresAtMs = clock.now() + DAY_MS
    await store.createSession({ hash: `s${i}`, userId: `usr_${i}`, createdAtMs: i, expiresAtMs })
    await store.putPasswordReset({ hash: `r${i}`, userId: `usr_${i}`, expiresAtMs })
    await store.addAudit({ atMs: i, actor: 'command line', action: 'a', accountId: id, detail: text(random) })
    await store.linkBilling({
      ...{
        customer: `cus_${i}`,
        accountId: id,
        lastEventAtMs: i,
        subscription: 's',
        status: 'active',
        linkedAtMs: i,
      },
    })
    await store.noteBillingEvent(`bill_${i}`, clock.now())
    const claim = {
      id: `idem_${i}`,
      accountId: id,
      maxEntries: 9,
      bodyHash: 'b',
      claimMs: 1_000,
      rememberedMs: DAY_MS,
    }
    const claimed = await store.claimIdempotency(claim)
    const held = { id: claim.id, claim: claimed.state === 'fresh' ? claimed.claim : 0 }
    await store.finishIdempotency(held, { status: 200, headers: [], body: text(random) }, 10_000)
    await store.takeView({ accountId: id, day: '2026-02-28', credits: 3, limit: 10 })
  }
  for (const endsAtMs of [null, clock.now()]) {
    const kind = endsAtMs === null ? ('incident' as const) : ('maintenance' as const)
    const notice = { id: `ntc_${kind}`, kind, title: text(random), text: text(random) }
    await store.putNotice({ ...notice, startsAtMs: 1, endsAtMs, updatedAtMs: 2 })
  }
  for (let minute = 0; minute < 70; minute += 3) await store.markUp(clock.now() + minute * 60_000)
  await store.putInvitation({ hash: 'inv', role: 'operator', accountId: null })
  await coordination.addAttempts(['someone'], DAY_MS)
  await Promise.all([store.close(), coordination.close()])
}

/** Rows are packed however new they are. */
const PACKED_MS = 1e11

async function fillMarket(stores: Stores, random: SeededRandom, clock: ManualClock): Promise<void> {
  for (const environment of [ENVIRONMENT, 'live'] as const) {
    const store = await stores.environment(environment)
    const draw = drawn(random)
    for (let i = 0; i < (environment === ENVIRONMENT ? 30 : 4); i++) {
      clock.advance(random.int(0, 2_000))
      await store.write(draw.write())
    }
    await store.compact(-PACKED_MS, { blockRows: 5, withUnfinal: true })
    await store.close()
  }
}

async function fillChain(stores: Stores): Promise<void> {
  const { chain, events, close } = stores.chain(ENVIRONMENT)
  let expects: string | null = null
  for (let n = 1; n <= CHAIN_BLOCKS; n++) {
    const list = Array.from({ length: EVENTS_PER_BLOCK }, (_, i) =>
      event(
        i % 3 === 0 ? 'rare' : 'common',
        i % 2 === 0 ? [address(n % 7), address(8)] : [],
        n * 100,
        `${n}/${i}`,
      ),
    )
    const payments = Array.from({ length: PAYMENTS_PER_BLOCK }, (_, i) =>
      withCovenant(n, i, payment(n * 100 + i, (n + i) % 7, i === 0 ? ABOVE_2_53 : BigInt(i), i)),
    )
    const { effects, txId, parsed, fee } = payment(50_000 + n, 3, 5n, 0)
    const written = await chain.write({
      ...{ atMs: n * 100, expects, events: list, seen: [hash(n)] },
      ...(n === 1 ? { start: block(1) } : { added: [block(n, payments)] }),
      ...(n % 20 === 0 ? { entered: [{ txId, parsed, fee, effects }] } : {}),
      ...(n % 25 === 0 ? { gaps: [gapAt(n)] } : {}),
    })
    expects = written.checkpoint?.hash ?? null
    if (n === 30) await events.numberAbove(1_000)
  }
  // Two blocks are left again: their payments wait once more.
  const removed = [hash(CHAIN_BLOCKS), hash(CHAIN_BLOCKS - 1)]
  await chain.write({
    atMs: 1e6,
    expects,
    removed,
    seenTo: block(40),
    dropped: [{ txId: hash(50_000 + 20), replacedBy: hash(777) }],
  })
  await close()
}

/** Each block's second payment spends the covenant of the block before. */
function withCovenant(n: number, i: number, paid: AcceptedTransaction): AcceptedTransaction {
  if (i !== 1) return paid
  const created = [{ index: 0, amount: ABOVE_2_53, scriptPublicKey: '0000aa', address: address(n % 3) }]
  const spent = [{ txId: hash((n - 1) * 100 + 1), index: 0 }]
  return { ...paid, covenants: [{ covenantId: hash(800), text: `{"kind":"${n}"}`, spent, created }] }
}

function gapAt(n: number): ChainGap {
  const [from, to] = [block(n), block(n + 1)]
  return {
    ...{ atMs: n, fromHash: from.hash, fromBlueScore: from.blueScore, fromTimeMs: from.timeMs },
    ...{ toHash: to.hash, toTimeMs: to.timeMs, reason: 'unreadable' },
  }
}

async function fillJobs(stores: Stores, random: SeededRandom, clock: ManualClock): Promise<void> {
  const { chain: _, events, close } = stores.chain(ENVIRONMENT)
  const jobs = stores.jobs(ENVIRONMENT)
  const id = await events.logId()
  await jobs.createSubscription(
    {
      ...{ id: 'wh_a', accountId: 'acc_1', keyId: 'key_1', url: 'https://example.com/', kinds: ['common'] },
      ...{ addresses: [address(1)], batch: true, createdAtMs: 5, secret: 'sealed' },
    },
    10,
  )
  await jobs.startAt({ id, newestSeq: 0 }, undefined)
  const first = await events.after({ afterSeq: 0, limit: 40 })
  await jobs.plan({
    after: 0,
    upTo: first.upToSeq,
    events: first.events.map(({ seq, id: eventId, kind, text: body }) => ({
      seq,
      id: eventId,
      kind,
      text: body,
    })),
    jobs: first.events.map(({ seq }) => ({ subscriptionId: 'wh_a', seq })),
  })
  const claimed = await jobs.claim({ subscriptionId: 'wh_a', limit: 30, claimMs: 1_000 })
  const attempt = {
    ...{ atMs: clock.now(), status: 200, error: null, durationMs: 3 },
    ...{ requestHead: 'X: a\r\n', responseHead: 'HTTP/1.1 200', response: text(random) },
  }
  await jobs.settle(
    claimed.map((job, i) =>
      i % 3 === 0
        ? { kind: 'retry', delayMs: 60_000, job, ...attempt }
        : { kind: i % 3 === 1 ? 'delivered' : 'failed', job, ...attempt },
    ),
    [{ subscriptionId: 'wh_a', ok: true, atMs: clock.now(), disable: null }],
  )
  await Promise.all([jobs.close(), close()])
}

/** What is served, of everything but drawn reads of market data. */
export async function servedOf(stores: Stores, clock: ManualClock): Promise<Record<string, unknown>> {
  const accounts = stores.accounts()
  const chain = stores.chain(ENVIRONMENT)
  const jobs = stores.jobs(ENVIRONMENT)
  try {
    const ids = ['acc_0', 'acc_3']
    return {
      accounts: await accounts.listAccounts(),
      keys: await accounts.listKeys(),
      users: await accounts.listUsers(),
      audit: await accounts.listAudit({ limit: 100 }),
      billing: await accounts.listBilling(),
      budgets: await Promise.all(ids.map((id) => accounts.budget({ id: `${id}/test`, periodStartMs: 0 }))),
      usage: await accounts.usage({ accountId: 'acc_3', fromMs: 0, toMs: START_MS * 2 }),
      reply: await accounts.claimIdempotency({
        ...{ id: 'idem_1', accountId: 'acc_1', maxEntries: 9, bodyHash: 'b', claimMs: 1, rememberedMs: 1 },
      }),
      session: await accounts.findSession('s2'),
      reset: await accounts.findPasswordReset('r2'),
      invitation: await accounts.findInvitation('inv'),
      views: await accounts.viewsOf('acc_0', '2026-02-28'),
      log: [await chain.events.logId(), await chain.events.bounds()],
      events: await readAll(chain.events, { limit: 50 }),
      rare: await readAll(chain.events, {
        limit: 50,
        filters: [{ kinds: ['rare'], addresses: [address(3)] }],
      }),
      checkpoint: await chain.chain.checkpoint(),
      above: await chain.chain.chainAbove(hash(10)),
      covered: [
        await chain.chain.coverageFromMs(),
        await chain.chain.indexedFromMs(),
        await chain.chain.gaps(),
      ],
      seenTo: await chain.chain.seenTo(),
      pending: await chain.chain.pending(100),
      confirmed: (await chain.chain.confirmedBy([hash(33), hash(34)])).map((each) => JSON.stringify(each)),
      transactions: await Promise.all([205, 3_113, 50_040].map((n) => chain.chain.transaction(hash(n)))),
      history: await Promise.all(
        [1, 3, 999].map((n) => chain.chain.addressPage({ address: address(n), limit: 300 })),
      ),
      covenant: [
        await chain.chain.covenantSteps({ covenantId: hash(800), limit: 300 }),
        await chain.chain.covenantUtxos({ covenantId: hash(800), limit: 300 }),
        await chain.chain.addressCovenants({ address: address(1), limit: 300 }),
      ],
      unseen: await chain.chain.unseen([hash(3), hash(4_444)]),
      subscription: await jobs.getSubscription('wh_a'),
      position: [await jobs.position(), await jobs.highestSeq()],
      waiting: await jobs.pending(),
      deliveries: await jobs.deliveries({ subscriptionId: 'wh_a', limit: 100 }),
      nowMs: clock.now(),
    }
  } finally {
    await Promise.all([accounts.close(), chain.close(), jobs.close()])
  }
}
