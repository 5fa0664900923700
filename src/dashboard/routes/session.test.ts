import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry } from '../../store/audit-entry.ts'
import { DashboardError, type SignedIn } from '../route.ts'
import { type SessionDeps, sessionRoutes } from './session.ts'

const OPERATOR = { id: 'usr_1', email: 'op@example.com', role: 'operator', accountId: 'acc_1' }

test('the sign-in of an operator is logged with the session that it opens, not before', async () => {
  let withSession: AuditEntry | undefined
  const deps = {
    users: {
      verify: async () => ({ user: OPERATOR, passwordHash: 'h' }),
      closeSession: async () => {},
      // As if the password had been changed in the meantime.
      openSession: async (_: string, { audit }: { audit: AuditEntry }) => {
        withSession = audit
        return undefined
      },
    },
    audit: { entry: (done: object) => ({ ...done, atMs: 1 }), note: () => assert.fail('logged by itself') },
    throttle: { signIn: async (_: object, check: (seen: object) => unknown) => check({ known: false }) },
    devices: { knows: () => false },
  }
  const routes = sessionRoutes(deps as unknown as SessionDeps)
  const signIn = routes.find(({ path }) => path.endsWith('/sign-in'))
  const request = {
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ email: OPERATOR.email, password: 'a long password' })),
    address: '127.0.0.1',
  }
  const refused = (error: unknown) => error instanceof DashboardError && error.code === 'wrong_credentials'
  await assert.rejects(
    signIn?.run({ request, token: 't' } as unknown as SignedIn) ?? Promise.resolve(),
    refused,
  )
  assert.equal(withSession?.action, 'operator.signed_in')
})
