import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import { integerField, nullableTextField, nullableTimeField, textField } from '../../../core/rows/fields.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { OutputPoint } from '../../../store/output-point.ts'
import { holderOfKey, type TokenFacts, type TokenHolder } from '../../../store/tokens.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { nodeTime } from './node-time.ts'
import { tokenNotFound, tokenParam } from './token-items.ts'

const TokenHolderSchema = Type.Object({
  holder: textField('Address; of an owner without one its kind and hex: `covenant:…` or `presence:…`.'),
  amount: textField("In the token's smallest unit, what is locked included."),
  locked: textField('Of KRC-20: listed for sale.'),
  outputs: integerField('Of covenant tokens: unspent outputs that are its own.'),
})

const REASONS =
  'Why amounts are missing: hidden_until_spent (outputs of the covenant whose states no transaction has shown), older_than_index (nothing is listed); null where all are known, and where that is not checked: covenant tokens with more than 10,000 outputs whose state is proven.'

const TokenHolders = Type.Object({
  token_id: textField('The token asked for.'),
  items: Type.Array(TokenHolderSchema, { description: 'Largest amount first.' }),
  hidden_reason: nullableTextField(REASONS),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  coverage_from: nullableTimeField('From when on every transaction is indexed: after the last gap.'),
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10).perRow(1)
/** Outputs with a proven state are compared with the unspent outputs only up to this number. */
const MAX_COUNTED = 10_000
const COUNT_STEP = 1_000

export const tokenHolders = endpoint({
  path: 'GET /v1/tokens/{token}/holders',
  doc: {
    tag: 'node',
    summary: 'Holders of a token',
    description:
      'As the chain has confirmed it. Of a covenant token only states that are proven count: new states are hidden until they are spent, unless the transaction that made them shows them. A holder whose amount changes during a walk may be met twice or not at all.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { token: tokenParam, ...cursorPage('Holders per page.', { default: 50, max: 200 }) },
  cost,
  returns: wrappedList('TokenHolder', TokenHolderSchema, {
    name: 'TokenHolders',
    schema: TokenHolders,
    cursor: 'cursor',
  }),
  errors: ['not_found'],
  run: async ({ input: { token, cursor }, services, rowLimit, dryRun }) => {
    const { index, cursors } = services.chain
    const binding = `/v1/tokens/${token}/holders`
    const after = cursor === undefined ? undefined : readCursor(cursors.decode(binding, cursor))
    const value = await index.token(token)
    if (value === undefined) throw tokenNotFound(token)
    const { history, proven } = JSON.parse(value) as TokenFacts
    // The stored holders of a token whose history is unknown may be wrong.
    const page =
      history === 'unknown'
        ? { holders: [], hasMore: false }
        : await index.tokenHolders({
            token,
            limit: rowLimit,
            ...(after === undefined ? {} : { after }),
          })
    if (dryRun) return previewAnswer(page.holders.length, false)
    const last = page.holders.at(-1)
    const next = page.hasMore && last !== undefined ? cursors.encode(binding, [last.place, last.key]) : null
    const hidden =
      history === 'unknown'
        ? 'older_than_index'
        : proven !== undefined && (await hasHidden(index, token, proven.outputs))
          ? 'hidden_until_spent'
          : null
    const coverageFrom = nodeTime((await index.coverageFromMs()) ?? null)
    return wrappedPage({
      rows: page.holders.map(holderText),
      head: `{"token_id":"${token}","items":[`,
      tail: `],"hidden_reason":${JSON.stringify(hidden)},"next_cursor":${JSON.stringify(next)},"coverage_from":${JSON.stringify(coverageFrom)},"credits_used":${cost.charge({ row: page.holders.length })}}`,
      hasMore: page.hasMore,
      nextCursor: next,
    })
  },
})

/** Whether a covenant has more unspent outputs than those with a proven state. False if there are too many to count. */
async function hasHidden(
  index: Pick<ChainStore, 'covenantUtxos' | 'token'>,
  token: string,
  provenOutputs: number,
): Promise<boolean> {
  if (provenOutputs > MAX_COUNTED) return false
  let unspent = 0
  let after: OutputPoint | undefined
  do {
    if (after !== undefined) await nextTurn()
    const limit = Math.min(COUNT_STEP, provenOutputs + 1 - unspent)
    const query = { covenantId: token, limit, ...(after === undefined ? {} : { after }) }
    const { utxos, hasMore } = await index.covenantUtxos(query)
    unspent += utxos.length
    after = hasMore ? utxos.at(-1) : undefined
  } while (after !== undefined && unspent <= provenOutputs)
  if (unspent <= provenOutputs) return false
  // A proven output that was added during the count must not be taken for a hidden one.
  const newest = JSON.parse((await index.token(token)) ?? '{}') as Partial<TokenFacts>
  return unspent > (newest.proven?.outputs ?? 0)
}

function holderText({ key, value }: TokenHolder): string {
  const { balance, locked, outputs } = JSON.parse(value) as {
    balance: string
    locked: string
    outputs: number
  }
  const amount = (BigInt(balance) + BigInt(locked)).toString()
  return JSON.stringify({ holder: holderOfKey(key), amount, locked, outputs })
}

function readCursor(at: readonly (string | number | null)[] | undefined): {
  readonly place: string
  readonly key: string
} {
  const [place, key] = at ?? []
  if (typeof place === 'string' && typeof key === 'string') return { place, key }
  throw otherCursor('this path')
}
