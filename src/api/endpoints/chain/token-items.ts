/** Shared by the token endpoints. */
import { Type } from 'typebox'
import { ParamRefusal, readBy } from '../../../contract/params.ts'
import { ApiError } from '../../../core/errors.ts'
import {
  integerField,
  nullableIntegerField,
  nullableTextField,
  textField,
  timeField,
} from '../../../core/rows/fields.ts'
import type { StoredToken, TokenFacts } from '../../../store/tokens.ts'
import { nodeTime } from './node-time.ts'

const TOKEN = /^(?:[A-Za-z]{4,6}|[0-9a-fA-F]{64})$/

export const tokenParam = readBy<string>(
  'Token: a KRC-20 tick, the deploying transaction of an issued KRC-20 token, or a covenant id.',
  {
    schema: { type: 'string', pattern: TOKEN.source },
    example: (samples) => samples.tokenId,
    read: (text) => {
      if (!TOKEN.test(text))
        return new ParamRefusal('must be 4 to 6 letters or 64 hex digits', undefined, 'format')
      return text.length === 64 ? text.toLowerCase() : text.toUpperCase()
    },
  },
)

const HISTORY =
  'What the amounts rest on: complete (every operation since its beginning), since_deploy (every one since a deployment that was seen; one of the same tick that is older than the index would make it void), revealed (what programs of spent outputs have shown), unknown (the token is older than the index, so its amounts are null).'

export const TokenSchema = Type.Object({
  token_id: textField('Tick, deploying transaction or covenant id.'),
  form: textField('krc20, kcc20 or kcc0020 (a draft).'),
  history: textField(HISTORY),
  name: nullableTextField('Tick of a KRC-20 token, or the name of an issued one; covenant tokens have none.'),
  decimals: nullableIntegerField('Of KRC-20: digits after the point.'),
  amount: nullableTextField(
    'In circulation, in its smallest unit: minted less burned, or the sum of the states that are proven. Null where it is not known.',
  ),
  max_amount: nullableTextField('Of KRC-20: what may be minted; 0 is without limit.'),
  mint_amount: nullableTextField('Of KRC-20: what one mint gives; 0 for tokens that their owner issues.'),
  owner: nullableTextField('Of KRC-20: who may issue, burn or hand it over.'),
  holders: nullableIntegerField('Holders that are known; null where history is unknown.'),
  outputs: nullableIntegerField('Of covenant tokens: unspent outputs whose state is proven.'),
  operations: integerField('Operations or transitions since the index has known it.'),
  first_tx_id: textField('The first of them.'),
  first_seen: timeField('Time of the block that carries it.'),
})

export function tokenText({ token, value }: StoredToken): string {
  const facts = JSON.parse(value) as TokenFacts
  const { form, history, krc20, proven, operations, firstTxId, firstSeenMs } = facts
  return JSON.stringify({
    token_id: token,
    form,
    history,
    name: krc20?.name ?? (form === 'krc20' && token.length < 64 ? token : null),
    decimals: krc20?.dec ?? null,
    amount: krc20 ? (BigInt(krc20.minted) - BigInt(krc20.burned)).toString() : (proven?.amount ?? null),
    max_amount: krc20?.max ?? null,
    mint_amount: krc20?.lim ?? null,
    owner: krc20?.owner ?? null,
    holders: history === 'unknown' ? null : facts.holders,
    outputs: proven?.outputs ?? null,
    operations,
    first_tx_id: firstTxId,
    first_seen: nodeTime(firstSeenMs),
  })
}

export function tokenNotFound(token: string): ApiError {
  return new ApiError(
    'not_found',
    `Token ${token} is not in the index. The index knows tokens by what was accepted since it was started, or since its last gap.`,
  )
}
