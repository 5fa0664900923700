/**
 * Runs the calls of a body: light ones concurrently, heavy ones as many at a time as the account has slots, and writes
 * one after another in the order of the batch (a transaction may spend the one before it).
 */
import type { Transaction } from '../../../core/chain/transaction.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import type { ExactJson } from '../../../kit/exact-json.ts'
import type { ValidCall } from '../../../upstreams/validate-params.ts'
import type { ChainData } from './chain-data.ts'
import { MAX_BATCH_ANSWERS_BYTES } from './rpc-codes.ts'
import { failureAnswer, rpcError } from './rpc-error.ts'
import { type RpcItem, unitOf } from './rpc-read.ts'

export interface RpcAnswer {
  /** A finished text, or the bytes of the result as the node sent them. */
  readonly text: string | undefined
  readonly result: Buffer | undefined
  readonly idText: string
  /** The unit that it is charged as; undefined for an error. */
  readonly unit: 'light call' | 'heavy call' | undefined
  readonly unavailable: boolean
}

type Call = RpcItem & { readonly call: ValidCall }

export interface RunOptions {
  readonly heavySlots: number
  /** Whether the caller has disconnected; nothing more is sent from then on. */
  readonly isAbandoned: (() => boolean) | undefined
}

export function runRpc(
  items: readonly RpcItem[],
  chain: ChainData,
  options: RunOptions,
): RpcAnswer[] | Promise<RpcAnswer[]> {
  const [only] = items
  if (items.length !== 1 || only === undefined) return runBatch(items, chain, options)
  const found = answer(only, chain, options)
  return found instanceof Promise ? found.then((one) => [one]) : [found]
}

async function runBatch(
  items: readonly RpcItem[],
  chain: ChainData,
  options: RunOptions,
): Promise<RpcAnswer[]> {
  const answers: (RpcAnswer | undefined)[] = new Array(items.length)
  const indexes = items.map((_, index) => index)
  const isHeavy = (index: number) => items[index]?.call?.method.weight === 'heavy'
  const isWrite = (index: number) => items[index]?.call?.method.write === true
  let held = 0
  const put = async (index: number) => {
    const item = items[index]
    if (item === undefined) return
    // The answer to a write is short, and the caller has to know it.
    const mayDrop = item.call !== undefined && !isWrite(index)
    if (mayDrop && held > MAX_BATCH_ANSWERS_BYTES) {
      answers[index] = tooMuch(item)
      return
    }
    const found = await answer(item, chain, options)
    held += found.result?.length ?? 0
    answers[index] = mayDrop && held > MAX_BATCH_ANSWERS_BYTES ? tooMuch(item) : found
  }
  const writes = indexes.filter(isWrite)
  const heavyTasks = indexes
    .filter((index) => isHeavy(index) && !isWrite(index))
    .map((index) => () => put(index))
  if (writes.length > 0) {
    heavyTasks.unshift(async () => {
      for (const index of writes) await put(index)
    })
  }
  await Promise.all([
    ...indexes.filter((index) => !isHeavy(index)).map(put),
    inParallel(heavyTasks, Math.max(1, options.heavySlots)),
  ])
  return answers.filter((found) => found !== undefined)
}

async function inParallel(tasks: readonly (() => Promise<void>)[], limit: number): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let task = tasks[next++]; task !== undefined; task = tasks[next++]) await task()
  }
  await Promise.all(Array.from({ length: Math.min(limit, tasks.length) }, worker))
}

function answer(
  item: RpcItem,
  chain: ChainData,
  { isAbandoned }: RunOptions,
): RpcAnswer | Promise<RpcAnswer> {
  if (item.call === undefined) return refusedHere(item.refusal)
  const transaction = submittedTransaction(item)
  if (transaction !== undefined) return submit(item, transaction, chain, isAbandoned)
  return chain.upstreams.sendRaw(item.call, { isAbandoned }).then((outcome) => {
    if (outcome.ok) return success(item, outcome.bytes)
    const isInDoubt = item.call.method.write && outcome.inDoubt
    return failed(item, failureAnswer(item.idText, outcome.failure, isInDoubt ? { in_doubt: true } : {}))
  })
}

/** Submissions go through the submitter, because a lost answer must not look like a failure. */
async function submit(
  item: Call,
  transaction: Transaction,
  chain: ChainData,
  isAbandoned: RunOptions['isAbandoned'],
): Promise<RpcAnswer> {
  const sent = await chain.submitter.send(item.call, transaction, isAbandoned)
  if (sent.ok) {
    if (sent.refusal === undefined) return success(item, sent.bytes)
    return failed(item, failureAnswer(item.idText, sent.refusal))
  }
  const doubt: Record<string, ExactJson> = sent.inDoubt ? { in_doubt: true, tx_id: sent.txId } : {}
  return failed(item, failureAnswer(item.idText, sent.failure, doubt))
}

function submittedTransaction(item: Call): Transaction | undefined {
  if (!SUBMITS.has(item.call.method.name)) return undefined
  const params = item.params as { readonly transaction?: ExactJson } | null
  const read = readTransaction(params?.transaction)
  return read.ok ? read.transaction : undefined
}

const SUBMITS: ReadonlySet<string> = new Set(['submitTransaction', 'submitTransactionReplacement'])

function success(item: Call, result: Buffer): RpcAnswer {
  return { text: undefined, result, idText: item.idText, unit: unitOf(item.call), unavailable: false }
}

function failed(item: Call, { text, unavailable }: { text: string; unavailable: boolean }): RpcAnswer {
  return { text, result: undefined, idText: item.idText, unit: undefined, unavailable }
}

/** Like a call that no node could answer, it costs nothing. */
function tooMuch(item: Call): RpcAnswer {
  const megabytes = MAX_BATCH_ANSWERS_BYTES / 1_048_576
  const message = `The answers of this batch are larger than ${megabytes} MiB together. Send this call in another request.`
  const text = rpcError(item.idText, 'unavailable', message, { reason: 'batch_too_large' })
  return failed(item, { text, unavailable: false })
}

function refusedHere(text: string): RpcAnswer {
  return { text, result: undefined, idText: 'null', unit: undefined, unavailable: false }
}
