import type { Idempotency, IdempotencyScope } from '../accounts/idempotency.ts'
import type { Credential } from '../accounts/key-ring.ts'
import type { Charge, Ledger } from '../accounts/ledger.ts'
import type { ViewAllowance, ViewAllowances } from '../accounts/view-allowance.ts'
import type { EndpointAnswer, ListAnswer } from '../contract/endpoint.ts'
import { ApiError } from '../core/errors.ts'
import { createReservations } from './credit-reservations.ts'
import { createHeavySlots } from './heavy-slots.ts'
import { matchesEtag, type Rendered, render } from './render.ts'
import { meterHeaders } from './reply-headers.ts'
import type { GateReply, GateRequest, HeaderList } from './request.ts'
import { remainingOf, runTask, type Task } from './task.ts'

/** Runs admitted requests and takes their price: exactly what was read, before it is sent. */
export interface Meter<Services> {
  runAndCharge(task: Task<Services>): GateReply | Promise<GateReply>
  /** Takes the price of an answer that is at hand already; undefined when the balance cannot pay it whole. */
  chargeFor(
    task: Task<Services>,
    answer: EndpointAnswer,
    rowLimit: number,
  ): GateReply | Promise<GateReply> | undefined
  /** Says what the answer would cost, for nothing. */
  preview(task: Task<Services>): Promise<GateReply>
  /** The answer for an account holder: within the day's allowance for nothing, beyond it for its price. */
  runFree(task: Task<Services>): Promise<GateReply>
  /** A POST with an idempotency key runs once; its answer is given again, for nothing. */
  runOnceAndCharge(task: Task<Services>): GateReply | Promise<GateReply>
}

/** The balance can shrink between reading a page and paying for it; then the page is read again, shorter. */
const MAX_READS = 3
/** The longest page that any plan can have. */
const MAX_PREVIEW_ROWS = 10_000

