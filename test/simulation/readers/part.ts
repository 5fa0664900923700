/**
 * The readers of the event log and of the API as a part of a simulation:
 *
 *   writer ─▶ event log ─▶ service: webhooks ─▶ receivers      callers ─▶ gate and ledger of one or two processes
 *                              └─▶ stream ─▶ network ─▶ clients
 *
 * In three of ten worlds two processes deliver: they share the position in the log and claim jobs.
 *
 * Laws: (6) what a stream client receives over all its connections is what the log has for it; (8) every delivery
 * arrives at least once, none at a wrong receiver; (9) charges equal answers; (10) every request is answered in time.
 */
import { mkdirSync } from 'node:fs'
import type { Listen } from '../../../sandbox/server/transport.ts'
import { createAccounts } from '../../../src/accounts/accounts.ts'
import { lookAtLog } from '../../../src/events/look-at-log.ts'
import { createEventTail } from '../../../src/events/publish.ts'
import { openStores, type SqliteAddress } from '../../../src/store/open-stores.ts'
import {
  AWAY_FAULT,
  beginDiskFault,
  beginNetworkFault,
  beginStrike,
  DISK_FAULTS,
  NETWORK_FAULTS,
  PAUSE_FAULT,
  PROCESS_FAULTS,
} from '../common-faults.ts'
import { createLeakWatch } from '../leaks.ts'
import { createLogNotices } from '../log-notices.ts'
import type { SimulatedProcess } from '../process.ts'
import type { FaultKind, ScheduledFault } from '../schedule.ts'
import type { Part, PartKind, Surroundings } from '../simulation.ts'
import { startAccountOperator } from './account-operator.ts'
import { type Caller, Callers } from './callers.ts'
import { judgeCredits, overdrawn } from './judge-credits.ts'
import { judgeDeliveries } from './judge-deliveries.ts'
import { Keeper } from './keeper.ts'
import { startLogWriter } from './log-writer.ts'
import { beginReceiverFault, RECEIVER_FAULTS } from './receiver-faults.ts'
import { Receivers } from './receivers.ts'
import { type ReaderService, startReaderService } from './service.ts'
import { Spending } from './spending.ts'
import { StreamClient } from './stream-clients.ts'
import { LogTruth } from './truth.ts'
import { WebhookOwner } from './webhook-owner.ts'
import { drawReaderWorld, drawSelection, PLANS } from './world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const STREAM = 'stream'
const NOWHERE = 'ws://127.0.0.1:1/'
/** Charges are at most 250 ms behind, and writing them takes a few disk operations. */
const CHARGED_WITHIN_MS = 1_500
/** How long the service waits for a store that leases no credits. */
const OWED_AFTER_MS = 4 * SECOND_MS
/** What a slow disk adds to an answer: the service waits 10 s for each of four calls, and reads in between. */
const SLOW_ANSWER_MS = 45 * SECOND_MS
/** How long after a trouble requests may still be refused because of it. */
const AFTERMATH_MS = 10 * SECOND_MS
/** How long before the end the owner of the webhooks stops changing them. */
const OWNER_RESTS_MS = 20 * MINUTE_MS
/** Within this time every reader has what was written, if nothing is broken. */
const READ_WITHIN_MS = 90 * SECOND_MS

const READER_FAULTS: readonly FaultKind[] = [
  ...RECEIVER_FAULTS,
  { kind: 'burst', weight: 1, durationMs: [0, 0], settings: (random) => ({ count: random.int(50, 700) }) },
  {
    kind: 'forget',
    weight: 1,
    durationMs: [0, 0],
    settings: (random) => ({ keepMs: random.int(0, 120_000) }),
  },
  { kind: 'kill-second', weight: 2, durationMs: [100, 5 * MINUTE_MS] },
  { ...PAUSE_FAULT, settings: (random) => ({ second: random.chance(0.5) }) },
]

