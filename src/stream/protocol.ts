/**
 * The frames of the stream. All frames are JSON text; those of the server have `type`, those of the client `op`.
 *
 *   open ─▶ welcome
 *   subscribe ─▶ subscribed (state: syncing) ─▶ [gap] ─▶ event … ─▶ live ─▶ event …
 *   unsubscribe ─▶ unsubscribed        ping ─▶ pong        anything wrong ─▶ error
 */
import type { InputFault } from '../core/errors.ts'
import { MAX_SUGGESTIONS, nearest } from '../core/nearest.ts'
import type { GapNotice } from '../events/gap-event.ts'
import { EVENT_KINDS } from '../events/kinds.ts'
import { type JsonLimits, type JsonReading, parseExact, parseExactInSlices } from '../kit/exact-json.ts'

export const CLOSE_CODES = {
  unauthorised: 4401,
  forbidden: 4403,
  tooSlow: 4408,
  tooMany: 4429,
  goingAway: 1001,
  tryLater: 1013,
} as const

/** How often clients are pinged; two unanswered pings end the connection. */
export const PING_MS = 20_000
/** A connection with more unsent bytes than this is closed as too slow. It gets no pong and no reply either. */
export const MAX_UNSENT_BYTES = 4 * 1024 * 1024
/**
 * Past events are read on while less than this is unsent. A client that stays above it is too slow after
 * `MAX_STALLED_MS` in which it has read nothing, or after `MAX_DRAIN_MS` in any case.
 */
export const RESUME_UNSENT_BYTES = 512 * 1024
export const MAX_STALLED_MS = 30_000
export const MAX_DRAIN_MS = 300_000
export const MAX_SUBSCRIPTIONS = 50
export const MAX_OPS_PER_SECOND = 20
export const MAX_MESSAGE_BYTES = 1024 * 1024

export type ClientMessage =
  | {
      readonly op: 'subscribe'
      readonly id: string | undefined
      readonly kinds: readonly string[]
      readonly addresses: readonly string[]
      readonly resumeAfter: number | undefined
    }
  | { readonly op: 'unsubscribe'; readonly id: string | undefined }
  | { readonly op: 'ping'; readonly id: string | undefined }

export type ReadMessage = { ok: true; message: ClientMessage } | { ok: false; faults: InputFault[] }

const OPS = ['subscribe', 'unsubscribe', 'ping'] as const
const FIELDS: Record<(typeof OPS)[number], readonly string[]> = {
  subscribe: ['op', 'id', 'kinds', 'addresses', 'resume_after'],
  unsubscribe: ['op', 'id'],
  ping: ['op', 'id'],
}
const SMALL_MESSAGE_CHARS = 65_536
const LIMITS: JsonLimits = {
  maxDepth: 8,
  maxChars: MAX_MESSAGE_BYTES,
  maxMembers: 100,
  // An address has more than 64 characters, so a message of the maximum size cannot name this many.
  maxValues: MAX_MESSAGE_BYTES / 64,
}
const ID_FORM = /^[\x21-\x7e]{1,64}$/

/** Reads a message of the usual size at once and a larger one in slices. */
export function readMessage(text: string): ReadMessage | Promise<ReadMessage> {
  if (text.length > SMALL_MESSAGE_CHARS) return parseExactInSlices(text, LIMITS).then(messageOf)
  return messageOf(parseExact(text, LIMITS))
}

function messageOf(reading: JsonReading): ReadMessage {
  if (!reading.ok) return refused('body', `The message is not JSON: ${reading.message} at ${reading.at}.`)
  const { value } = reading
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused('body', 'The message must be a JSON object.')
  }
  const fields = value as Record<string, unknown>
  const op = OPS.find((known) => known === fields.op)
  if (op === undefined) {
    return { ok: false, faults: [{ ...fault('op', `op must be one of ${OPS.join(', ')}.`), allowed: OPS }] }
  }
  const faults = [...unknownFields(fields, FIELDS[op]), ...fieldFaults(fields, op)]
  if (faults.length > 0) return { ok: false, faults }
  const id = fields.id as string | undefined
  if (op !== 'subscribe') return { ok: true, message: { op, id } }
  const { kinds, addresses, resume_after: resumeAfter } = fields
  return {
    ok: true,
    message: {
      op,
      id,
      kinds: kinds as string[],
      addresses: (addresses ?? []) as string[],
      resumeAfter: (resumeAfter ?? undefined) as number | undefined,
    },
  }
}

function unknownFields(fields: Record<string, unknown>, known: readonly string[]): InputFault[] {
  return Object.keys(fields)
    .filter((name) => !known.includes(name))
    .slice(0, 10)
    .map((name, index) => {
      const near = index < MAX_SUGGESTIONS ? nearest(name, known) : undefined
      return fault(
        name.slice(0, 100),
        `${name.slice(0, 100)} is not known.${near ? ` Did you mean ${near}?` : ''}`,
      )
    })
}

function fieldFaults(fields: Record<string, unknown>, op: (typeof OPS)[number]): InputFault[] {
  const faults: InputFault[] = []
  if (fields.id !== undefined && !(typeof fields.id === 'string' && ID_FORM.test(fields.id))) {
    faults.push(fault('id', 'id must have 1 to 64 visible ASCII characters.'))
  }
  if (op !== 'subscribe') return faults
  if (!isTextList(fields.kinds)) {
    const message = `kinds must be an array with at least one of ${EVENT_KINDS.join(', ')}.`
    faults.push({ ...fault('kinds', message), allowed: EVENT_KINDS })
  }
  if (fields.addresses !== undefined && fields.addresses !== null && !isTextList(fields.addresses)) {
    faults.push(fault('addresses', 'addresses must be an array of texts.'))
  }
  const after = fields.resume_after
  if (after !== undefined && after !== null && !(Number.isSafeInteger(after) && (after as number) >= 0)) {
    faults.push(
      fault(
        'resume_after',
        `resume_after must be the seq of an event: a whole number from 0 to ${Number.MAX_SAFE_INTEGER}.`,
      ),
    )
  }
  return faults
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function refused(param: string, message: string): ReadMessage {
  return { ok: false, faults: [fault(param, message)] }
}

function fault(param: string, message: string): InputFault {
  return { param, error: 'invalid_param', message }
}

/** A gap of the chain itself, at its position in the log. */
export function chainGapFrame(id: string, seq: number, notice: GapNotice): object {
  const { reason, kinds, from, to } = notice
  return { type: 'gap', id, after_seq: seq - 1, up_to_seq: seq, reason, kinds, from, to }
}

const EVENT_HEAD = '{"type":"event","event":'

/** Serialised once for all clients: the stored text of the event with a head and a tail. */
export function eventFrame(eventText: string): Buffer {
  return Buffer.from(`${EVENT_HEAD}${eventText}}`)
}