export function createMeter<Services>(deps: {
  ledger: Ledger
  idempotency: Idempotency
  allowances: ViewAllowances
  upgradeUrl: string
  /** Hears of every answer that was read, before it is paid for. */
  onAnswer: (task: Task<Services>, answer: EndpointAnswer, rowLimit: number) => void
}): Meter<Services> {
  const { ledger, idempotency } = deps
  const reservations = createReservations()
  const heavy = createHeavySlots()

  /** Sets the price of the body's demand aside, takes its heavy slots, and then runs it. */
  function payDemand(task: Task<Services>): GateReply | Promise<GateReply> {
    const { demand, credential, route } = task
    if (demand === undefined) return pay(task)
    const price = route.endpoint.cost.charge(demand.units, task.input)
    if (price > reservations.available(credential.budgets)) throw exhausted(credential, price)
    const owner = `${credential.accountId}/${credential.environment}`
    const taken =
      demand.heavyCalls === 0
        ? undefined
        : heavy.take(owner, demand.heavyCalls, credential.plan.heavyCallsInFlight)
    const release = reservations.reserve(credential.budgets, price)
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
    let paid: GateReply | Promise<GateReply>
    try {
      paid = pay(task, 1, taken?.slots ?? 0)
    } catch (error) {
      return fail(error)
    }
    return paid instanceof Promise ? paid.then(finish, fail) : finish(paid)
  }

  async function payWithKey(task: Task<Services>, key: string): Promise<GateReply> {
    const { credential, route, request } = task
    const scope: IdempotencyScope = {
      accountId: credential.accountId,
      environment: credential.environment,
      plan: credential.plan,
      // The path and not its template: the same key for another resource is another request.
      route: `${request.method} ${request.path}`,
      key,
      body: request.body ?? Buffer.alloc(0),
    }
    const stored = await idempotency.begin(scope)
    if (stored !== undefined) {
      ledger.count(credential, route.name, 'free')
      const headers = meterHeaders(credential, task.nowMs, { charged: 0, remaining: remainingOf(credential) })
      headers.push(...stored.headers.flat(), 'Idempotent-Replayed', 'true')
      return { status: stored.status, headers, body: stored.body }
    }
    let reply: GateReply | undefined
    try {
      reply = await payDemand(task)
      const { body } = reply
      if (reply.status >= 500) await idempotency.release(scope)
      else {
        await idempotency.finish(scope, {
          status: reply.status,
          headers: keptHeaders(reply.headers),
          bytes: lengthOf(body),
          body: () => textOf(body),
        })
      }
      return reply
    } catch (error) {
      reply?.onSent?.()
      await idempotency.release(scope)
      throw error
    }
  }

  function pay(task: Task<Services>, reads = 1, heavySlots = 0): GateReply | Promise<GateReply> {
    const rowLimit = affordableRows(task, true)
    const answer = runTask(task, { rowLimit, dryRun: false, heavySlots })
    const go = (value: EndpointAnswer) => {
      deps.onAnswer(task, value, rowLimit)
      return take(task, value, rowLimit, reads)
    }
    return answer instanceof Promise ? answer.then(go) : go(answer)
  }

  function take(
    task: Task<Services>,
    answer: EndpointAnswer,
    rowLimit: number,
    reads: number,
  ): GateReply | Promise<GateReply> {
    const { request, route, credential } = task
    const rendered = render(answer, task.format, route.endpoint.returns)
    const unchanged = matchesEtag(request.headers['if-none-match'], rendered.etag)
    const credits = request.method === 'HEAD' || unchanged ? 0 : priceOf(task, answer)
    const reply = (charged = credits) =>
      replyOf(task, answer, rendered, { rowLimit, credits: charged, unchanged })
    if (credits === 0) {
      ledger.count(credential, route.name, isFailure(answer) ? 'failed' : 'free')
      return reply()
    }
    const charge = { id: request.id, endpoint: route.name, credits, rows: rowsOf(answer) }
    const settled = (paid: boolean) => {
      if (paid) return reply()
      if (reads < MAX_READS && route.endpoint.method === 'GET') return pay(task, reads + 1)
      if (task.demand !== undefined) return takeRest(task, charge, reply)
      throw exhausted(credential, credits)
    }
    const paid = ledger.charge(credential, charge)
    return typeof paid === 'boolean' ? settled(paid) : paid.then(settled)
  }

  /**
   * It became dearer than what was set aside (a node failed over), and the balance is too low for the rest.
   * What was done cannot be undone, so the answer is given for what is left.
   */
  async function takeRest(
    task: Task<Services>,
    charge: Charge,
    reply: (charged: number) => GateReply,
  ): Promise<GateReply> {
    const { credential, route } = task
    const credits = Math.max(0, Math.min(charge.credits, remainingOf(credential)))
    if (credits > 0 && (await ledger.charge(credential, { ...charge, credits }))) return reply(credits)
    ledger.count(credential, route.name, 'free')
    return reply(0)
  }

  /** Rows that the caller, the plan and (where it has to pay) the balance allow. */
  function affordableRows(task: Task<Services>, mustPay: boolean): number {
    const { input, credential } = task
    const { cost } = task.route.endpoint
    const capped = cappedRows(task)
    if (task.request.method === 'HEAD') return capped
    const balance =
      task.demand === undefined ? reservations.available(credential.budgets) : remainingOf(credential)
    const least = cost.least(input)
    if (least > balance) {
      // Whether the caller has this page already is seen only after it was read; a 304 costs nothing.
      const mayBeFree = task.request.headers['if-none-match'] !== undefined
      if (mustPay && !mayBeFree) throw exhausted(credential, least)
      return capped
    }
    return Math.min(capped, cost.affordableRows(balance, input))
  }

  /** How many rows the balance pays for; null where rows cost nothing of their own. */
  function rowsPaidFor({ input, credential, route }: Task<Services>): number | null {
    const { cost } = route.endpoint
    const balance = reservations.available(credential.budgets)
    if (cost.least(input) > balance) return 0
    const rows = cost.affordableRows(balance, input)
    return Number.isFinite(rows) ? rows : null
  }

  function exhausted(credential: Credential, price: number): ApiError {
    const [account, key] = credential.budgets
    const capped = key !== undefined && account !== undefined && key.remaining < account.remaining
    const left = `${remainingOf(credential)} are left ${capped ? "of the key's cap" : 'in this period'}`
    return new ApiError('credits_exhausted', `This answer costs at least ${price} credits; ${left}.`, {
      reason: capped ? 'key_cap' : 'balance',
      resets_at: new Date(account?.period.endMs ?? 0).toISOString(),
      upgrade_url: deps.upgradeUrl,
    })
  }

  async function charged(task: Task<Services>, left: ViewAllowance): Promise<GateReply> {
    if (task.freeOnly) {
      const text = "The day's allowance for views does not pay for this one."
      throw new ApiError('credits_exhausted', text, { reason: 'allowance' })
    }
    const reply = await (task.route.endpoint.method === 'POST' ? payDemand(task) : pay(task))
    const at = reply.headers.indexOf('X-Credits-Charged')
    const paid = Number(reply.headers[at + 1] ?? 0)
    reply.headers.push(...viewHeaders(left, { price: paid }))
    return reply
  }

  return {
    runAndCharge: pay,
    chargeFor: (task, answer, rowLimit) =>
      priceOf(task, answer) > reservations.available(task.credential.budgets)
        ? undefined
        : take(task, answer, rowLimit, 1),
    async preview(task) {
      const { credential, route } = task
      const served = affordableRows(task, false)
      const asked = Math.min(askedRows(task), MAX_PREVIEW_ROWS)
      const found = await runTask(task, { rowLimit: asked, dryRun: true, heavySlots: 0 })
      const answer = found.kind === 'list' ? { ...found, count: Math.min(found.count, served) } : found
      ledger.count(credential, route.name, 'free')
      const remaining = remainingOf(credential)
      const paidRows = rowsPaidFor(task)
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
    },
    async runFree(task) {
      const { credential, route, input } = task
      const { accountId, plan } = credential
      const before = await deps.allowances.read(accountId, plan)
      // What changes something is paid for as everywhere: the allowance is for looking.
      const isLook = route.endpoint.method === 'GET'
      if (!isLook || route.endpoint.cost.least(input) > before.remaining) return charged(task, before)
      const answer = await runTask(task, { rowLimit: cappedRows(task), dryRun: false, heavySlots: 0 })
      const price = task.request.method === 'HEAD' ? 0 : priceOf(task, answer)
      const { taken, ...left } =
        price === 0 ? { taken: true, ...before } : await deps.allowances.take(accountId, plan, price)
      if (!taken) return charged(task, left)
      const rendered = render(answer, task.format, route.endpoint.returns)
      return contentReply(answer, rendered, viewHeaders(left, { price, charged: 0 }), false)
    },
    runOnceAndCharge(task) {
      const key = task.request.headers['idempotency-key']
      return key === undefined ? payDemand(task) : payWithKey(task, String(key))
    },
  }
}

