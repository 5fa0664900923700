import { coverageSchema } from '../../contract/coverage-schema.ts'
import { ERRORS, type ErrorKind, publicCode } from '../../core/errors.ts'

/** The parts of the document that all operations share. */
const codes = [...new Set((Object.keys(ERRORS) as ErrorKind[]).map(publicCode))]

export const errorBody = {
  type: 'object',
  required: ['error', 'message', 'request_id'],
  properties: {
    error: { type: 'string', enum: codes, description: 'Stable code.' },
    message: { type: 'string', description: 'Sentence for a person.' },
    request_id: { type: 'string', description: 'The value of X-Request-Id.' },
    param: { type: 'string', description: 'The parameter at fault.' },
    allowed: { type: 'array', description: 'The allowed values.' },
    required_tier: { type: 'string', description: 'Lowest tier that may do this.' },
    upgrade_url: { type: 'string', description: 'Where the plan can be changed.' },
    retry_after: { type: 'integer', description: 'Seconds to wait.' },
    max_batch: { type: 'integer', description: 'The most calls that a batch may have on this plan.' },
    max_bytes: { type: 'integer', description: 'The largest body that the plan may send here.' },
    checking_stopped: {
      type: 'boolean',
      description: 'True when checking stopped at the most faults that are listed: there may be more.',
    },
    reason: { type: 'string', description: 'Which of several causes it was.' },
    resets_at: { type: 'string', format: 'date-time', description: 'When the credits are renewed.' },
    suggestion: { type: 'string', description: 'The known name nearest to the one that was given.' },
    tx_id: { type: 'string', description: 'The transaction that the node refused.' },
    other_tx_id: { type: 'string', description: 'The transaction that it conflicts with.' },
    spent_tx_id: { type: 'string', description: 'The transaction whose output is spent already.' },
    spent_index: { type: 'integer', description: 'Which of its outputs.' },
    fee_sompi: { type: 'integer', description: 'The fee that was offered.' },
    required_fee_sompi: { type: 'integer', description: 'The fee that the node wants.' },
    mass_kind: { type: 'string', description: 'Which mass is too large or decides the fee.' },
    mass: { type: 'integer', description: 'That mass.' },
    mass_limit: { type: 'integer', description: 'The largest mass that the node takes.' },
    available_range: {
      type: ['object', 'null'],
      description: 'What is recorded, where a range was asked for that is not.',
      properties: {
        from: { type: 'string', format: 'date-time', description: 'Time of the first row.' },
        to: { type: 'string', format: 'date-time', description: 'Time of the last row.' },
      },
    },
    earliest_start: {
      type: 'string',
      format: 'date-time',
      description: 'Earliest start that the plan allows.',
    },
    errors: {
      type: 'array',
      description: 'Every fault, where several parameters are wrong.',
      items: {
        type: 'object',
        required: ['param', 'error', 'message'],
        properties: {
          param: { type: 'string', description: 'The parameter at fault.' },
          error: { type: 'string', description: 'Its code.' },
          message: { type: 'string', description: 'Sentence for a person.' },
          reason: { type: 'string', description: 'Which of several causes it was.' },
          suggestion: { type: 'string', description: 'The known name nearest to the one that was given.' },
          allowed: { type: 'array', description: 'The allowed values.' },
        },
      },
    },
  },
} as const

const { error: _error, message: _message, ...errorDetails } = errorBody.properties

/** The body with `Accept: application/problem+json` (RFC 9457). */
export const problemBody = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', description: 'Address that names the kind of error.' },
    title: { type: 'string', description: 'What it means, in one line.' },
    status: { type: 'integer', description: 'Status of the answer.' },
    detail: { type: 'string', description: 'Sentence for a person.' },
    code: { type: 'string', enum: codes, description: 'Stable code.' },
    ...errorDetails,
  },
} as const

const dryRunFields = {
  dry_run: { const: true, description: 'Always true.' },
  rows: { type: 'integer', minimum: 0, description: 'Rows that the page would have.' },
  credits: { type: 'integer', minimum: 0, description: 'What it would cost.' },
  credits_remaining: { type: 'integer', description: 'Credits that are left; none were taken.' },
  clamped: { type: 'boolean', description: 'Whether the start would be moved.' },
  rows_affordable: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Rows that the credits pay for; null where rows cost nothing of their own.',
  },
  would_be_capped: {
    type: 'boolean',
    description: 'Whether the plan or the credits would cut the page shorter than asked.',
  },
}

