/** `get` and `cost`: call the client's method of that name and print its rows as they arrive. */

import { writeJson } from '../../../clients/typescript/src/exact-json.ts'
import { CreditLimitError, type DryRun, type Rows, Tapeline } from '../../../clients/typescript/src/index.ts'
import { UsageError } from '../command.ts'
import { USUAL_MAX_CREDITS } from './data-forms.ts'
import { cursorOption } from './explain-failure.ts'
import { createRowPrinter, fieldsText, ROW_FORMATS, type RowFormat } from './print-rows.ts'
import type { ReadableOperation } from './read-operations.ts'
import type { ServiceLogin } from './service-login.ts'

type Values = Readonly<Record<string, string | undefined>>
type Answer = Readonly<Record<string, unknown>>
type Meta = { readonly coverage?: { readonly complete: boolean; readonly gaps: readonly Gap[] } | null }
interface Gap {
  readonly source: string
  readonly from: string
  readonly to: string
  readonly reason: string
}

export interface DataRun {
  readonly operation: ReadableOperation
  readonly values: Values
  readonly json: boolean
  readonly connection: ServiceLogin
  readonly terminal: CustomerTerminal
}

/** Data goes to standard output, messages about it to standard error. */
export interface CustomerTerminal {
  readonly isTerminal: boolean
  /** Resolves once the text is written; rejects with `ReaderGone` if nobody reads it any more. */
  print(text: string): Promise<void>
  say(text: string): void
  /** A line that is replaced by the next one; shows nothing if nobody watches. */
  progress(text: string): void
}

/** A user is waiting, so an unreachable service is reported after a second or two. */
const RETRIES = 3
/** How many gaps are listed; the rest is only counted. */
const MAX_NAMED_GAPS = 5

function openClient({ url, key }: ServiceLogin) {
  // Nothing is requested twice, so nothing is cached.
  const client = new Tapeline({ url, key, retries: RETRIES, cacheChars: 0 })
  return { client, methods: client as unknown as Record<string, (params: object) => unknown> }
}

export async function runCost({ operation, values, json, connection, terminal }: DataRun): Promise<void> {
  const params = paramsOf(operation, values)
  const { client } = openClient(connection)
  const ask = client.cost as (name: string, params: object) => Promise<DryRun>
  const price = await ask.call(client, operation.method, params)
  await terminal.print(json ? `${writeJson(price)}\n` : fieldsText(price as unknown as Answer))
}

export async function runGet(run: DataRun): Promise<void> {
  const { operation, values, connection } = run
  const params = paramsOf(operation, values)
  const maxCredits = creditsOf(values)
  const format = formatOf(run)
  const { client, methods } = openClient(connection)
  const call = () => methods[operation.method]?.call(client, params)
  if (operation.columns !== undefined)
    return printPages(run, call() as Rows<Answer, Meta>, { format, maxCredits, columns: operation.columns })
  if (maxCredits !== undefined) {
    const { credits } = await (client.cost as (name: string, params: object) => Promise<DryRun>).call(
      client,
      operation.method,
      params,
    )
    if (credits > maxCredits)
      throw new CreditLimitError({ rows: [], creditsUsed: 0, nextPageCredits: credits, nextCursor: null })
  }
  const answer = (await call()) as Answer
  await run.terminal.print(format === 'table' ? fieldsText(answer) : `${writeJson(answer)}\n`)
}

async function printPages(
  { operation, values, terminal }: DataRun,
  list: Rows<Answer, Meta>,
  {
    format,
    maxCredits,
    columns,
  }: { format: RowFormat; maxCredits: number | undefined; columns: readonly string[] },
): Promise<void> {
  const isAll = values.all !== undefined
  const isQuiet = values.quiet !== undefined
  const limit = maxCredits ?? (isAll ? Number(USUAL_MAX_CREDITS) : undefined)
  const printer = createRowPrinter(format, columns)
  const gaps: Gap[] = []
  let [rows, credits, isComplete] = [0, 0, true]
  let nextCursor: string | null = null
  let hasPages = false
  try {
    for await (const page of list.pages(limit === undefined ? {} : { maxCredits: limit })) {
      rows += page.rows.length
      credits += page.credits
      nextCursor = page.nextCursor
      isComplete &&= page.meta.coverage?.complete !== false
      gaps.push(...(page.meta.coverage?.gaps ?? []).slice(0, MAX_NAMED_GAPS + 1 - gaps.length))
      hasPages = true
      await terminal.print(printer.page(page.rows))
      if (!isAll) break
      if (!isQuiet) terminal.progress(`${rows} rows, ${credits} credits`)
    }
  } finally {
    // Rows that were read and paid for form a complete document even if the credits run out.
    if (hasPages) await terminal.print(printer.end())
    terminal.progress('')
    if (!isComplete) terminal.say(gapText(gaps))
  }
  if (isQuiet) return
  const more =
    nextCursor === null
      ? ''
      : `; all with --all, more with ${cursorOption(operation.cursorParam, nextCursor)}`
  terminal.say(`${rows} rows, ${credits} credits${more}`)
}

function gapText(gaps: readonly Gap[]): string {
  const named = gaps
    .slice(0, MAX_NAMED_GAPS)
    .map(({ source, from, to, reason }) => `${source} ${from} to ${to} (${reason})`)
  const more = gaps.length > MAX_NAMED_GAPS ? ' and more' : ''
  return `Not everything in this range was recorded${named.length === 0 ? '' : `: ${named.join(', ')}${more}`}.`
}

function paramsOf({ params }: ReadableOperation, values: Values): Record<string, string> {
  const given: Record<string, string> = {}
  for (const { name, about, required } of params) {
    const value = values[name]
    if (value !== undefined) given[name] = value
    if (required && (value === undefined || value === ''))
      throw new UsageError(`--${name} is missing: ${about}`)
  }
  return given
}

function creditsOf(values: Values): number | undefined {
  const text = values['max-credits']
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new UsageError('--max-credits must be a whole number from 0 on.')
  return Number(text)
}

function formatOf({ operation, values, json, terminal }: DataRun): RowFormat {
  const isList = operation.columns !== undefined
  const wanted = new Set(
    [values.format, json ? 'json' : undefined, values.csv === undefined ? undefined : 'csv'].filter(
      (format) => format !== undefined,
    ),
  )
  if (wanted.size > 1) throw new UsageError(`Choose one format: ${[...wanted].join(' or ')}.`)
  const [format] = wanted
  const allowed: readonly RowFormat[] = isList ? ROW_FORMATS : ['table', 'json']
  const isAll = values.all !== undefined
  if (format === undefined) {
    if (terminal.isTerminal && !isAll) return 'table'
    return isList ? 'ndjson' : 'json'
  }
  const found = allowed.find((each) => each === format)
  if (found === undefined) throw new UsageError(`--format must be one of ${allowed.join(', ')}.`)
  if (found === 'table' && isAll)
    throw new UsageError('A table cannot have all pages: choose --format ndjson, csv or json with --all.')
  return found
}
