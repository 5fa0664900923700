import type { Budget } from '../accounts/budget.ts'
import type { Charge } from '../accounts/charge.ts'
import type { Idempotency, IdempotencyScope } from '../accounts/idempotency.ts'
import type { Credential } from '../accounts/key-ring.ts'
import type { Ledger } from '../accounts/ledger.ts'
import type { ViewAllowance, ViewAllowances } from '../accounts/view-allowance.ts'
import type { EndpointAnswer } from '../contract/endpoint.ts'
import { ApiError } from '../core/errors.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { ActiveCounts } from '../kit/active-counts.ts'
import type { Logger } from '../kit/log.ts'
import { takeHeavySlots, takeOnlyPlace } from './heavy-slots.ts'
import type { CachedPage, PageCache } from './page-cache.ts'
import { askedRows, cappedRows, isFailure, priceOf, rowsOf } from './price.ts'
import { matchesEtag, type Rendered, render } from './render.ts'
import { contentReply, meterHeaders, replyOf, viewHeaders } from './reply.ts'
import type { GateReply, HeaderList } from './request.ts'
import { remainingOf, runTask, type ServedRequest, type Task } from './task.ts'

export interface MeterDeps<Services> {
  readonly ledger: Ledger
  readonly idempotency: Idempotency
  readonly allowances: ViewAllowances
  readonly upgradeUrl: string
  readonly log: Logger
  readonly pages: PageCache<Services>
  /** Heavy calls in flight per account; counted here if omitted. */
  readonly heavyCalls?: ActiveCounts<string>
}

/** The balance can shrink between reading a list and paying for it; a shorter one is then read. */
const MAX_READS = 3
/** The longest page that any plan allows. */
const MAX_PREVIEW_ROWS = 10_000

/** Runs admitted requests and charges exactly what was read, before the answer is sent. */
export class Meter<Services> {
  readonly #deps: MeterDeps<Services>
  /**
   * Credits reserved for running requests. The effect of a POST (a call to a node, a new webhook) cannot be undone if
   * the balance turns out to be empty afterwards, so its price is reserved before it runs.
   */
  readonly #reserved = new ActiveCounts<Budget>()
  readonly #heavy: ActiveCounts<string>
  readonly #single = new ActiveCounts<string>()

  constructor(deps: MeterDeps<Services>) {
    this.#deps = deps
    this.#heavy = deps.heavyCalls ?? new ActiveCounts()
  }

  runAndCharge(task: Task<Services>): GateReply | Promise<GateReply> {
    return this.#inHeavySlot(task, () => this.#run(task, 1, 0))
  }