/** How soon the service notices that its clock was set, and the smallest step that it notices: see `watchClock`. */
const NOTICED_WITHIN_MS = SECOND_MS
const NOTICED_STEP_MS = 30 * SECOND_MS

/** Strikes hit the accounts or the jobs, because the log has a separate writer. */
const atSomeStore = (fault: FaultKind): FaultKind =>
  fault.kind === 'strike'
    ? {
        ...fault,
        settings: (random) => ({ ...fault.settings?.(random), store: random.pick(['accounts', 'jobs']) }),
      }
    : fault

export const readersKind: PartKind = {
  name: 'readers',
  faults: [
    ...READER_FAULTS,
    ...NETWORK_FAULTS,
    ...DISK_FAULTS,
    AWAY_FAULT,
    ...PROCESS_FAULTS.map(atSomeStore),
  ],
  start: startReaders,
}

async function startReaders(surroundings: Surroundings): Promise<Part> {
  const { time, random, network, disk, folder, note } = surroundings
  const world = drawReaderWorld(random.stream('world'))
  note(
    `readers: ${JSON.stringify({ ...world, webhooks: world.webhooks.length, streams: world.streams.length })}`,
  )
  mkdirSync(folder, { recursive: true })
  const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 8, writes: 'inline', sync: 'off' }
  const outside = surroundings.startProcess('readers world')
  const randomBytes = (count: number) => outside.random.bytes(count)
  const plain = openStores(address, outside.clock, { randomBytes })
  const chain = plain.chain('test')
  const jobs = plain.jobs('test')
  const truth = new LogTruth(chain)
  const receivers = new Receivers(time, random.stream('receivers'), { any: wasTroubled })
  const ownerDraws = random.stream('owner draws')
  /** Times in which the disk failed or was slow, or a process was paused. */
  const standstills: { fromMs: number; toMs: number; isSlow: boolean }[] = []
  const deaths: number[] = []
  /** By how much the machine's clock is wrong. */
  let skewMs = 0
  /** The newest number that the log has dropped. */
  let droppedSeq = 0
  /** The address of the stream of each process that has one. */
  const streamUrls = new Map<SimulatedProcess, string>()
  const streamDraws = random.stream('streams')

  // Accounts are created before anything goes wrong.
  const accountsStore = plain.accounts()
  const accounts = createAccounts({ store: accountsStore, plans: PLANS, clock: outside.clock, randomBytes })
  const payer = await accounts.create({ email: 'owner@example.com', plan: 'reader' })
  const ownerKey = await accounts.createKey({ accountId: payer.id, environment: 'test', name: 'owner' })
  const callerKeys: Caller[] = []
  /** What the callers' accounts may spend. */
  const spendings = new Map<string, Spending>()
  for (const [index, { plan, cap }] of world.callers.entries()) {
    // Half of the callers share an account with the one before.
    const before = index > 0 && random.chance(0.5) ? callerKeys.at(-1)?.account : undefined
    const account =
      before === undefined
        ? await accounts.create({ email: `caller${index}@example.com`, plan })
        : await accounts.get(before.id)
    const made = await accounts.createKey({
      accountId: account.id,
      environment: 'test',
      name: `k${index}`,
      creditCap: cap,
    })
    const ofAccount =
      spendings.get(account.id) ??
      new Spending(account.id, PLANS.get(account.plan).creditsPerMonth, () => time.nowMs)
    spendings.set(account.id, ofAccount)
    const ofKey = cap === null ? [] : [new Spending(made.record.id, cap, () => time.nowMs)]
    const accountFacts = before ?? { id: account.id }
    callerKeys.push({
      account: accountFacts,
      key: {
        ...{ text: made.key, id: made.record.id, account: accountFacts },
        budgets: [ofAccount, ...ofKey],
      },
    })
  }

  const isWrite = (name: string) => ['write', 'prune', 'numberAbove', 'retain'].includes(name)

  /** Notifications of a store for several processes; a single process checks its log itself. */
  const notices =
    world.hasSecond && world.doesSecondDeliver ? createLogNotices(time, random.stream('notices')) : undefined
  /** A process with webhooks and stream, or one that only answers requests. */
  function startProcess(name: string, doesDeliver: boolean) {
    const process = surroundings.startProcess(name)
    process.setSkew(skewMs)
    const stores = openStores(address, process.clock).chain('test')
    const behind = disk.behind(stores, process, isWrite, 'log').events
    const events = notices?.to(process, behind) ?? behind
    let inner: ReturnType<typeof startReaderService> | undefined
    const common = { surroundings, process, address, events }
    const start = async () => {
      if (!doesDeliver) {
        inner = startReaderService(common)
        return inner.ready
      }
      const log = surroundings.logOf(process)
      const onError = (err: unknown) => log.error({ err }, 'the event log could not be read')
      const tail = await createEventTail({ store: events, clock: process.clock, onError })
      const stopLooking = lookAtLog({ events, tail, clock: process.clock, onError })
      inner = startReaderService({
        ...common,
        log: { tail, watch: () => () => {}, receivers, listen: listenTo(process) },
      })
      const service = await inner.ready
      return {
        ...service,
        async stop() {
          const isWritten = await service.stop()
          stopLooking()
          await tail.close()
          return isWritten
        },
      }
    }
    return {
      process,
      ready: start(),
      async closeFiles() {
        await inner?.closeFiles()
        await stores.close()
      },
    }
  }
  const listenTo =
    (process: SimulatedProcess): Listen =>
    async (endpoint, port) => {
      const listener = await network.listenAs(STREAM)(endpoint, port)
      streamUrls.set(process, `ws://127.0.0.1:${listener.port}/?api_key=${ownerKey.key}`)
      process.onDeath(() => streamUrls.delete(process))
      return listener
    }
  const keep = (title: string, doesDeliver: boolean) =>
    new Keeper<ReaderService>({
      start: (number) => startProcess(`${title} ${number}`, doesDeliver),
      time,
      onDeath: () => deaths.push(time.nowMs),
      note,
    })
  const first = keep('service', true)
  /** A second process for the same accounts, and perhaps for the same webhooks. */
  const second = world.hasSecond ? keep('second', world.doesSecondDeliver) : undefined
  const keepers = second === undefined ? [first] : [first, second]
  for (const keeper of keepers) await keeper.begin()
  const servicesUp = () => keepers.flatMap(({ up }) => (up === undefined ? [] : [up]))

  const owner = new WebhookOwner({
    ...{ time, receivers, truth, jobs },
    random: random.stream('owner'),
    account: { accountId: payer.id, keyId: ownerKey.record.id, plan: PLANS.get('reader') },
    services: servicesUp,
    drawSelection: () => drawSelection(ownerDraws),
    gapMs: world.ownerGapMs,
    untilMs: surroundings.endMs - OWNER_RESTS_MS,
  })
  const { facts } = owner
  for (const webhook of world.webhooks) await owner.create(webhook)
  owner.start()

  // The log, its readers and the callers.
  const writerProcess = surroundings.startProcess('writer')
  const writerStores = openStores(address, writerProcess.clock).chain('test', { inline: true })
  const writer = startLogWriter({
    time,
    random: random.stream('writer'),
    stores: disk.behind(writerStores, writerProcess, isWrite),
    gapMs: world.eventGapMs,
    onWritten: (seq) => notices?.send(seq),
  })
  const clients = world.streams.map((selections, index) => {
    const process = surroundings.startProcess(`client ${index}`)
    const parts = {
      process,
      dial: network.dialFor(process),
      url: () => (streamUrls.size === 0 ? NOWHERE : streamDraws.pick([...streamUrls.values()])),
      random: random.stream(`client ${index}`),
      droppedSeq: () => droppedSeq,
    }
    return new StreamClient(`client ${index}`, selections, parts)
  })
  const callers = new Callers({
    time,
    random: random.stream('callers'),
    services: servicesUp,
    slowMs: () =>
      standstills.some(({ isSlow, toMs }) => isSlow && toMs > time.nowMs - SLOW_ANSWER_MS)
        ? SLOW_ANSWER_MS
        : 0,
    troubles: { any: wasTroubled },
  })
  for (const [index, caller] of callerKeys.entries())
    callers.start(caller, world.callers[index]?.gapMs ?? SECOND_MS)
  const operator = startAccountOperator({
    ...{ time, accounts, random: random.stream('operator'), callers: callerKeys },
    gapMs: world.operatorGapMs,
    untilMs: surroundings.endMs - OWNER_RESTS_MS,
  })

  const leaks = createLeakWatch(surroundings, () => ({
    timers: first.process?.timers ?? 0,
    openCalls: first.process?.openCalls ?? 0,
    posts: receivers.open,
    ...network.counts(),
  }))

  async function forget(keepMs: number): Promise<void> {
    await truth.readOn()
    const position = (await jobs.position()) ?? 0
    const before = (await chain.events.bounds()).oldestSeq
    // From now on any of them may be gone when a reader looks.
    droppedSeq = Math.max(droppedSeq, truth.newestSeq)
    while ((await chain.events.retain({ maxAgeMs: keepMs, maxBytes: 1e9 })).more) {}
    const { oldestSeq } = await chain.events.bounds()
    droppedSeq = oldestSeq - 1
    // Events that the webhooks had not planned by then are lost for them, which is logged.
    if (oldestSeq > Math.max(before, position + 1))
      for (const fact of facts) fact.optional.push({ afterSeq: position, upToSeq: oldestSeq - 1 })
  }

  /** Includes the aftermath: charges and claims that are written late, credits that a dead process still holds. */
  function wasTroubled(fromMs: number, toMs: number): boolean {
    return (
      standstills.some((each) => each.fromMs <= toMs && each.toMs >= fromMs - AFTERMATH_MS) ||
      deaths.some((deathMs) => deathMs <= toMs && deathMs >= fromMs - AFTERMATH_MS) ||
      disk.hasFailed('accounts', fromMs - AFTERMATH_MS, toMs)
    )
  }

  const mayBeLost = (atMs: number) =>
    deaths.some(
      (deathMs) =>
        deathMs >= atMs &&
        (deathMs - atMs <= CHARGED_WITHIN_MS ||
          standstills.some(
            ({ fromMs, toMs }) =>
              fromMs <= deathMs && toMs + 10 * SECOND_MS >= atMs && isHeldUp(atMs, deathMs, standstills),
          )),
    )

  const mayBeOwed = (chargeId: string) => {
    const receipt = callers.receipts.find(({ id }) => id === chargeId)
    if (receipt === undefined || !receipt.route.startsWith('POST')) return false
    const { askedMs, answeredMs = time.nowMs } = receipt
    return answeredMs - askedMs >= OWED_AFTER_MS || disk.hasFailed('accounts', askedMs, answeredMs)
  }

  async function lawsNow(isComplete: boolean): Promise<string[]> {
    await truth.readOn()
    const upTo =
      truth.events.findLast(({ createdAtMs }) => createdAtMs <= time.nowMs - READ_WITHIN_MS)?.seq ?? 0
    return [
      ...receivers.found.splice(0),
      ...callers.found.splice(0),
      ...clients.flatMap((client) => client.compare(truth, upTo, isComplete)),
      ...overdrawn(
        folder,
        mayBeOwed,
        (id) => spendings.get(id.replace('/test', ''))?.most,
        operator.firstKeyOf,
      ),
    ]
  }

  return {
    begin: (fault) =>
      beginReaderFault(fault) ?? beginNetworkFault(network, STREAM, fault) ?? beginDisk(fault),
    look: () => lawsNow(false),
    async judge() {
      // While one process writes its charges, the other makes new ones, so this is over when a round takes no time.
      for (let beganMs = -1; beganMs !== time.nowMs; ) {
        beganMs = time.nowMs
        for (const { up } of keepers) await up?.ledger.flush(30_000)
      }
      const count = (what: number, name: string) => `${what} ${name}`
      note(
        `readers: ${[
          count(truth.newestSeq, 'events'),
          count(
            receivers.all.reduce((sum, { accepted }) => sum + accepted.length, 0),
            'accepted',
          ),
          count(
            clients.reduce((sum, { received }) => sum + received, 0),
            'streamed over',
          ),
          count(
            clients.reduce((sum, { connections }) => sum + connections, 0),
            'connections',
          ),
          count(callers.receipts.length, 'requests'),
          count(callers.receipts.filter(({ charged }) => charged > 0).length, 'charged'),
        ].join(', ')}`,
      )
      const deliveries = await judgeDeliveries({ jobs, truth, facts, nowMs: time.nowMs })
      return [
        ...(await lawsNow(true)),
        ...deliveries.wrong,
        ...judgeCredits(folder, {
          receipts: callers.receipts,
          deliveries: deliveries.given,
          acceptedByDeleted: deliveries.acceptedByDeleted,
          firstKeyOf: operator.firstKeyOf,
          mayBeLost,
        }),
        ...leaks.judge(),
      ]
    },
    async stop() {
      owner.stop()
      for (const client of clients) client.stop()
      await writer.stop()
      await operator.stop()
      for (const keeper of keepers) await keeper.end()
      for (const store of [writerStores, chain, jobs, accountsStore]) await store.close()
    },
  }

  function beginDisk(fault: ScheduledFault): (() => void) | undefined {
    const end = beginDiskFault(disk, fault)
    return end && standStill(end, fault.kind === 'disk-slow')
  }

  function standStill(end: () => void, isSlow: boolean): () => void {
    const entry = { fromMs: time.nowMs, toMs: Number.POSITIVE_INFINITY, isSlow }
    standstills.push(entry)
    return () => {
      end()
      entry.toMs = time.nowMs
    }
  }

  /** A clock step that is noticed restarts everything, as in `src/main.ts`. */
  function stepClock(byMs: number): void {
    skewMs += byMs
    for (const keeper of keepers) {
      keeper.process?.setSkew(skewMs)
      if (Math.abs(byMs) < NOTICED_STEP_MS) continue
      time.after(random.int(1, NOTICED_WITHIN_MS), () => keeper.stopCleanly()())
    }
  }

  function beginReaderFault(fault: ScheduledFault): (() => void) | undefined {
    const { kind, settings } = fault
    switch (kind) {
      case 'kill':
        return first.kill()
      case 'kill-second':
        return second?.kill() ?? (() => {})
      case 'restart':
        return (second !== undefined && random.chance(0.5) ? second : first).stopCleanly()
      case 'pause':
        return standStill(((settings.second === true && second) || first).pause(), false)
      case 'our-skew': {
        const offsetMs = Number(settings.offsetMs)
        stepClock(offsetMs)
        return () => stepClock(-offsetMs)
      }
      case 'strike':
        return beginStrike(surroundings, fault, (process) => {
          note('killed at a write')
          surroundings.lookSoon()
          return keepers.find((keeper) => keeper.process === process)?.kill() ?? (() => {})
        })
      case 'burst':
        writer.burst(Number(settings.count))
        return () => {}
      case 'forget':
        void forget(Number(settings.keepMs))
        return () => {}
    }
    return beginReceiverFault(receivers, fault)
  }
}

/** Whether a charge could stay unwritten until a death: only an unbroken series of standstills explains that. */
function isHeldUp(
  atMs: number,
  deathMs: number,
  faults: readonly { fromMs: number; toMs: number }[],
): boolean {
  let reachedMs = atMs + CHARGED_WITHIN_MS
  for (const { fromMs, toMs } of faults.toSorted((a, b) => a.fromMs - b.fromMs))
    if (fromMs <= reachedMs) reachedMs = Math.max(reachedMs, toMs + 10 * SECOND_MS)
  return reachedMs >= deathMs
}
