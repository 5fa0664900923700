/**
 * The owner of the webhooks: pauses them and switches them on again, changes their selection and form, rotates their
 * secrets, deletes one and creates another, while deliveries are pending and processes die. What receivers may expect
 * is derived from the answers that the owner got.
 */
import type { Plan } from '../../../src/core/plan.ts'
import type { JobsStore, SubscriptionRecord } from '../../../src/store/jobs.ts'
import type { WebhookService } from '../../../src/webhooks/webhooks.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { WebhookFacts } from './judge-deliveries.ts'
import type { Receivers } from './receivers.ts'
import type { LogTruth } from './truth.ts'
import type { Selection } from './world.ts'

const LOOK_MS = 5_000
const SWITCH_ON_MS = 2 * 60_000
const ASK_AGAIN_MS = 10_000
const ACTIONS = ['pause', 'select', 'form', 'rotate', 'delete'] as const

interface Delivering {
  readonly process: SimulatedProcess
  readonly webhooks: WebhookService | undefined
}

export interface WebhookOwnerParts {
  readonly time: VirtualTime
  readonly random: Random
  readonly account: { readonly accountId: string; readonly keyId: string; readonly plan: Plan }
  /** The services that are up. */
  readonly services: () => readonly Delivering[]
  readonly receivers: Receivers
  readonly truth: LogTruth
  /** Without faults. */
  readonly jobs: JobsStore
  readonly drawSelection: () => Selection
  /** The time between two changes; 0 if the owner only switches on again what was switched off. */
  readonly gapMs: number
  /** Nothing is changed after this instant, so that everything can be delivered. */
  readonly untilMs: number
}