  /** Charges for a cached page; undefined if the balance does not cover all of it. */
  chargeFor(
    request: ServedRequest<Services>,
    { answer, rendered }: CachedPage<Services>,
  ): GateReply | undefined | Promise<GateReply | undefined> {
    const { credential, route } = request
    const unchanged = matchesEtag(request.request.headers['if-none-match'], rendered.etag)
    const credits = unchanged ? 0 : priceOf(request, answer)
    const reply = () => replyOf(request, answer, rendered, { rowLimit: answer.count, credits, unchanged })
    if (credits === 0) {
      this.#deps.ledger.count(credential, route.name, 'free')
      return reply()
    }
    if (credits > this.#available(credential)) return undefined
    const paid = this.#charge(request, credits, answer)
    return typeof paid === 'boolean'
      ? paid
        ? reply()
        : undefined
      : paid.then((isPaid) => (isPaid ? reply() : undefined))
  }

  /** A POST with an idempotency key runs once; its answer is repeated without a charge. */
  runOnceAndCharge(task: Task<Services>): GateReply | Promise<GateReply> {
    const key = task.request.headers['idempotency-key']
    return key === undefined ? this.#runReserved(task) : this.#runWithKey(task, String(key))
  }

  /** Runs a view of an account holder: free within the daily allowance, beyond it at the price of a request. */
  async runFree(task: Task<Services>): Promise<GateReply> {
    const { credential, route, input } = task
    const { accountId, plan } = credential
    const { allowances } = this.#deps
    const before = await allowances.read(accountId, plan)
    // The allowance is only for reading; a request that changes something is always charged.
    const isRead = route.endpoint.method === 'GET'
    if (!isRead || route.endpoint.cost.least(input) > before.remaining) return this.#runCharged(task, before)
    const options = { rowLimit: cappedRows(task), dryRun: false, heavySlots: 0 }
    const answer = await this.#inHeavySlot(task, () => runTask(task, options))
    const price = task.request.method === 'HEAD' ? 0 : priceOf(task, answer)
    const { taken, ...left } =
      price === 0 ? { taken: true, ...before } : await allowances.take(accountId, plan, price)
    if (!taken) return this.#runCharged(task, left)
    const rendered = await render(answer, task.format, route.endpoint.returns)
    return contentReply(answer, rendered, viewHeaders(left, { price, charged: 0 }), false)
  }

  /** What the answer would cost; charges nothing. */
  async preview(task: Task<Services>): Promise<GateReply> {
    const { credential, route } = task
    const served = this.#affordableRows(task, false)
    // One row more than the plan allows shows that the page would be cut.
    const most = Math.min(credential.plan.maxRowsPerRequest + 1, MAX_PREVIEW_ROWS)
    const asked = Math.min(askedRows(task.input), most)
    const options = { rowLimit: asked, dryRun: true, heavySlots: 0 }
    const found = await this.#inHeavySlot(task, () => runTask(task, options))
    const answer = found.kind === 'list' ? { ...found, count: Math.min(found.count, served) } : found
    this.#deps.ledger.count(credential, route.name, 'free')
    const remaining = remainingOf(credential)
    const paidRows = this.#rowsPaidFor(task)
    const allowed = Math.min(credential.plan.maxRowsPerRequest, paidRows ?? Number.POSITIVE_INFINITY)
    const value = {
      dry_run: true,
      rows: rowsOf(answer),
      credits: priceOf(task, answer),
      credits_remaining: remaining,
      clamped: answer.kind === 'list' && answer.clamped,
      rows_affordable: paidRows,
      would_be_capped: found.kind === 'list' && found.count > allowed,
    }
    const headers = meterHeaders(credential, task.nowMs, { charged: 0, remaining })
    headers.push('Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'private, no-cache')
    return { status: 200, headers, body: JSON.stringify(value) }
  }

  #run(task: Task<Services>, reads: number, heavySlots: number): GateReply | Promise<GateReply> {
    const rowLimit = reads === 1 && isConditional(task) ? cappedRows(task) : this.#affordableRows(task, true)
    const answer = runTask(task, { rowLimit, dryRun: false, heavySlots })
    return answer instanceof Promise
      ? answer.then((value) => this.#settle(task, value, rowLimit, reads))
      : this.#settle(task, answer, rowLimit, reads)
  }

  #settle(
    task: Task<Services>,
    answer: EndpointAnswer,
    rowLimit: number,
    reads: number,
  ): GateReply | Promise<GateReply> {
    const rendered =
      this.#deps.pages.store(task, answer) ?? render(answer, task.format, task.route.endpoint.returns)
    return rendered instanceof Promise
      ? rendered.then((page) => this.#settleRendered(task, answer, page, { rowLimit, reads }))
      : this.#settleRendered(task, answer, rendered, { rowLimit, reads })
  }

  #settleRendered(
    task: Task<Services>,
    answer: EndpointAnswer,
    rendered: Rendered,
    { rowLimit, reads }: { rowLimit: number; reads: number },
  ): GateReply | Promise<GateReply> {
    const { request, route, credential } = task
    const unchanged = matchesEtag(request.headers['if-none-match'], rendered.etag)
    const credits = request.method === 'HEAD' || unchanged ? 0 : priceOf(task, answer)
    const reply = (charged = credits) =>
      replyOf(task, answer, rendered, { rowLimit, credits: charged, unchanged })
    if (credits === 0) {
      this.#deps.ledger.count(credential, route.name, isFailure(answer) ? 'failed' : 'free')
      return reply()
    }
    const settled = (isPaid: boolean) => {
      if (isPaid) return reply()
      if (route.endpoint.method !== 'GET')
        return this.#chargeRest(task, chargeOf(task, credits, answer), reply)
      if (reads < MAX_READS && answer.kind === 'list') return this.#run(task, reads + 1, 0)
      throw this.#exhausted(credential, credits)
    }
    // Credits may have been reserved while the page was read, or it was read regardless of its price.
    if (route.endpoint.method === 'GET' && credits > this.#available(credential)) return settled(false)
    const paid = this.#charge(task, credits, answer)
    if (typeof paid === 'boolean') return settled(paid)
    // A POST has already taken effect, so it is answered and its price is owed. A page that cannot be paid for is not
    // sent.
    if (route.endpoint.method === 'GET') return paid.then(settled)
    return paid.then(settled, (error) => {
      if (!(error instanceof StoreUnavailableError)) throw error
      this.#deps.ledger.owe(credential, chargeOf(task, credits, answer))
      return reply()
    })
  }

  #charge(request: ServedRequest<Services>, credits: number, answer: EndpointAnswer) {
    return this.#deps.ledger.charge(request.credential, chargeOf(request, credits, answer))
  }

  /**
   * The call became more expensive than the reserved price (a node failed over), or another process has spent the
   * credits, and the balance does not cover the difference. The call cannot be undone, so its answer costs what is
   * left.
   */
  async #chargeRest(
    task: Task<Services>,
    charge: Charge,
    reply: (charged: number) => GateReply,
  ): Promise<GateReply> {
    const { credential, route } = task
    const { ledger } = this.#deps
    const credits = Math.max(0, Math.min(charge.credits, remainingOf(credential)))
    const rest = { ...charge, credits }
    try {
      if (credits > 0 && (await ledger.charge(credential, rest))) return reply(credits)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      ledger.owe(credential, rest)
      return reply(credits)
    }
    ledger.count(credential, route.name, 'free')
    return reply(0)
  }

