/** `stream`: an event per line, and from where it stopped. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { writeJson } from '../../../clients/typescript/src/exact-json.ts'
import { type StreamGap, Tapeline } from '../../../clients/typescript/src/index.ts'
import { nearest } from '../../core/nearest.ts'
import { EVENT_KINDS, type EventKind, isEventKind } from '../../events/kinds.ts'
import { CommandError, needed, UsageError } from '../command.ts'
import type { CustomerTerminal } from './run-data.ts'
import type { ServiceLogin } from './service-login.ts'

type Values = Readonly<Record<string, string | undefined>>

/** A position that was lost repeats at most the events of this time. */
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
  const gaps: StreamGap[] = []
  const stream = new Tapeline(connection).stream({
    kinds: kindsOf(values),
    ...(values.addresses === undefined ? {} : { addresses: listOf(values.addresses) }),
    ...(resumeAfter === undefined ? {} : { resumeAfter }),
    signal,
    onGap: (gap) => {
      gaps.push(gap)
      terminal.say(`Events ${gap.after_seq + 1} to ${gap.up_to_seq} are missing (${gap.reason}).`)
    },
    onReconnect: () => terminal.say('The connection ended; connecting again.'),
  })
  /** A gap is a line of its own: who reads the lines must not take them for everything. */
  const printGaps = async () => {
    for (const gap of gaps.splice(0)) await terminal.print(`${writeJson({ gap })}\n`)
  }
  let printed = 0
  let position = resumeAfter
  let storedMs = performance.now()
  try {
    if (count > 0)
      for await (const event of stream) {
        await printGaps()
        await terminal.print(`${writeJson(event)}\n`)
        position = event.seq
        if (file !== undefined && performance.now() - storedMs >= STORE_EVERY_MS) {
          storePosition(file, position)
          storedMs = performance.now()
        }
        printed += 1
        if (printed >= count) break
      }
    await printGaps()
    // Also what brought no event of these kinds has been seen.
    if (printed < count) position = stream.position ?? position
  } finally {
    if (file !== undefined && position !== undefined) storePosition(file, position)
  }
  if (position !== undefined && file === undefined) terminal.say(`Go on with --resume-after ${position}`)
}

function kindsOf(values: Values): EventKind[] {
  return listOf(needed(values, 'kinds')).map((kind) => {
    if (isEventKind(kind)) return kind
    const near = nearest(kind, EVENT_KINDS)
    throw new UsageError(`There is no kind "${kind}".${near === undefined ? '' : ` Did you mean ${near}?`}`)
  })
}

const listOf = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

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
