import { Type } from 'typebox'
import type { Accounts } from '../../accounts/accounts.ts'
import { ENVIRONMENTS } from '../../core/environment.ts'
import { SCOPES } from '../../core/scope.ts'
import { parseTime } from '../../core/time.ts'
import {
  DashboardError,
  type DashboardRoute,
  json,
  readJsonBody,
  type SignedIn,
  userRoute,
} from '../route.ts'
import { keyView } from '../views.ts'
import type { CreatedKeyView } from '../wire.ts'

const NewKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100 }),
    environment: Type.Union(ENVIRONMENTS.map((name) => Type.Literal(name))),
    scopes: Type.Union([
      Type.Array(Type.Union(SCOPES.map((scope) => Type.Literal(scope))), {
        maxItems: SCOPES.length,
        uniqueItems: true,
      }),
      Type.Null(),
    ]),
    expires_at: Type.Union([Type.String({ maxLength: 40 }), Type.Null()]),
    allowed_cidrs: Type.Union([Type.Array(Type.String({ maxLength: 60 }), { maxItems: 100 }), Type.Null()]),
    credit_cap: Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]),
  },
  { additionalProperties: false },
)
const Rotation = Type.Object(
  { overlap_hours: Type.Number({ minimum: 0, maximum: 24 * 30 }) },
  { additionalProperties: false },
)
const HOUR_MS = 3_600_000

/** The keys of the user's own account. Keys of other accounts are reported as not found. */
export function keyRoutes(deps: { accountsOf: (context: SignedIn) => Accounts }): DashboardRoute[] {
  const ownKey = async (context: SignedIn): Promise<string> => {
    const id = context.params.id ?? ''
    const own = await deps.accountsOf(context).listKeys(context.accountId)
    if (own.some((key) => key.id === id)) return id
    throw new DashboardError(404, 'not_found', 'There is no such key.')
  }
  return [
    userRoute('GET keys', async (context) => {
      const keys = await deps.accountsOf(context).listKeys(context.accountId)
      return json({ keys: keys.map(keyView).reverse() })
    }),
    userRoute('POST keys', async (context) => {
      const input = readJsonBody(NewKey, context.request)
      const created = await deps.accountsOf(context).createKey({
        accountId: context.accountId,
        environment: input.environment,
        name: input.name.trim(),
        scopes: input.scopes,
        allowedCidrs: input.allowed_cidrs,
        creditCap: input.credit_cap,
        expiresAtMs: input.expires_at === null ? null : timeOf(input.expires_at),
      })
      return json({ key: created.key, record: keyView(created.record) } satisfies CreatedKeyView, 201)
    }),
    userRoute('POST keys/{id}/rotate', async (context) => {
      const id = await ownKey(context)
      const { overlap_hours: hours } = readJsonBody(Rotation, context.request)
      const { key, record } = await deps.accountsOf(context).rotateKey(id, hours * HOUR_MS)
      return json({ key, record: keyView(record) } satisfies CreatedKeyView, 201)
    }),
    userRoute('POST keys/{id}/revoke', async (context) => {
      const id = await ownKey(context)
      return json(keyView(await deps.accountsOf(context).revokeKey(id)))
    }),
  ]
}

function timeOf(text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw new DashboardError(422, 'invalid_param', 'The expiry is not a time.')
  return time
}