/** Only a success has a price, however the endpoint says that it is none. */
function priceOf<Services>(task: Task<Services>, answer: EndpointAnswer): number {
  if (answer.kind !== 'list' && ![undefined, 200, 201].includes(answer.status)) return 0
  const units = answer.kind === 'list' ? { row: answer.count } : (answer.units ?? {})
  return task.route.endpoint.cost.charge(units, task.input)
}

function isFailure(answer: EndpointAnswer): boolean {
  return answer.kind !== 'list' && (answer.status ?? 200) >= 400
}

function rowsOf(answer: EndpointAnswer): number {
  return answer.kind === 'list' ? answer.count : (answer.units?.row ?? 0)
}

function askedRows<Services>({ input }: Task<Services>): number {
  return typeof input.limit === 'number' ? input.limit : Number.POSITIVE_INFINITY
}

/** Rows that the caller and the plan allow. */
function cappedRows<Services>(task: Task<Services>): number {
  const most = Math.min(task.credential.plan.maxRowsPerRequest, task.maxRows ?? Number.POSITIVE_INFINITY)
  return Math.min(askedRows(task), most)
}

function viewHeaders(left: ViewAllowance, credits: { price: number; charged?: number }): HeaderList {
  const { price, charged } = credits
  return [
    'X-Credits-Price',
    String(price),
    ...(charged === undefined ? [] : ['X-Credits-Charged', String(charged)]),
    'X-View-Allowance',
    String(left.limit),
    'X-View-Allowance-Remaining',
    String(left.remaining),
  ]
}