export class WebhookOwner {
  readonly facts: WebhookFacts[] = []
  readonly #parts: WebhookOwnerParts
  #made = 0
  #last: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(parts: WebhookOwnerParts) {
    this.#parts = parts
  }

  /** Begins to act. */
  start(): void {
    const { time, random, gapMs, untilMs } = this.#parts
    const every = (ms: () => number, run: () => void) => {
      time.after(ms(), () => {
        if (this.#isStopped) return
        run()
        every(ms, run)
      })
    }
    every(
      () => LOOK_MS,
      () => void this.#noteSwitchedOff(),
    )
    every(
      () => SWITCH_ON_MS,
      () => this.#inTurn(() => this.#switchOn()),
    )
    if (gapMs === 0) return
    every(
      () => Math.ceil(-Math.log(1 - random()) * gapMs),
      () => {
        if (time.nowMs < untilMs) this.#inTurn(() => this.#act())
      },
    )
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Creates a webhook with its own receiver. */
  async create(selection: Selection & { readonly batch: boolean }): Promise<void> {
    const { receivers, truth, account, time } = this.#parts
    const url = `https://receiver${this.#made}.example.com/hook`
    const once = `webhook ${this.#made++}`
    const { kinds, addresses, batch } = selection
    const receiver = receivers.add(url, { kinds, addresses, batch })
    const asked = { url, kinds, addresses, batch }
    // Like a careful client: repeated with the same idempotency key until there is an answer.
    for (;;) {
      const created = await this.#ask(({ subscriptions }) => subscriptions.create(account, asked, once))
      if (created === undefined) {
        if (this.#isStopped) return
        await new Promise<void>((resolve) => void time.after(ASK_AGAIN_MS, resolve))
        continue
      }
      receiver.secrets.push(created.secret)
      await truth.readOn()
      // Events that were in the log before need not be delivered to this webhook.
      this.facts.push({
        id: created.subscription.id,
        receiver,
        optional: [{ afterSeq: 0, upToSeq: truth.newestSeq }],
      })
      return
    }
  }

  /** Runs one change after the other. */
  #inTurn(act: () => Promise<void>): void {
    this.#last = this.#last.then(act, act)
  }

  async #act(): Promise<void> {
    const { random, account, time } = this.#parts
    const fact = random.pick(this.facts.filter(({ receiver }) => receiver.deletedMs === undefined))
    const record = await this.#recordOf(fact)
    if (record === undefined) return
    const { receiver, id } = fact
    switch (random.pick(ACTIONS)) {
      case 'pause':
        await this.#noteSwitchedOff()
        await this.#ask(({ subscriptions }) => subscriptions.patch(account, id, { active: false }))
        await this.#noteSwitchedOff()
        return
      case 'select':
        return this.#select(fact)
      case 'form': {
        const batch = !record.batch
        receiver.forms = [true, false]
        await this.#ask(({ subscriptions }) => subscriptions.patch(account, id, { batch }))
        const now = await this.#recordOf(fact)
        if (now === undefined) return
        receiver.forms = [now.batch]
        receiver.formSinceMs = time.nowMs
        return
      }
      case 'rotate': {
        receiver.newest = undefined
        receiver.isRotated = true
        const rotated = await this.#ask(({ subscriptions }) => subscriptions.rotate(account.accountId, id))
        if (rotated !== undefined) receiver.newest = { secret: rotated.secret, sinceMs: time.nowMs }
        return
      }
      case 'delete': {
        await this.#ask(({ subscriptions }) => subscriptions.remove(account.accountId, id))
        if ((await this.#recordOf(fact)) !== undefined) return
        receiver.deletedMs = time.nowMs
        await this.create({ ...this.#parts.drawSelection(), batch: random.chance(0.3) })
      }
    }
  }

  /** Up to the position events are planned by the old selection, those written after the answer by the new one. */
  async #select(fact: WebhookFacts): Promise<void> {
    const { jobs, truth, account, drawSelection } = this.#parts
    const { receiver, id } = fact
    const afterSeq = (await jobs.position()) ?? 0
    const { kinds, addresses } = drawSelection()
    const before = receiver.wishes.at(-1)
    const wish = { kinds, addresses, afterSeq, upToSeq: Number.POSITIVE_INFINITY }
    receiver.wishes.push(wish)
    await this.#ask(({ subscriptions }) => subscriptions.patch(account, id, { kinds, addresses }))
    const record = await this.#recordOf(fact)
    await truth.readOn()
    if (record === undefined || before === undefined) return
    const isDone = sameTexts(record.kinds, kinds) && sameTexts(record.addresses, addresses)
    if (isDone) before.upToSeq = truth.newestSeq
    else receiver.wishes = receiver.wishes.filter((each) => each !== wish)
  }

  /** Events planned from now on are not for webhooks that are switched off, also by 410, until they are on again. */
  async #noteSwitchedOff(): Promise<void> {
    const { jobs, time } = this.#parts
    for (const fact of this.facts) {
      const record = await this.#recordOf(fact)
      const open = fact.optional.find(({ upToSeq }) => upToSeq === undefined)
      if (record?.active === false && open === undefined) {
        fact.optional.push({ afterSeq: fact.plannedSeq ?? 0, upToSeq: undefined })
        fact.receiver.pausedMs = time.nowMs
      }
      if (record?.active === true) fact.plannedSeq = (await jobs.position()) ?? 0
    }
  }

  async #switchOn(): Promise<void> {
    const { account, truth } = this.#parts
    await this.#noteSwitchedOff()
    for (const fact of this.facts) {
      const record = await this.#recordOf(fact)
      if (record?.active !== false) continue
      fact.receiver.pausedMs = undefined
      await this.#ask(({ subscriptions }) => subscriptions.patch(account, fact.id, { active: true }))
      const again = await this.#recordOf(fact)
      if (again?.active !== true) continue
      await truth.readOn()
      for (const span of fact.optional) span.upToSeq ??= truth.newestSeq
    }
  }

  #recordOf({ id }: WebhookFacts): Promise<SubscriptionRecord | undefined> {
    return this.#parts.jobs.getSubscription(id)
  }

  /** Undefined if it was refused or nobody answers; it may have been done nevertheless. */
  async #ask<T>(run: (webhooks: WebhookService) => Promise<T>): Promise<T | undefined> {
    const able = this.#parts
      .services()
      .filter(({ webhooks, process }) => webhooks !== undefined && !process.isStopped)
    if (able.length === 0) return undefined
    const { process, webhooks } = this.#parts.random.pick(able)
    const { promise, resolve } = Promise.withResolvers<T | undefined>()
    const forget = process.onDeath(() => resolve(undefined))
    if (webhooks !== undefined) run(webhooks).then(resolve, () => resolve(undefined))
    const answer = await promise
    forget()
    return answer
  }
}

const sameTexts = (some: readonly string[], others: readonly string[]) =>
  JSON.stringify([...some].sort()) === JSON.stringify([...others].sort())