/** The answer to `dry_run=true`, on every GET that takes a key. */
export const dryRunBody = {
  type: 'object',
  description: 'Preview of the price, with `dry_run=true`.',
  required: Object.keys(dryRunFields),
  properties: dryRunFields,
}

const nullable = (type: string, description: string, more = {}) => ({
  type: [type, 'null'],
  description,
  ...more,
})

const listFields = {
  symbol: nullable('string', 'Echo of the request.'),
  source: nullable('string', 'Echo of the request.'),
  interval: nullable('string', 'Echo of the request.'),
  count: { type: 'integer', description: 'Rows of this page.' },
  returned: { type: 'integer', description: 'The same as count.' },
  has_more: { type: 'boolean', description: 'Whether there is another page.' },
  next_cursor: nullable('string', 'Pass it as `after` to get the next page.'),
  clamped: nullable('boolean', 'True when the start was moved; null otherwise.'),
  clamped_reason: nullable('string', 'Why it was moved.', {
    enum: ['plan_history', 'before_earliest_data', null],
  }),
  original_start: nullable('string', 'The start that was asked for.', { format: 'date-time' }),
  effective_start: nullable('string', 'The start that was served.', { format: 'date-time' }),
  ignored: {
    type: 'array',
    items: { type: 'string' },
    description: 'Parameters that have no meaning for the asked source.',
  },
  predmkt_a_note: { type: 'string', description: 'Explains the row shape of an unfiltered request.' },
  sampled: { type: 'boolean', description: 'The venue publishes a sample only.' },
  coverage: coverageSchema,
}
const ON_SOME_LISTS = ['predmkt_a_note', 'sampled']

export const listMeta = {
  type: 'object',
  required: Object.keys(listFields).filter((name) => !ON_SOME_LISTS.includes(name)),
  properties: listFields,
}

interface HeaderPart {
  description: string
  schema: object
  /** Which answers carry the header: all, those to a key, lists and catalogs, answers to POST, or certain refusals. */
  'x-on': 'all' | 'key' | 'list' | 'post' | '401' | '429'
}

const header = (on: HeaderPart['x-on'], type: string, description: string, more = {}): HeaderPart => ({
  description,
  schema: { type, ...more },
  'x-on': on,
})

export const responseHeaders: Record<string, HeaderPart> = {
  'X-Request-Id': header('all', 'string', 'Id of this request; also in every error body.'),
  'X-Plan': header('key', 'string', 'Name of the plan.'),
  'X-Credits-Used': header('key', 'integer', 'Credits that this answer cost.'),
  'X-Credits-Charged': header('key', 'integer', 'The same value.'),
  'X-Credits-Remaining': header('key', 'integer', 'Credits that are left.'),
  'X-RateLimit-Limit': header('key', 'integer', 'Size of the window nearest to exhaustion.'),
  'X-RateLimit-Remaining': header('key', 'integer', 'Requests left in it.'),
  'X-RateLimit-Reset': header('key', 'string', 'When it is free again.', { format: 'date-time' }),
  RateLimit: header('key', 'string', 'The same in the form of the IETF draft.'),
  'RateLimit-Policy': header('key', 'string', 'The windows in the form of the IETF draft.'),
  'X-Rows-Returned': header('list', 'integer', 'Rows of this page.'),
  'X-Rows-Capped': header('list', 'boolean', 'True when the plan or the balance cut the page.'),
  'X-Next-Cursor': header('list', 'string', 'Cursor of the next page, where there is one.'),
  'X-Coverage-Complete': header('list', 'boolean', 'Whether nothing is missing in the range.'),
  'X-Clamped': header('list', 'boolean', 'Whether the start was moved.'),
  Link: header('list', 'string', 'The next page, where there is one.'),
  ETag: header('list', 'string', 'Strong tag of the exact bytes.'),
  'Cache-Control': header('all', 'string', 'How long the answer may be kept.'),
  'Idempotent-Replayed': header('post', 'string', '`true` on an answer that is given again.'),
  'WWW-Authenticate': header('401', 'string', 'How to authenticate.'),
  'Retry-After': header('429', 'integer', 'Seconds after which the request would pass.'),
}
