/** `stream`: prints one event per line, and continues from where it stopped. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { writeJson } from '../../../clients/typescript/src/exact-json.ts'
import { type StreamGap, Tapeline } from '../../../clients/typescript/src/index.ts'
import { nearest } from '../../core/nearest.ts'
import { EVENT_KINDS, type EventKind, isEventKind } from '../../events/kinds.ts'
import { CommandError, needed, UsageError } from '../command.ts'
import { parseListOption } from '../options.ts'
import type { CustomerTerminal } from './run-data.ts'
import type { ServiceLogin } from './service-login.ts'

type Values = Readonly<Record<string, string | undefined>>

/** If the machine fails, at most the events of this time are repeated. */
const STORE_EVERY_MS = 1_000

export async function runStream(
  values: Values,
  connection: ServiceLogin,
  terminal: CustomerTerminal,
  signal: AbortSignal,
): Promise<void> {
  const file = values.position
  const resumeAfter =
    numberOf(values, 'resume-after') ?? (file === undefined ? undefined : readPosition(file))
  const count = numberOf(values, 'count') ?? Number.POSITIVE_INFINITY
  const addresses = parseListOption(values, 'addresses')
  const gaps: StreamGap[] = []
  const failure = new AbortController()
  const stream = new Tapeline(connection).stream({
    kinds: kindsOf(values),
    ...(addresses === undefined ? {} : { addresses }),
    ...(resumeAfter === undefined ? {} : { resumeAfter }),
    signal: AbortSignal.any([signal, failure.signal]),
    onGap: (gap) => {
      gaps.push(gap)
      terminal.say(`Events ${gap.after_seq + 1} to ${gap.up_to_seq} are missing (${gap.reason}).`)
    },
    onReconnect: () => terminal.say('The connection ended; connecting again.'),
  })
  /** A gap gets its own line, so that a reader of the lines does not take them for complete. */
  const printGaps = async () => {
    for (const gap of gaps.splice(0)) await terminal.print(`${writeJson({ gap })}\n`)
  }
  let printed = 0
  let position = resumeAfter
  let stored: number | undefined
  let isPrinting = false
  const store = () => {
    if (file === undefined || position === undefined || position === stored) return
    storePosition(file, position)
    stored = position
  }
  // Also before the first event, which may be days away: events that arrive while the command is not running must not be
  // lost.
  const timer = setInterval(() => {
    if (!isPrinting && gaps.length === 0) position = stream.position ?? position
    try {
      store()
    } catch (error) {
      failure.abort(error)
    }
  }, STORE_EVERY_MS)
  try {
    if (count > 0)
      for await (const event of stream) {
        isPrinting = true
        await printGaps()
        await terminal.print(`${writeJson(event)}\n`)
        position = event.seq
        isPrinting = false
        printed += 1
        if (printed >= count) break
      }
    failure.signal.throwIfAborted()
    await printGaps()
    // The position also covers events of other kinds, which were seen but not printed.
    if (printed < count) position = stream.position ?? position
  } finally {
    clearInterval(timer)
    store()
  }
  if (position !== undefined && file === undefined) terminal.say(`Go on with --resume-after ${position}`)
}

function kindsOf(values: Values): EventKind[] {
  const kinds = parseListOption({ kinds: needed(values, 'kinds') }, 'kinds') ?? []
  return kinds.map((kind) => {
    if (isEventKind(kind)) return kind
    const near = nearest(kind, EVENT_KINDS)
    throw new UsageError(`There is no kind "${kind}".${near === undefined ? '' : ` Did you mean ${near}?`}`)
  })
}

function numberOf(values: Values, name: string): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new UsageError(`--${name} must be a whole number from 0 on.`)
  return value
}

function readPosition(file: string): number | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw new CommandError(`The position could not be read: ${(error as Error).message}`)
  }
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new CommandError(`${file} does not hold a position. Delete it, or name another file.`)
}

function storePosition(file: string, position: number): void {
  try {
    writeFileSync(`${file}.new`, `${position}\n`)
    renameSync(`${file}.new`, file)
  } catch (error) {
    throw new CommandError(`The position could not be stored: ${(error as Error).message}`)
  }
}