  /**
   * Reserves the price (that of the body's demand, if it has one), takes the heavy slots, and then runs the request.
   */
  #runReserved(task: Task<Services>): GateReply | Promise<GateReply> {
    const { demand, credential, route, input } = task
    const { cost } = route.endpoint
    const price = demand === undefined ? cost.least(input) : cost.charge(demand.units, input)
    if (demand === undefined && price === 0) return this.runAndCharge(task)
    const { overload } = this.#deps.ledger
    if (overload !== undefined) throw overload
    if (price > 0 && price > this.#available(credential)) throw this.#exhausted(credential, price)
    const taken =
      demand === undefined || demand.heavyCalls === 0
        ? undefined
        : this.#takeHeavySlots(credential, demand.heavyCalls)
    const reserved = credential.budgets.map((budget) => this.#reserved.add(budget, price))
    const release = () => {
      for (const end of reserved) end()
    }
    const finish = (reply: GateReply) => {
      release()
      if (taken !== undefined) reply.onSent = taken.release
      return reply
    }
    const fail = (error: unknown): never => {
      release()
      taken?.release()
      throw error
    }
    let reply: GateReply | Promise<GateReply>
    try {
      reply = this.#run({ ...task, onCharged: release }, 1, taken?.slots ?? 0)
    } catch (error) {
      return fail(error)
    }
    return reply instanceof Promise ? reply.then(finish, fail) : finish(reply)
  }

  /** A slot is needed whatever the charge, because a HEAD and a preview make the same calls and reads. */
  #inHeavySlot<T>(task: Task<Services>, run: () => T | Promise<T>): T | Promise<T> {
    const { heavyCalls, isLongRead, oneAtATime } = task.route.endpoint
    const calls = isLongRead?.(task.input) ? 1 : (heavyCalls?.(task.input) ?? 0)
    if (calls === 0) return run()
    if (oneAtATime !== undefined) {
      const { accountId, environment } = task.credential
      const leave = takeOnlyPlace(this.#single, `${accountId}/${environment}/${task.route.name}`, oneAtATime)
      return Promise.try(() => this.#inSlots(task, calls, run)).finally(leave)
    }
    return this.#inSlots(task, calls, run)
  }

  #inSlots<T>(task: Task<Services>, calls: number, run: () => T | Promise<T>): Promise<T> {
    // A plan without heavy calls cannot make any through /rpc, but its other reads are answered, one at a time.
    const { release } = this.#takeHeavySlots(task.credential, calls, 1)
    return Promise.try(run).finally(release)
  }

  #takeHeavySlots({ accountId, environment, plan }: Credential, wanted: number, minLimit = 0) {
    const limit = Math.max(minLimit, plan.heavyCallsInFlight)
    return takeHeavySlots(this.#heavy, `${accountId}/${environment}`, wanted, limit)
  }

  async #runWithKey(task: Task<Services>, key: string): Promise<GateReply> {
    const { credential, route, request } = task
    const { ledger, idempotency, log } = this.#deps
    const scope: IdempotencyScope = {
      accountId: credential.accountId,
      environment: credential.environment,
      plan: credential.plan,
      // The path rather than its template, because the same key for another resource is another request.
      route: `${request.method} ${request.path}`,
      key,
      body: request.body ?? Buffer.alloc(0),
    }
    const begun = await idempotency.begin(scope)
    if (begun.stored !== undefined) {
      const { stored } = begun
      ledger.count(credential, route.name, 'free')
      const headers = meterHeaders(credential, task.nowMs, { charged: 0, remaining: remainingOf(credential) })
      headers.push(...stored.headers.flat(), 'Idempotent-Replayed', 'true')
      return { status: stored.status, headers, body: stored.body }
    }
    const { held } = begun
    const endKeeping = idempotency.keep(held)
    let reply: GateReply | undefined
    try {
      reply = await this.#runReserved(task)
      const { body } = reply
      if (reply.status >= 500) await idempotency.release(held)
      else {
        const kept = {
          status: reply.status,
          headers: storedHeaders(reply.headers),
          bytes: lengthOf(body),
          body: () => textOf(body),
        }
        await idempotency.finish(held, credential.plan, kept, (err) =>
          log.error({ err, request: request.id }, 'an answer could not be kept for its key'),
        )
      }
      return reply
    } catch (error) {
      reply?.onSent?.()
      // A request that may have taken effect must not run again at once.
      if (!(error instanceof StoreUnavailableError && error.mayBeDone)) await idempotency.release(held)
      throw error
    } finally {
      endKeeping()
    }
  }

