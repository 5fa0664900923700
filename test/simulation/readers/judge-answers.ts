/**
 * Laws 9 and 10, judged from the answers that callers got: the right status and price, a refusal only if there is a
 * reason for it, and orders with the same idempotency key carried out once.
 */
import type { Question, Receipt } from './callers.ts'

/** Known to the world, not to the service. */
export interface Troubles {
  /** Whether a disk failed or was slow, or a process was paused or died, between two instants or shortly before. */
  any(fromMs: number, toMs: number): boolean
}

/** Prices as `endpoints.ts` lists them. */
const PER_ANSWER = 5
const PER_ROW = 2
const PER_ORDER = 7
/** A `broken` request fails and costs nothing, but a caller who could not pay for it is refused nevertheless. */
const PER_BROKEN = 10

const DESERVED: Readonly<Record<Question, readonly number[]>> = {
  rows: [200],
  invalid: [422],
  broken: [504],
  stranger: [401, 429],
  // 409: in progress; 422: its key was used with another body before.
  order: [201, 409],
  'other-body': [422],
}
/** A change of an account or a key reaches every process within this time. */
const NOTICED_WITHIN_MS = 2_000
/** How many refusals of unknown keys the gate holds back per address (auth-throttle.ts). */
const HELD_BACK_PER_ADDRESS = 16

export class AnswerJudge {
  readonly #troubles: Troubles
  readonly #orders = new Map<number, Receipt[]>()
  readonly #open = new Set<Receipt>()

  constructor(troubles: Troubles) {
    this.#troubles = troubles
  }

  asked(receipt: Receipt): void {
    this.#open.add(receipt)
    for (const budget of receipt.key.budgets) budget.asked(highestPrice(receipt))
    if (receipt.question !== 'order' || receipt.order === undefined) return
    const same = this.#orders.get(receipt.order) ?? []
    same.push(receipt)
    this.#orders.set(receipt.order, same)
  }

