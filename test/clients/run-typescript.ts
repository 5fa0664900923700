/** The scenarios with the TypeScript client. */
import {
  type AnswerInfo,
  ApiError,
  type ChainEvent,
  CreditLimitError,
  type DryRun,
  type EventKind,
  type NewWebhook,
  Tapeline,
} from '../../clients/typescript/src/index.ts'
import type { Rows } from '../../clients/typescript/src/rows.ts'
import { testAddress } from '../fakes/event-writer.ts'
import { type Found, SCENARIOS } from './scenarios.ts'

export interface Reached {
  readonly url: string
  readonly key: string
  readonly timeoutMs: number
  readonly retries: number
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Every scenario has a client of its own, so that none finds the pages of another. */
function open(reached: Reached & { readonly requestIds?: string[] }) {
  let credits = 0
  const onAnswer = (info: AnswerInfo) => {
    credits += info.credits
    reached.requestIds?.push(info.requestId)
  }
  const { url, key, timeoutMs, retries } = reached
  const client = new Tapeline({ url, key, timeoutMs, retries, onAnswer })
  const methods = client as unknown as Record<string, (params: object) => unknown>
  return {
    client,
    credits: () => credits,
    rows: (operation: string, params: object) =>
      methods[camel(operation)]?.call(client, params) as Rows<unknown, unknown>,
    object: (operation: string, params: object) =>
      methods[camel(operation)]?.call(client, params) as Promise<unknown>,
    cost: (operation: string, params: object) =>
      (client.cost as (name: string, params: object) => Promise<DryRun>).call(
        client,
        camel(operation),
        params,
      ),
  }
}

export async function runScenarios(given: Reached): Promise<Found> {
  const requestIds: string[] = []
  const reached = { ...given, requestIds }
  const lists = SCENARIOS.lists.map(async ({ operation, params }) => {
    const { rows: call, credits } = open(reached)
    const list = call(operation, params)
    const rows: unknown[] = []
    let predicted = 0
    for (let cursor: string | null | undefined; cursor !== null; ) {
      predicted += (await list.cost(cursor)).credits
      const page = await list.page(cursor)
      rows.push(...page.rows)
      cursor = page.nextCursor
    }
    const paid = credits()
    let again = 0
    for await (const _ of call(operation, params)) again += 1
    return { rows, credits: paid, predicted, unchanged: { rows: again, credits: credits() - paid } }
  })
  const objects = SCENARIOS.objects.map(async ({ operation, params }) => {
    const { object, cost, credits } = open(reached)
    const predicted = (await cost(operation, params)).credits
    return { value: await object(operation, params), credits: credits(), predicted }
  })
  const errors = SCENARIOS.errors.map(async ({ operation, params }) => {
    const asked = open(reached).rows(operation, params)
    const error = await (asked instanceof Promise ? asked : asked.page()).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (!(error instanceof ApiError)) throw new Error(`no refusal of ${operation}: ${error}`)
    return { status: error.status, code: error.code, class_name: error.constructor.name }
  })
  return {
    request_ids: requestIds,
    lists: await Promise.all(lists),
    objects: await Promise.all(objects),
    errors: await Promise.all(errors),
    budget: await budget(reached),
    webhook: await webhook(reached),
  }
}

async function budget(reached: Reached): Promise<Found['budget']> {
  const { operation, params, max_credits } = SCENARIOS.budget
  try {
    await open(reached).rows(operation, params).all({ maxCredits: max_credits })
  } catch (error) {
    if (!(error instanceof CreditLimitError)) throw error
    return { rows: error.rows.length, credits: error.creditsUsed, next_page_credits: error.nextPageCredits }
  }
  throw new Error('it spent everything')
}

async function webhook(reached: Reached): Promise<Found['webhook']> {
  const { client, credits } = open(reached)
  const { id } = await client.createWebhook(SCENARIOS.webhook as NewWebhook)
  return { id, credits: credits() }
}

/** Events up to the first one of the kind that ends the scenario. */
export async function runStream(
  reached: Reached,
  resumeAfter: number,
): Promise<{ events: ChainEvent[]; reconnects: number }> {
  const { kinds, last_kind } = SCENARIOS.stream
  const events: ChainEvent[] = []
  let reconnects = 0
  const stream = new Tapeline(reached).stream({
    kinds: kinds as readonly EventKind[],
    addresses: [WATCHED_ADDRESS],
    resumeAfter,
    onReconnect: () => {
      reconnects += 1
    },
  })
  for await (const event of stream) {
    events.push(event)
    if (event.kind === last_kind) break
  }
  return { events, reconnects }
}

export const WATCHED_ADDRESS = testAddress(1)