function replyOf<Services>(
  task: Task<Services>,
  answer: EndpointAnswer,
  rendered: Rendered,
  facts: { rowLimit: number; credits: number; unchanged: boolean },
): GateReply {
  const { credential, nowMs } = task
  const headers = meterHeaders(credential, nowMs, {
    charged: facts.credits,
    remaining: remainingOf(credential),
  })
  if (answer.kind === 'list') {
    pushListHeaders(headers, answer, task, facts.rowLimit < askedRows(task) && answer.hasMore)
  }
  return contentReply(answer, rendered, headers, facts.unchanged)
}

function pushListHeaders<Services>(
  headers: HeaderList,
  answer: ListAnswer,
  { request, route }: Task<Services>,
  capped: boolean,
): void {
  headers.push(
    'X-Rows-Returned',
    String(answer.count),
    'X-Rows-Capped',
    String(capped),
    'X-Coverage-Complete',
    String(answer.coverageComplete),
    'X-Clamped',
    String(answer.clamped),
  )
  if (answer.nextCursor === null) return
  const { returns } = route.endpoint
  const param = (returns.kind === 'list' && returns.envelope?.cursor) || 'after'
  headers.push('X-Next-Cursor', answer.nextCursor, 'Link', nextLink(request, param, answer.nextCursor))
}

/** The same request with the new cursor; the key does not belong into a link. */
function nextLink(request: GateRequest, param: string, cursor: string): string {
  const query = new URLSearchParams(request.search)
  for (const name of ['api-key', 'api_key']) query.delete(name)
  query.set(param, cursor)
  return `<${request.path}?${query}>; rel="next"`
}

/** Adds what every successful answer has: its type, its tag and how long it may be kept. */
export function contentReply(
  answer: EndpointAnswer,
  rendered: Rendered,
  headers: HeaderList,
  unchanged: boolean,
): GateReply {
  headers.push('Content-Type', rendered.contentType)
  if (rendered.etag !== undefined) headers.push('ETag', rendered.etag)
  headers.push(
    'Cache-Control',
    rendered.sealed ? 'private, max-age=31536000, immutable' : 'private, no-cache',
  )
  if (answer.kind !== 'list') for (const [name, value] of answer.headers ?? []) headers.push(name, value)
  if (unchanged) {
    rendered.lent?.release()
    return { status: 304, headers, body: '' }
  }
  const status = answer.kind === 'list' ? 200 : (answer.status ?? 200)
  return {
    status,
    headers,
    body: rendered.body,
    ...(rendered.sealed && rendered.etag ? { sealedTag: rendered.etag } : {}),
    ...(rendered.lent ? { lent: rendered.lent } : {}),
  }
}

/** What belongs to the answer itself; the meter's own headers are made anew for a replay. */
function keptHeaders(list: HeaderList): [string, string][] {
  const kept: [string, string][] = []
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = list[i] ?? ''
    if (name === 'Content-Type' || name === 'Location') kept.push([name, list[i + 1] ?? ''])
  }
  return kept
}

function lengthOf(body: GateReply['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, part) => sum + part.length, 0)
}

function textOf(body: GateReply['body']): string {
  if (typeof body === 'string') return body
  return (Buffer.isBuffer(body) ? body : Buffer.concat(body)).toString('utf8')
}
