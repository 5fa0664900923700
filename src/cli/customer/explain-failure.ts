/** Explains a failure in one sentence that says what to change, with an exit code for its kind. */
import {
  ApiError,
  ConnectionError,
  CreditLimitError,
  StreamError,
  UnreadableAnswerError,
  WebhookSignatureError,
} from '../../../clients/typescript/src/index.ts'
import { CommandError, UsageError } from '../command.ts'

const EXIT_CODES = { refused: 1, notUnderstood: 2, creditLimit: 3, noAnswer: 4 } as const

/** The reader of the output is gone: there is nothing more to do, and nothing is wrong. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone'
}

/** Written with `=`, because a cursor may begin with a dash. */
export function cursorOption(param: string | undefined, cursor: string): string {
  return `--${param}=${cursor}`
}

/** Undefined for an unexpected failure. `cursorParam` is the option with which the user can continue. */
export function explainFailure(
  error: unknown,
  cursorParam: string | undefined,
): { text: string; exitCode: number } | undefined {
  if (error instanceof ApiError) {
    const isMistake = error.status === 400 || error.status === 422
    return { text: refusal(error), exitCode: isMistake ? EXIT_CODES.notUnderstood : EXIT_CODES.refused }
  }
  if (error instanceof CreditLimitError) {
    const more =
      error.nextCursor === null ? '' : ` The rest follows with ${cursorOption(cursorParam, error.nextCursor)}`
    const text = `${error.message} That is more than --max-credits allows: raise it, or ask for fewer rows.${more}`
    return { text, exitCode: EXIT_CODES.creditLimit }
  }
  if (error instanceof ConnectionError) {
    const cause = (error.cause as { cause?: Error } | undefined)?.cause?.message
    const text = `${error.message}${cause ? ` ${cause}.` : ''} Check --url, or try again.`
    return { text, exitCode: EXIT_CODES.noAnswer }
  }
  if (error instanceof UnreadableAnswerError)
    return { text: `${error.message} Check --url.`, exitCode: EXIT_CODES.noAnswer }
  if (error instanceof StreamError) {
    const isCut = typeof error.code === 'number' && error.code < 4_000
    const isMistake = error.code === 'invalid_param'
    const text = `${error.message} (${error.code})`
    if (isMistake) return { text, exitCode: EXIT_CODES.notUnderstood }
    return { text, exitCode: isCut ? EXIT_CODES.noAnswer : EXIT_CODES.refused }
  }
  if (error instanceof WebhookSignatureError) return { text: error.message, exitCode: EXIT_CODES.refused }
  if (error instanceof UsageError) return { text: error.message, exitCode: EXIT_CODES.notUnderstood }
  if (error instanceof CommandError) return { text: error.message, exitCode: EXIT_CODES.refused }
  return undefined
}

function refusal({ message, code, details, retryAfter, requestId }: ApiError): string {
  const { param, allowed, suggestion, required_tier, resets_at } = details
  const hints = [
    param !== undefined && !message.includes(param) ? `It is about --${param}.` : '',
    suggestion !== undefined && !message.includes(suggestion) ? `Did you mean ${suggestion}?` : '',
    allowed !== undefined && !allowed.every((value) => message.includes(String(value)))
      ? `Allowed: ${allowed.join(', ')}.`
      : '',
    required_tier !== undefined && !message.includes(required_tier)
      ? `It needs the tier ${required_tier}.`
      : '',
    resets_at !== undefined && !message.includes(resets_at) ? `Credits are renewed at ${resets_at}.` : '',
    retryAfter === undefined ? '' : `Try again in ${Math.ceil(retryAfter)} s.`,
  ].filter((hint) => hint !== '')
  const request = requestId === '' ? '' : `, request ${requestId}`
  return `${[message, ...hints].join(' ')} (${code}${request})`
}