  answered(receipt: Receipt): string[] {
    this.#open.delete(receipt)
    for (const budget of receipt.key.budgets) budget.answered(highestPrice(receipt), receipt.charged)
    const name = `${receipt.route} (${receipt.id}, ${receipt.question})`
    return [
      ...this.#wrongStatus(receipt),
      ...wrongPrice(receipt),
      ...(receipt.question === 'order' && receipt.status === 201 ? this.#wrongOrder(receipt) : []),
    ].map((text) => text.replace('#', name))
  }

  #wrongStatus(receipt: Receipt): string[] {
    const { question, status = 0, askedMs, answeredMs = 0 } = receipt
    const isTroubled = () => this.#troubles.any(askedMs, answeredMs)
    const refusals = question === 'stranger' ? [] : refusalsOf(receipt, this.#troubles)
    if (refusals.some((refusal) => refusal.status === status)) return []
    if (status === 429 && refusals.some((refusal) => refusal.status === 401) && this.#hasManyFailures())
      return []
    if (refusals.some(({ isCertain }) => isCertain) && status !== 503)
      return isTroubled() ? [] : [`9 # was answered ${status}, and its key or account may not be used`]
    if (DESERVED[question].includes(status)) {
      if (status === 409 && !this.#isUnderWay(receipt))
        return ['9 # is in progress, and nothing is under way']
      return []
    }
    if (status === 503) return isTroubled() ? [] : ['10 # was refused with 503, and nothing is broken']
    if (status === 402) return wrongRefusal(receipt)
    // All requests that waited for a paused process arrive at once.
    if (status === 429 && isTroubled()) return []
    if ((question === 'order' || question === 'other-body') && isTroubled()) {
      // The earlier order was lost, or the other body arrived first.
      if (status === 201 || status === 422 || status === 409) return []
    }
    return [`10 # was answered ${status}`]
  }

  /** Whether so many refusals are held back that the next one is refused at once. */
  #hasManyFailures(): boolean {
    const failing = [...this.#open].filter((receipt) => receipt.question === 'stranger' || ofKey(receipt))
    return failing.length >= HELD_BACK_PER_ADDRESS
  }

  /** Whether another request may still hold its key: one that was not answered, or whose end could not be written. */
  #isUnderWay({ order = 0, askedMs, id }: Receipt): boolean {
    return (this.#orders.get(order) ?? []).some(
      (other) =>
        other.id !== id &&
        (other.answeredMs === undefined ||
          other.answeredMs >= askedMs ||
          this.#troubles.any(other.askedMs, other.answeredMs)),
    )
  }

  /** A repeated order must get the first answer again, without a charge, and must not be carried out again. */
  #wrongOrder(receipt: Receipt): string[] {
    const { order = 0, askedMs, id, body, isReplayed, charged } = receipt
    if (isReplayed && charged > 0) return [`9 # is repeated, and cost ${charged} credits`]
    const first = (this.#orders.get(order) ?? []).find(
      (other) =>
        other.id !== id && other.status === 201 && (other.answeredMs ?? Number.POSITIVE_INFINITY) < askedMs,
    )
    if (first === undefined || this.#troubles.any(first.askedMs, first.answeredMs ?? 0)) return []
    if (!isReplayed) return [`9 # was carried out again; ${first.id} had carried it out`]
    return body === first.body ? [] : [`9 # is answered ${body}, and ${first.id} was ${first.body}`]
  }
}

function highestPrice({ question, limit }: Receipt): number {
  if (question === 'rows') return PER_ANSWER + PER_ROW * limit
  return question === 'order' || question === 'other-body' ? PER_ORDER : 0
}

function leastPrice(question: Question): number {
  if (question === 'rows') return PER_ANSWER + PER_ROW
  return question === 'broken' ? PER_BROKEN : PER_ORDER
}

/** A refusal is wrong if the budgets pay for the smallest answer, whatever the requests in progress cost. */
function wrongRefusal({ question, key, askedMs }: Receipt): string[] {
  const least = leastPrice(question)
  const lefts = key.budgets.map((budget) => budget.leftFor(askedMs))
  return lefts.every((left) => left >= least)
    ? [`9 # was refused for want of credits, and at least ${lefts.join(' and ')} are left`]
    : []
}

interface Refusal {
  readonly status: number
  /** False while the service may not know the reason yet, or may not know yet that it has ended. */
  readonly isCertain: boolean
}

/** How a key that has ended and an account that is paused are refused; if both apply, either may be the reason. */
function refusalsOf(receipt: Receipt, troubles: Troubles): Refusal[] {
  return [ofKey(receipt), ofAccount(receipt, troubles)].filter((refusal) => refusal !== undefined)
}

function ofKey({ askedMs, answeredMs = 0, key, service }: Receipt): Refusal | undefined {
  const { revokedMs, expiresMs, isEnding } = key
  if (revokedMs !== undefined) return { status: 401, isCertain: askedMs > revokedMs + NOTICED_WITHIN_MS }
  // The service's clock may be wrong, but the time that the answer took is measured correctly.
  const endMs = service.process.clock.now()
  if (expiresMs !== undefined && endMs >= expiresMs)
    return { status: 401, isCertain: endMs - (answeredMs - askedMs) > expiresMs + NOTICED_WITHIN_MS }
  return isEnding === true ? { status: 401, isCertain: false } : undefined
}

function ofAccount(
  { askedMs, answeredMs = 0, key: { account } }: Receipt,
  troubles: Troubles,
): Refusal | undefined {
  const { isPausing, pausedMs, resumingMs = 0, resumedMs } = account
  if (pausedMs !== undefined)
    return { status: 403, isCertain: askedMs > pausedMs + NOTICED_WITHIN_MS && resumingMs < pausedMs }
  if (isPausing === true) return { status: 403, isCertain: false }
  if (resumedMs === undefined) return undefined
  const noticedMs = resumedMs + NOTICED_WITHIN_MS
  // A process that stood still meanwhile answers what has waited before it notices.
  const isUnnoticed = troubles.any(resumedMs, noticedMs) && troubles.any(askedMs, answeredMs)
  return askedMs < noticedMs || isUnnoticed ? { status: 403, isCertain: false } : undefined
}

function wrongPrice({ question, status, charged, isReplayed, body, limit }: Receipt): string[] {
  if (status !== 200 && status !== 201)
    return charged > 0 ? [`9 # was answered ${status} for ${charged} credits`] : []
  if (question !== 'rows') {
    // What is left of the budget may pay for a part of the price only.
    return charged > PER_ORDER || (isReplayed && charged > 0) ? [`9 # cost ${charged} credits`] : []
  }
  const { data } = JSON.parse(body) as { data: unknown[] }
  if (data.length > limit) return [`10 # has ${data.length} rows, and ${limit} were asked for`]
  const price = PER_ANSWER + PER_ROW * data.length
  return charged === price ? [] : [`9 # cost ${charged} credits for ${data.length} rows`]
}