  /** A view beyond the allowance. */
  async #runCharged(task: Task<Services>, left: ViewAllowance): Promise<GateReply> {
    if (task.freeOnly) {
      const text = "The day's allowance for views does not pay for this one."
      throw new ApiError('credits_exhausted', text, { reason: 'allowance' }, [
        ['X-View-Allowance', String(left.limit)],
        ['X-View-Allowance-Remaining', String(left.remaining)],
      ])
    }
    const isPost = task.route.endpoint.method === 'POST'
    const reply = await (isPost ? this.runOnceAndCharge(task) : this.runAndCharge(task))
    const at = reply.headers.indexOf('X-Credits-Charged')
    const paid = Number(reply.headers[at + 1] ?? 0)
    reply.headers.push(...viewHeaders(left, { price: paid }))
    return reply
  }

  /** The number of rows that the caller, the plan and (if they have to be paid for) the balance allow. */
  #affordableRows(task: Task<Services>, mustPay: boolean): number {
    const { input, credential } = task
    const { cost } = task.route.endpoint
    const capped = cappedRows(task)
    if (task.request.method === 'HEAD') return capped
    // The price of a POST has already been reserved.
    const isReserved = task.route.endpoint.method === 'POST'
    const balance = isReserved ? remainingOf(credential) : this.#available(credential)
    const least = cost.least(input)
    // Checked before the balance, which can be below zero because of reservations.
    if (least === 0) return capped
    if (least > balance) {
      if (mustPay) throw this.#exhausted(credential, least)
      return capped
    }
    return Math.min(capped, cost.affordableRows(balance, input))
  }

  /** How many rows the balance pays for; null if rows have no price. */
  #rowsPaidFor({ input, credential, route }: Task<Services>): number | null {
    const { cost } = route.endpoint
    const balance = this.#available(credential)
    if (cost.least(input) > balance) return 0
    const rows = cost.affordableRows(balance, input)
    return Number.isFinite(rows) ? rows : null
  }

  /** What is left in the smallest budget after all reservations. */
  #available({ budgets }: Credential): number {
    let least = Number.POSITIVE_INFINITY
    for (const budget of budgets) least = Math.min(least, budget.remaining - this.#reserved.of(budget))
    return least
  }

  #exhausted(credential: Credential, price: number): ApiError {
    const [account, key] = credential.budgets
    const capped = key !== undefined && account !== undefined && key.remaining < account.remaining
    const left = `${remainingOf(credential)} are left ${capped ? "of the key's cap" : 'in this period'}`
    return new ApiError('credits_exhausted', `This answer costs at least ${price} credits; ${left}.`, {
      reason: capped ? 'key_cap' : 'balance',
      resets_at: new Date(account?.period.endMs ?? 0).toISOString(),
      upgrade_url: this.#deps.upgradeUrl,
    })
  }
}

/** Whether the caller already has the page is known only after all of it has been read; a 304 costs nothing. */
function isConditional<Services>({ request, route }: Task<Services>): boolean {
  return route.endpoint.method === 'GET' && request.headers['if-none-match'] !== undefined
}

function chargeOf<Services>(
  { request, route, onCharged }: ServedRequest<Services>,
  credits: number,
  answer: EndpointAnswer,
): Charge {
  return { id: request.id, endpoint: route.name, credits, rows: rowsOf(answer), onSpent: onCharged }
}

/** The headers of the answer itself; the meter's headers are written anew when the answer is repeated. */
function storedHeaders(list: HeaderList): [string, string][] {
  const stored: [string, string][] = []
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = list[i] ?? ''
    if (name === 'Content-Type' || name === 'Location') stored.push([name, list[i + 1] ?? ''])
  }
  return stored
}

function lengthOf(body: GateReply['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, part) => sum + part.length, 0)
}

function textOf(body: GateReply['body']): string {
  if (typeof body === 'string') return body
  return (Buffer.isBuffer(body) ? body : Buffer.concat(body)).toString('utf8')
}
