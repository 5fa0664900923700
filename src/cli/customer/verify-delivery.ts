/** `webhook verify`: checks whether a received delivery was sent by the service. */
import { closeSync, openSync, readSync } from 'node:fs'
import { writeJson } from '../../../clients/typescript/src/exact-json.ts'
import { verifyWebhook } from '../../../clients/typescript/src/index.ts'
import { CommandError, UsageError } from '../command.ts'
import type { CustomerTerminal } from './run-data.ts'

type Values = Readonly<Record<string, string | undefined>>

/** More than any delivery has. */
const MAX_BYTES = 16 * 2 ** 20
const INPUT = 0

export async function runVerify(
  values: Values,
  storedSecret: string | undefined,
  terminal: CustomerTerminal,
): Promise<void> {
  const secret = values.secret ?? storedSecret
  if (secret === undefined || secret === '')
    throw new UsageError('The secret is missing: set TAPELINE_WEBHOOK_SECRET or --secret.')
  const given = readBounded(values.body ?? '-')
  const { headers, body } =
    values.headers === undefined
      ? splitMessage(given)
      : { headers: readHeaders(readBounded(values.headers).toString('utf8')), body: given }
  const tolerance = values['any-age'] === undefined ? {} : { toleranceSeconds: Number.MAX_SAFE_INTEGER }
  try {
    const events = await verifyWebhook(headers, body, secret, tolerance)
    await terminal.print(events.map((event) => `${writeJson(event)}\n`).join(''))
  } catch (error) {
    // Thrown for an invalid secret, or for a signed body that is not JSON.
    if (error instanceof TypeError || error instanceof SyntaxError) throw new UsageError(error.message)
    throw error
  }
}

/** Splits a message as it was sent over the wire: headers, an empty line, the body. */
function splitMessage(message: Buffer): { headers: Record<string, string>; body: Buffer } {
  const [crlf, lf] = [message.indexOf('\r\n\r\n'), message.indexOf('\n\n')]
  const end = crlf !== -1 && (lf === -1 || crlf < lf) ? { at: crlf, skip: 4 } : { at: lf, skip: 2 }
  if (end.at === -1)
    throw new UsageError('The input has no empty line after its headers: name them with --headers.')
  return {
    headers: readHeaders(message.subarray(0, end.at).toString('utf8')),
    body: message.subarray(end.at + end.skip),
  }
}

function readHeaders(text: string): Record<string, string> {
  if (text.trimStart().startsWith('{')) {
    try {
      const entries = Object.entries(JSON.parse(text) as Record<string, unknown>)
      return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
    } catch {
      throw new UsageError('The headers begin like a JSON object, but are none.')
    }
  }
  // The first line of a request (`POST /hook HTTP/1.1`) is not a header.
  const lines = text.split(/\r?\n/).map((line) => /^([\w-]+):\s*(.*)$/.exec(line))
  return Object.fromEntries(
    lines.flatMap((found) => (found === null ? [] : [[found[1] ?? '', found[2] ?? '']])),
  )
}

function readBounded(path: string): Buffer {
  const parts: Buffer[] = []
  let size = 0
  let handle: number | undefined
  try {
    handle = path === '-' ? INPUT : openSync(path, 'r')
    for (;;) {
      const part = Buffer.alloc(65_536)
      const count = readSync(handle, part)
      if (count === 0) return Buffer.concat(parts)
      size += count
      if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`)
      parts.push(part.subarray(0, count))
    }
  } catch (error) {
    const name = path === '-' ? 'The input' : path
    throw new CommandError(`${name} could not be read: ${(error as Error).message}`)
  } finally {
    if (handle !== undefined && handle !== INPUT) closeSync(handle)
  }
}
